"""Curves of trainings over epochs: means over seeds, bands from the lowest to the highest seed, the chosen epochs."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from geco.errors import UsageError
from geco.pages import LineChart, Mark, Rule, Series
from geco.train.record import SeedRecord

__all__ = ["CURVES", "available", "called", "curve", "shortened"]

CURVES = {  # key in the log: what it is called; {metric} is the score's name
    "valid": "{metric}, validation",
    "test": "{metric}, test",
    "loss": "training loss",
    "valid_loss": "validation loss",
    "lr": "learning rate",
    "gradient": "gradient norm",
    "train": "seconds of training",
}
AXES = {"loss": "loss", "valid_loss": "loss", "lr": "rate", "gradient": "norm", "train": "seconds"}  # else the metric
POINTS = 400  # of a line
SPAN = 30.0  # largest over smallest value from which an axis of equal factors reads better
Runs = Mapping[str, Sequence[SeedRecord]]


def called(metric: str) -> str:
    """Return a metric's name as people write it.

    Example:
        >>> called("mae"), called("macro-f1"), called("accuracy"), called("hits@10")
        ('MAE', 'macro-F1', 'accuracy', 'Hits@10')
    """
    upper = re.sub(r"\b(mae|rmse|r2|f1|auroc|ap|mrr)\b", lambda found: found[0].upper(), metric)
    return upper.replace("hits@", "Hits@").replace("R2", "R²")


def available(runs: Runs) -> list[str]:
    """Return which curves there are of any of the runs."""
    keys = {key for seeds in runs.values() for seed in seeds for line in seed.epochs for key in line}
    return [name for name in CURVES if name in keys]


def curve(name: str, runs: Runs, looks: Mapping[str, int] | None = None) -> LineChart:
    """Return one curve of all runs over each other.

    Args:
        name: of `CURVES`.
        runs: by name, the records of their seeds; all of one metric.
        looks: number of each run's colour; its place if not given.
    """
    known = available(runs)
    if name not in known:
        raise UsageError(f"there is no curve {name!r} in these runs; choose of {', '.join(known)}")
    records = [seed for seeds in runs.values() for seed in seeds]
    metric = called(records[0].info.metric)
    title, axis = CURVES[name].format(metric=metric), AXES.get(name, metric)
    all_series = [
        _series(run, seeds, name, number if looks is None else looks[run])
        for number, (run, seeds) in enumerate(runs.items())
    ]
    series = [line for line in all_series if line.x]
    rules = _rules(records, name) if name in ("valid", "test") else []
    values = [v for line in series for v in line.values if math.isfinite(v)]
    log = name not in ("valid", "test") and bool(values) and min(values) > 0 and max(values) / min(values) > SPAN
    return LineChart(
        title[0].upper() + title[1:], "epoch", f"{axis} (logarithmic)" if log else axis, series, rules,
        log_y=log, note=_note(runs, name),
    )  # fmt: skip


def shortened(count: int) -> int:
    """Return of how many evaluations one is drawn, so that a line of any length has up to 400 points."""
    return max(1, math.ceil(count / POINTS))


def _series(run: str, seeds: Sequence[SeedRecord], name: str, look: int) -> Series:
    by_epoch: dict[int, list[float]] = {}
    for seed in seeds:
        for line in seed.epochs:
            if name in line:
                by_epoch.setdefault(line["epoch"], []).append(float(line[name]))
    every = sorted(by_epoch)
    step = shortened(len(every))
    epochs = [e for i, e in enumerate(every) if i % step == 0 or i == len(every) - 1]
    values = [by_epoch[epoch] for epoch in epochs]
    several = len(seeds) > 1
    return Series(
        run, epochs, [statistics.fmean(v) for v in values],
        [min(v) for v in values] if several else (), [max(v) for v in values] if several else (),
        [_mark(seed, name, several) for seed in seeds if name in seed.best],
        [len(v) for v in values] if several else (), look,
    )  # fmt: skip


def _mark(seed: SeedRecord, name: str, several: bool) -> Mark:
    label = f"chosen by seed {seed.seed}" if several else "chosen"
    return Mark(seed.best["epoch"], float(seed.best[name]), label)


def _rules(records: Sequence[SeedRecord], part: str) -> list[Rule]:
    """Return levels of guesses without features; runs on the same data have the same."""
    found: dict[tuple[str, float], Rule] = {}
    for seed in records:
        for guess, scores in seed.baseline.items():
            value: Any = scores.get(part)
            if isinstance(value, float) and math.isfinite(value):
                found[guess, round(value, 6)] = Rule(guess, value)
    return list(found.values())


def _note(runs: Runs, name: str) -> str:
    several = any(len(seeds) > 1 for seeds in runs.values())
    parts = ["Marks: the epoch each seed chose, by its validation score."]
    if several:
        parts.insert(0, "Lines: means over the seeds that got so far. Bands: from the lowest to the highest seed.")
    longest = max(len({e["epoch"] for s in seeds for e in s.epochs if name in e}) for seeds in runs.values())
    if shortened(longest) > 1:
        parts.append("Long runs: evenly thinned to 400 points a line.")
    return " ".join(parts)
