"""Runs as rows: their scores, and the settings in which they differ."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from geco.pages import Cell, Table
from geco.train.boards import flat
from geco.train.curves import called
from geco.train.record import SeedRecord

__all__ = ["differences", "mean_cell", "scores_table", "spread", "unequal_seeds"]

Runs = Mapping[str, Sequence[SeedRecord]]
UNKNOWN = Cell("–")
VERSIONS = ("torch", "torch_geometric", "python", "commit", "machine", "cores", "threads")


def spread(values: list[float]) -> str:
    """Return mean and sample standard deviation of the scores of several seeds."""
    mean = f"{statistics.mean(values):.4f}"
    return f"{mean} ± {statistics.stdev(values):.4f}" if len(values) > 1 else mean


def mean_cell(values: Sequence[float], mark: Literal["", "best", "near"] = "") -> Cell:
    """Return mean and sample standard deviation, in as many places as tell four digits of the mean or two of the
    deviation.

    Example:
        >>> mean_cell([0.5, 0.52]), mean_cell([1234.5])
        (Cell(text='0.5100', value=0.51, more='± 0.0141', mark=''), Cell(text='1234.5', value=1234.5, more='', mark=''))
    """
    if not values:
        return UNKNOWN
    mean = statistics.fmean(values)
    if not math.isfinite(mean):
        return Cell(str(mean))
    places = 4 if 0.01 <= abs(mean) < 10 or mean == 0 else min(12, max(1, 3 - math.floor(math.log10(abs(mean)))))
    more = f"± {statistics.stdev(values):.{places}f}" if len(values) > 1 else ""
    return Cell(f"{mean:.{places}f}", mean, more, mark)


def scores_table(runs: Runs, looks: Mapping[str, int]) -> Table:
    """Return a row for each run: scores with the best marked, seeds, seconds, memory, weights.

    Args:
        runs: on the same data, by the same metric.
        looks: number of each run's colour.
    """
    first = next(iter(runs.values()))[0]
    metric, states = first.info.metric, any(not seed.result for seeds in runs.values() for seed in seeds)
    scores_of = [f"{part} {called(metric)}" for part in ("test", "validation")]
    columns = ["run", "network", "seeds", *scores_of, "best epoch", "epochs", "seconds an epoch", "memory", "weights"]
    columns += ["state"] if states else []
    marks = {part: _marks(runs, part, first.higher) for part in ("test", "valid")}
    rows = []
    for name, seeds in runs.items():
        scores = [mean_cell([s.best[part] for s in seeds], marks[part][name]) for part in ("test", "valid")]
        row = [Cell(name), Cell(_networks(seeds)), Cell(str(len(seeds)), len(seeds)), *scores, *_measures(seeds)]
        rows.append([*row, *([Cell(_state(seeds))] if states else [])])
    count = len(rows)
    for guess, values in _guesses(runs).items():
        rows.append([Cell(guess), Cell("no network"), UNKNOWN, *(mean_cell(values[p]) for p in ("test", "valid")),
                     *[UNKNOWN] * 5, *([Cell("")] if states else [])])  # fmt: skip
    padded = [*runs, *[""] * (len(rows) - count)]
    return Table(columns, rows, series=padded, looks=[looks.get(name, -1) for name in padded], note=_note(runs, first))


def _networks(seeds: Sequence[SeedRecord]) -> str:
    model = seeds[0].config["model"]
    name = str(model.get("name", "?"))
    return f"{name}: {model.get('local')} and {model.get('mixer')}" if name == "hybrid" else name


def _measures(seeds: Sequence[SeedRecord]) -> list[Cell]:
    """Return best epoch, epochs, seconds, memory and weights."""
    best, last = ([float(v) for v in found] for found in zip(*((s.best["epoch"], s.epochs[-1]["epoch"]) for s in seeds),
                                                             strict=True))  # fmt: skip
    pace = [statistics.median(found) for s in seeds if (found := s.seconds("train"))]
    memory, weights = ([v for s in seeds if (v := getattr(s, key)) is not None] for key in ("memory", "parameters"))
    return [
        _whole(best), _whole(last),
        Cell(f"{statistics.fmean(pace):.3g}", statistics.fmean(pace)) if pace else UNKNOWN,
        Cell(f"{max(memory) / 2**20:,.0f} MiB", max(memory)) if memory else UNKNOWN,
        Cell(f"{max(weights):,}", max(weights)) if weights else UNKNOWN,
    ]  # fmt: skip


def _whole(values: Sequence[float]) -> Cell:
    mean, low, high = statistics.fmean(values), min(values), max(values)
    return Cell(f"{mean:.0f}", mean, f"({low:.0f}–{high:.0f})" if high > low else "")


def _state(seeds: Sequence[SeedRecord]) -> str:
    running = [seed for seed in seeds if not seed.result]
    if not running:
        return "finished"
    said = ", ".join(seed.state for seed in running[:2]) + (", ..." if len(running) > 2 else "")
    return said if len(seeds) == len(running) else f"{len(running)} of {len(seeds)} unfinished: {said}"


def _guesses(runs: Runs) -> dict[str, dict[str, list[float]]]:
    """Return scores of guesses without features; where splits differ, of each."""
    found: dict[str, dict[str, list[float]]] = {}
    for seeds in runs.values():
        for seed in seeds:
            for guess, scores in seed.baseline.items():
                parts = found.setdefault(guess, {"test": [], "valid": []})
                for part, value in scores.items():
                    if round(value, 9) not in parts[part]:
                        parts[part].append(round(value, 9))
    return found


def _marks(runs: Runs, part: str, higher: bool) -> dict[str, Literal["", "best", "near"]]:
    """Return which run has the best mean, and which are within its standard deviation of it."""
    means = {name: statistics.fmean(s.best[part] for s in seeds) for name, seeds in runs.items()}
    known = {name: mean for name, mean in means.items() if math.isfinite(mean)}
    if len(known) < 2:
        return dict.fromkeys(runs, "")
    top = (max if higher else min)(known.values())
    off = max((_deviation(runs[name], part) for name, mean in known.items() if mean == top), default=0.0)
    return {
        name: "" if not abs(mean - top) <= off else "best" if mean == top else "near" for name, mean in means.items()
    }


def _deviation(seeds: Sequence[SeedRecord], part: str) -> float:
    return statistics.stdev(seed.best[part] for seed in seeds) if len(seeds) > 1 else 0.0


def _note(runs: Runs, first: SeedRecord) -> str:
    parts = ["Scores: at the epoch with the best validation score."]
    if any(len(seeds) > 1 for seeds in runs.values()):
        parts.append("±: sample standard deviation over seeds.")
    if len(runs) > 1:
        better = "higher" if first.higher else "lower"
        parts.append(f"Bold: the best mean ({better} is better). Dotted: within that one's standard deviation.")
    parts.append("Seconds: median of training an epoch. Memory: of the process, or of the GPU.")
    return " ".join(parts)


def differences(runs: Runs, looks: Mapping[str, int]) -> Table | None:
    """Return a row for each run with the settings and versions in which they differ; None if there are none."""
    known = {name: _facts(seeds[0]) for name, seeds in runs.items()}
    keys = dict.fromkeys(key for facts in known.values() for key in facts)
    differ = [key for key in keys if len({_said(facts[key]) for facts in known.values() if key in facts}) > 1]
    if not differ:
        return None
    rows = [[Cell(name), *(_setting(facts.get(key)) for key in differ)] for name, facts in known.items()]
    return Table(["run", *differ], rows, series=list(runs), looks=[looks[name] for name in runs])


def _facts(seed: SeedRecord) -> dict[str, Any]:
    settings = flat({key: value for key, value in seed.config.items() if key != "seed"}, ".")
    return settings | {key: seed.environment[key] for key in VERSIONS if key in seed.environment}


def unequal_seeds(seeds: Sequence[SeedRecord]) -> list[str]:
    """Return the settings in which seeds of one run differ, though they should not."""
    every = [flat({key: value for key, value in seed.config.items() if key != "seed"}, ".") for seed in seeds]
    return [key for key in every[0] if len({_said(facts.get(key)) for facts in every}) > 1]


def _said(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return {"True": "yes", "False": "no", "": "none"}.get(str(value), str(value))


def _setting(value: Any) -> Cell:
    """Return a setting as a cell: words, or a number to sort by; a dash where an old run does not say it."""
    if value is None:
        return UNKNOWN
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Cell(_said(value), float(value) if number else None)
