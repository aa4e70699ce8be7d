"""Trainings beside each other: as one page, as a figure, and as a record for machines."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from geco import __version__
from geco.pages import Block, Facts, Folded, Heading, Page, Preformatted, Table, Tabs, Text
from geco.pages.figures import Chart
from geco.report.folders import Found, Problem
from geco.report.outcomes import outcomes, target_scores
from geco.report.tables import differences, scores_table, unequal_seeds
from geco.train.curves import available, called, close_up, curve
from geco.train.record import SeedRecord

__all__ = ["charts", "records", "runs_page"]

Runs = dict[str, list[SeedRecord]]
PARTS = ("train", "evaluate")  # whose seconds a record has


def runs_page(found: Found, command: str, refresh: float = 0.0) -> Page:
    """Return one page on several runs.

    Args:
        found: the runs, and what could not be read.
        command: which made the page.
        refresh: seconds after which the page looks for a newer one; 0 for never.
    """
    runs = _named(found)
    page = Page(_title(runs), command, _about(runs), refresh)
    groups = _grouped(runs)
    for (data, metric), members in groups.items():
        if len(groups) > 1:
            page.add(Heading(f"{data}, by {called(metric)}"))
        looks = {name: number for number, name in enumerate(members)}
        page.add(*_compared(members, looks, 3 if len(groups) > 1 else 2))
    if not runs:
        page.add(Text("There is no run with a finished epoch to show."))
    page.add(*_problems(found.problems))
    if runs:
        page.add(Heading("All settings"), *(_settings(name, seeds) for name, seeds in runs.items()))
    return page


def _compared(runs: Runs, looks: dict[str, int], level: int) -> list[Block]:
    """Return tables and curves of runs on the same data."""
    blocks: list[Block] = [scores_table(runs, looks)]
    for name, seeds in runs.items():
        if len(seeds) > 1 and (keys := unequal_seeds(seeds)):
            blocks.append(Text(f"The seeds of {name} differ in {', '.join(keys)}; their mean is one of unlike runs."))
    blocks += [
        Heading("Curves", level),
        Tabs("Curve", _curves(runs, looks)),
    ]
    table = differences(runs, looks) if len(runs) > 1 else None
    if table is not None:
        blocks += [Heading("What differs", level), table]
    elif len(runs) > 1:
        blocks += [
            Heading("What differs", level),
            Text("Nothing but the seeds: all settings and versions are the same."),
        ]
    for heading, parts in (("On the test part", outcomes(runs, looks)), ("By target", target_scores(runs))):
        blocks += [Heading(heading, level), *parts] if parts else []
    return blocks


def _curves(runs: Runs, looks: dict[str, int]) -> list[tuple[str, Block]]:
    tabs: list[tuple[str, Block]] = []
    for name in available(runs):
        tabs.append((_short(name), curve(name, runs, looks)))
        near = close_up(name, runs, looks) if name in ("valid", "test") else None
        tabs += [(f"{_short(name)}, close up", near)] if near is not None else []
    return tabs


def _short(name: str) -> str:
    return {"valid": "validation", "valid_loss": "validation loss", "lr": "learning rate", "gradient": "gradient norm",
            "loss": "training loss", "train": "seconds"}.get(name, name)  # fmt: skip


def _named(found: Found) -> Runs:
    """Return the runs by names that are as short as they may be: without the folders that all of them are in."""
    paths = [str(path) for path in found.runs]
    common = (
        os.path.commonpath([os.path.dirname(path) or "." for path in paths]) if len(paths) > 1 and _alike(paths) else ""
    )
    names = [os.path.relpath(path, common) if common else path for path in paths]
    return dict(zip(names, found.runs.values(), strict=True))


def _alike(paths: Sequence[str]) -> bool:
    return len({os.path.isabs(path) for path in paths}) == 1


def _grouped(runs: Runs) -> dict[tuple[str, str], Runs]:
    """Return runs by what makes their scores comparable: data set and metric."""
    groups: dict[tuple[str, str], Runs] = {}
    for name, seeds in runs.items():
        info = seeds[0].info
        groups.setdefault((info.name, info.metric), {})[name] = seeds
    return groups


def _title(runs: Runs) -> str:
    names = list(dict.fromkeys(seeds[0].info.name for seeds in runs.values()))
    return f"Runs on {', '.join(names)}" if 0 < len(names) <= 3 else "GECO runs"


def _about(runs: Runs) -> list[tuple[str, str]]:
    """Return when the page was made by what, and the versions that all runs share."""
    facts = [("written", time.strftime("%Y-%m-%d %H:%M")), ("GECO", __version__)]
    known = [seed.environment for seeds in runs.values() for seed in seeds]
    for key, name in (("commit", "trained at commit"), ("torch", "torch"), ("torch_geometric", "PyG"),
                      ("python", "Python"), ("machine", "machine"), ("cores", "cores")):  # fmt: skip
        values = [str(environment[key]) for environment in known if environment.get(key)]
        said = (values[0] if len(set(values)) == 1 else "several") if values else ""
        gaps = len(known) - len(values)
        facts += [(name, f"{said} (unknown for {gaps} of {len(known)})" if gaps else said)] if said else []
    return facts


def _problems(problems: Sequence[Problem]) -> list[Block]:
    if not problems:
        return []
    rows = [[str(problem.folder), problem.why] for problem in problems]
    return [Heading("Not shown"), Table(["folder", "why"], rows, "Folders that hold no training to show")]


def _settings(name: str, seeds: Sequence[SeedRecord]) -> Folded:
    facts = [
        ("folders", ", ".join(str(seed.folder) for seed in seeds)),
        ("seeds", ", ".join(str(s.seed) for s in seeds)),
    ]
    facts += [(str(key), str(value)) for key, value in seeds[0].environment.items()]
    return Folded(name, [Facts(facts), Preformatted(seeds[0].toml.strip())])


def charts(found: Found, names: Sequence[str]) -> list[Chart]:
    """Return curves of all runs, for each data set and metric."""
    groups = _grouped(_named(found)).values()
    return [curve(name, runs) for runs in groups for name in (names or ("valid", "loss"))]


def records(found: Found) -> dict[str, list[dict[str, Any]]]:
    """Return all that is known of each run, by its folder: settings, environment, result, and every epoch with its
    seconds.
    """
    return {str(path): [_record(seed) for seed in seeds] for path, seeds in found.runs.items()}


def _record(seed: SeedRecord) -> dict[str, Any]:
    epochs = []
    for line in seed.epochs:
        told = {key: value for key, value in line.items() if key not in (*PARTS, "memory")}
        epochs.append({**told, **{key: round(line.get(key, 0.0), 4) for key in PARTS}})
    return {
        "metric": seed.info.metric,
        "best": {key: seed.best[key] for key in ("epoch", "valid", "test")},
        "finished": bool(seed.result),
        "seconds": round(sum(line[key] for line in epochs for key in PARTS), 1),
        "environment": seed.environment,
        "config": seed.config,
        "epochs": epochs,
    }
