"""Curves over seeds say what the seeds did."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from geco.errors import UsageError
from geco.train.curves import POINTS, available, curve
from geco.train.record import SeedRecord, read_seed
from tests.made_runs import made_run


def seeds(folder: Path, count: int = 3, epochs: int = 6) -> list[SeedRecord]:
    return [read_seed(made_run(folder / f"seed-{n}", seed=n, epochs=epochs)) for n in range(count)]


def test_lines_are_means_and_bands_reach_every_seed(tmp_path: Path) -> None:
    records = seeds(tmp_path / "a")
    (line,) = curve("valid", {"a": records}).series
    for number, epoch in enumerate(line.x):
        values = [record.epochs[number]["valid"] for record in records]
        assert line.y[number] == pytest.approx(statistics.mean(values)), epoch
        assert (line.low[number], line.high[number]) == (min(values), max(values))
    assert [(mark.x, mark.y) for mark in line.marks] == [(r.best["epoch"], r.best["valid"]) for r in records]


def test_a_seed_that_is_behind_is_counted_where_it_is(tmp_path: Path) -> None:
    records = [*seeds(tmp_path / "a", 1, 6), read_seed(made_run(tmp_path / "a" / "seed-1", seed=1, epochs=2))]
    (line,) = curve("loss", {"a": records}).series
    assert list(line.counts) == [2, 2, 1, 1, 1, 1]
    assert line.y[-1] == records[0].epochs[-1]["loss"]


def test_one_seed_has_no_band(tmp_path: Path) -> None:
    chart = curve("valid", {"a": seeds(tmp_path / "a", 1)})
    assert not chart.series[0].low
    assert "Bands" not in chart.note


def test_scores_have_the_guess_as_a_level_and_losses_have_none(tmp_path: Path) -> None:
    runs = {"a": seeds(tmp_path / "a"), "b": seeds(tmp_path / "b")}
    assert [(rule.name, rule.y) for rule in curve("test", runs).rules] == [("a guess", 0.45)]
    assert not curve("loss", runs).rules


def test_long_runs_are_thinned_and_that_is_said(tmp_path: Path) -> None:
    chart = curve("loss", {"a": seeds(tmp_path / "a", 1, 3 * POINTS)})
    (line,) = chart.series
    assert len(line.x) == POINTS + 1
    assert (line.x[0], line.x[-1]) == (1, 3 * POINTS)
    assert "thinned" in chart.note


def test_only_curves_that_are_there(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "seed-0")
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    bare = [{k: v for k, v in line.items() if k not in ("lr", "gradient", "valid_loss")} for line in lines]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in bare))
    runs = {"a": [read_seed(folder)]}
    assert available(runs) == ["valid", "test", "loss", "train"]
    with pytest.raises(UsageError, match="there is no curve 'lr' in these runs; choose of valid, test, loss, train"):
        curve("lr", runs)
