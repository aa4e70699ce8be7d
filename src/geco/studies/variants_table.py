"""Means and spreads of a study's variants, read from its records: printed, and written as Markdown."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from geco.console import print_table
from geco.studies.parameters import markdown

__all__ = ["cell", "rows", "write_table"]

PARTS = {"Test, at the best validation epoch": "test", "Validation": "valid"}
Known = dict[str, Any]  # what a record holds


def write_table(folder: Path, text: str, names: list[str], variants: list[str]) -> None:
    """Print the test scores, and write them with the validation scores to the folder's name with ``.md``.

    Args:
        folder: of the records.
        text: before the tables.
        names: of data sets in their order; others that have a record follow.
        variants: in their order.
    """
    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    known = {name: found[name] for name in [*names, *found] if name in found}
    if not known:
        return
    print_table(rows(known, variants, "test"))
    tables = "\n".join(f"## {title}\n\n{markdown(rows(known, variants, part))}\n" for title, part in PARTS.items())
    notes = "\n".join(_note(name, record) for name, record in known.items())
    folder.with_suffix(".md").write_text(f"{text}\n{notes}\n\n{tables}", encoding="utf-8")


def rows(known: dict[str, Known], variants: list[str], part: str) -> list[list[str]]:
    """Return a row for every variant that has runs, a column for every data set."""
    runs = {v: [k["variants"].get(v, {"runs": []})["runs"] for k in known.values()] for v in variants}
    return [["variant", *known], *([v, *(cell(found, part) for found in of)] for v, of in runs.items() if any(of))]


def cell(runs: list[Known], part: str) -> str:
    """Return mean ± sample standard deviation and the number of seeds; how many diverged, if any did.

    Example:
        >>> failed = [{"failed": "the loss is nan"}]
        >>> cell([{"test": 0.5}, {"test": 0.7}], "test"), cell(failed, "test"), cell([], "test")
        ('0.6000 ± 0.1414 (2)', '1 of 1 diverged', '')
    """
    failed = sum("failed" in run for run in runs)
    if failed:
        return f"{failed} of {len(runs)} diverged"
    scores = [run[part] for run in runs]
    spread = f" ± {statistics.stdev(scores):.4f}" if len(scores) > 1 else ""
    return f"{statistics.mean(scores):.4f}{spread} ({len(scores)})" if scores else ""


def _note(name: str, record: Known) -> str:
    """Return a line on how a data set was trained and scored."""
    runs = [run for variant in record["variants"].values() for run in variant["runs"]]
    epochs = sorted({variant["config"]["train"]["epochs"] for variant in record["variants"].values()})
    how = f"{runs[0]['metric']}, {' or '.join(map(str, epochs))} epochs"
    return f"- {name}: {how}, settings `{record['config']}`." + (f" {record['note']}" if record["note"] else "")
