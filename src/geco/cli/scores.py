"""Scores of one run or several seeds, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from geco.console import print_table

if TYPE_CHECKING:
    from geco.data.dataset import Info

__all__ = ["print_scores"]

Results = Mapping[int, Mapping[str, Any]]


def print_scores(
    results: Results, info: Info, baselines: Mapping[str, Mapping[str, float]], each: bool = False
) -> None:
    """Print validation and test scores of every seed, their mean, and those of baselines; then the test scores of each
    value, or of each target whatever it is.

    Args:
        results: of each seed, what `geco.train.engine.Trainer.fit` returns.
        info: what the data set asks for.
        baselines: by name, scores of the parts; without scores they are left out.
        each: whether classes and labels are shown one by one too.
    """
    metric = info.metric
    results = dict(sorted(results.items()))
    more = ["best epoch", "parameters"] if all("parameters" in result for result in results.values()) else []
    rows = [["seed", f"valid {metric}", f"test {metric}", *more]]
    rows += [[str(seed), *_parts(result), *_facts(result, more)] for seed, result in results.items()]
    if len(results) > 1:
        rows.append(["mean", *(_spread(results, part) for part in ("valid", "test")), *[""] * len(more)])
    rows += [[name, *_parts(scores), *[""] * len(more)] for name, scores in baselines.items() if scores]
    print_table(rows)
    targets = _targets(results) if each or info.target == "values" else []
    if targets:
        print()
        print_table(targets)


def _parts(scores: Mapping[str, Any]) -> list[str]:
    return [f"{scores[part]:.4f}" for part in ("valid", "test")]


def _facts(result: Mapping[str, Any], wanted: list[str]) -> list[str]:
    return [str(result["epoch"]), f"{result['parameters']:,}"] if wanted else []


def _spread(results: Results, *path: str) -> str:
    """Return mean and deviation over the seeds of a number deep in the results; nothing if one lacks it."""
    from geco.report.tables import spread

    found: list[Any] = list(results.values())
    for name in path:
        found = [table.get(name) for table in found if table]
    return "" if not found or None in found else spread(found)


def _targets(results: Results) -> list[list[str]]:
    """Return a table of the test scores of each target; empty where there are none."""
    tables = [result.get("targets", {}).get("test", {}) for result in results.values()]
    measures = list(dict.fromkeys(measure for table in tables for scores in table.values() for measure in scores))
    if not measures:
        return []
    rows = [[name, *(_spread(results, "targets", "test", name, measure) for measure in measures)] for name in tables[0]]
    return [["target", *(f"test {measure}" for measure in measures)], *rows]
