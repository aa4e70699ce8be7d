"""What networks made of the test part: classes taken for others, predictions against the truth, scores by target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from geco.pages import Block, Cell, ConfusionMatrix, Facets, Group, Points, Scatter, Table, Tabs, Text
from geco.report.tables import mean_cell
from geco.train.curves import called
from geco.train.record import SeedRecord

__all__ = ["outcomes", "target_scores"]

Runs = Mapping[str, Sequence[SeedRecord]]
CLASSES = 20  # of a matrix that can be read; of more, the pairs mixed up most often are shown
PAIRS = 15
POINTS = 12_000  # of a page, in all runs and targets


def outcomes(runs: Runs, looks: Mapping[str, int]) -> list[Block]:
    """Return a tab for each run: its confusion matrix, or predicted against true values; what is missing is said.

    Args:
        runs: on the same data.
        looks: number of each run's colour.
    """
    info = next(iter(runs.values()))[0].info
    if info.level == "link" or info.target not in ("class", "values"):
        return []
    tabs: list[tuple[str, Block]] = []
    missing = []
    for name, seeds in runs.items():
        known = [seed for seed in seeds if seed.kept.get("outcome")]
        if not known:
            missing.append(name)
        elif "confusion" in known[0].kept["outcome"]:
            tabs.append((name, _confusion(known)))
        else:
            tabs.append((name, _predicted(known, looks[name], POINTS // len(runs))))
    blocks: list[Block] = [Tabs("Run", tabs)] if tabs else []
    if missing:
        what = "which class was taken for which" if info.target == "class" else "predicted beside true values"
        why = "more than 40 targets, or trained before this was kept"
        blocks.append(Text(f"Not kept is {what} by {', '.join(missing)} ({why})."))
    return blocks


def _confusion(seeds: Sequence[SeedRecord]) -> Block:
    names = [str(name) for name in seeds[0].kept["outcome"]["names"]]
    tables = [seed.kept["outcome"]["confusion"] for seed in seeds]
    total = [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)]
    of = f"all {len(seeds)} seeds together" if len(seeds) > 1 else "one seed"
    title = f"Test part, {of}, each at its chosen epoch"
    if len(names) <= CLASSES:
        note = "Rows: true class, columns: predicted class. Shading: share of the row."
        return ConfusionMatrix(title, names, total, note)
    mixed = [(count, i, j) for i, row in enumerate(total) for j, count in enumerate(row) if i != j and count]
    rows: list[list[str | float | Cell]] = [
        [f"{names[i]} → {names[j]}", float(count), f"{count / sum(total[i]):.1%}"]
        for count, i, j in sorted(mixed, key=lambda found: -found[0])[:PAIRS]
    ]
    return Table(["true → predicted", "count", "of the true class"], rows, f"{title}: classes mixed up most often")


def _predicted(seeds: Sequence[SeedRecord], look: int, room: int) -> Block:
    """Return a chart for each target, of the seed that validates best."""
    sign = 1 if seeds[0].higher else -1
    seed = max(seeds, key=lambda found: sign * found.best["valid"])
    names, pairs = seed.kept["outcome"]["names"], seed.kept["outcome"]["pairs"]
    each = max(20, room // max(1, len(names)))
    charts: list[Block] = []
    for name, (true, predicted) in zip(names, pairs, strict=True):
        step = -(-len(true) // each) or 1
        points = [Points(f"seed {seed.seed}", true[::step], predicted[::step], look=look)]
        charts.append(Scatter(str(name), "true", "predicted", points, equal=True))
    some = " (of many rows, some evenly apart)" if any(len(true) >= 100 for true, _ in pairs) else ""
    says = f"Test part{some}, by seed {seed.seed}, which validates best. On the dashed line predictions are right."
    return Group([Text(says), Facets(charts)])


def target_scores(runs: Runs) -> list[Block]:
    """Return test scores of each target, a tab for each measure; nothing where there is one target or none."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}  # measure, target, run
    for name, seeds in runs.items():
        for seed in seeds:
            for target, scores in _by_target(seed).items():
                for measure, value in scores.items():
                    found.setdefault(measure, {}).setdefault(target, {}).setdefault(name, []).append(float(value))
    tabs: list[tuple[str, Block]] = []
    for measure, targets in found.items():
        rows: list[list[str | float | Cell]]
        rows = [[target, *(mean_cell(by_run.get(name, [])) for name in runs)] for target, by_run in targets.items()]
        title = f"Test {called(measure)}, mean ± standard deviation over seeds"
        tabs.append((called(measure), Table(["target", *runs], rows, title)))
    return [Tabs("Measure", tabs)] if tabs else []


def _by_target(seed: SeedRecord) -> dict[str, dict[str, Any]]:
    targets = seed.best.get("targets")
    test = targets.get("test") if isinstance(targets, dict) else None
    return test if isinstance(test, dict) else {}
