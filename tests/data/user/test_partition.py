"""Splits by time and in folds, asked for by flags, of nodes, graphs and molecules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from geco.data.user.partition import read_times
from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions
from geco.data.user.tables import Field
from geco.errors import DataError, UsageError

THIRDS = (0.4, 0.3, 0.3)


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    """Return twenty nodes, each of a day of its own, the newest first; the last has no label."""
    rows = [f"{i},{i % 7},{'ab'[i % 2] if i < 19 else ''},2020-03-{20 - i:02d} 08:00" for i in range(20)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,x,label,day", *rows]))
    (tmp_path / "edges.csv").write_text("source,target,day\n0,1,1\n2,3,2\n")
    return tmp_path


def test_nodes_by_time(dated: Path) -> None:
    dataset, schema = read_own(dated, OwnOptions(time="day", fractions=(0.5, 0.25, 0.25)))
    split = dataset.split()
    assert split.test.tolist() == [0, 1, 2, 3, 4]  # the newest of the 19 that have a label
    assert split.valid.tolist() == [5, 6, 7, 8, 9]
    assert split.train.tolist() == list(range(10, 19))
    assert dataset[0].x.shape[1] == 1  # the day is no feature
    assert "split: by time, column day, the oldest for training; 9 train, 5 valid, 5 test" in schema.notes
    (dated / "nodes.csv").write_text("id,x\n1,2\n")
    (dated / "edges.csv").write_text("source,target,day\n")
    assert read_own(dated, schema=schema)[0].num_nodes == 1  # new files need no day


def test_times_are_numbers_or_dates() -> None:
    def times(*values: object) -> list[float]:
        return read_times(Field("t", pd.Series(values), lambda row: f"row {row}")).tolist()

    assert times(3, 1.5, -2) == [3, 1.5, -2]
    assert times("2020", "2019") == [2020, 2019]
    assert times("1970-01-01T00:00:01Z", "1970-01-01 01:00:01+01:00") == [1, 1]
    for wrong in (("2020-01-01", "yesterday"), ("01/02/2020", "02/02/2020")):
        with pytest.raises(DataError, match="is no time; write numbers, or dates as 2026-11-19"):
            times(*wrong)
    with pytest.raises(DataError, match="row 1: the time is missing"):
        times("2020-01-01", None)


def test_few_times_leave_a_part_empty(dated: Path) -> None:
    with pytest.raises(DataError, match=r"column x has 7 different times.* nothing is left for valid"):
        read_own(dated, OwnOptions(time="x", fractions=(0.9, 0.05, 0.05)))


def test_folds_of_nodes_are_by_class(dated: Path) -> None:
    dataset, schema = read_own(dated, OwnOptions(folds=3, ignore=("day",)))
    assert dataset.num_splits == 3
    y = dataset[0].y
    for number in range(3):
        counts = torch.bincount(y[dataset.split(number).test])
        assert counts.min() >= 3
    tested = torch.cat([dataset.split(number).test for number in range(3)])
    assert sorted(tested.tolist()) == list(range(19))
    assert any(note.startswith("split: 3 folds by class, made with seed 0; ") for note in schema.notes)
    again, _ = read_own(dated, OwnOptions(folds=3, ignore=("day",), seed=1))
    assert not again.split().test.equal(dataset.split().test)


def test_graphs_by_time_and_in_folds(tmp_path: Path) -> None:
    nodes = [f"g{i // 2},{i},1" for i in range(20)]
    (tmp_path / "nodes.csv").write_text("\n".join(["graph,id,x", *nodes]))
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    graphs = [f"g{i},{i % 2},{2000 + i}" for i in range(10)]
    (tmp_path / "graphs.csv").write_text("\n".join(["graph,label,year", *graphs]))
    split = read_own(tmp_path, OwnOptions(time="year", fractions=THIRDS))[0].split()
    assert (split.train.tolist(), split.test.tolist()) == ([0, 1, 2, 3], [7, 8, 9])
    assert read_own(tmp_path, OwnOptions(folds=5))[0].num_splits == 5


def test_graphs_by_the_time_of_their_nodes(tmp_path: Path) -> None:
    nodes = [f"g{i // 2},{i},{i % 2},{10 - i // 2}" for i in range(20)]
    (tmp_path / "nodes.csv").write_text("\n".join(["graph,id,label,when", *nodes]))
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    split = read_own(tmp_path, OwnOptions(time="when", fractions=THIRDS))[0].split()
    assert split.test.tolist() == [0, 1, 2]
    (tmp_path / "nodes.csv").write_text("\n".join(["graph,id,label,when", *nodes, "g0,99,1,3"]))
    with pytest.raises(DataError, match="'3' differs from other nodes of its graph"):
        read_own(tmp_path, OwnOptions(time="when"))


def test_molecules_and_arrays_by_time_and_in_folds(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("\n".join(["smiles,y,seen", *(f"{'C' * i},{i % 2},{-i}" for i in range(1, 11))]))
    split = read_own(tmp_path / "m.csv", OwnOptions(time="seen", label=("y",), fractions=THIRDS))[0].split()
    assert split.test.tolist() == [0, 1, 2]
    assert read_own(tmp_path / "m.csv", OwnOptions(folds=4, label=("y",)))[0].num_splits == 4
    arrays = {"x": np.ones((10, 1)), "edge_index": np.array([[0], [1]]), "y": np.arange(10) % 2, "t": np.arange(10)}
    np.savez(tmp_path / "g.npz", **arrays)
    split = read_own(tmp_path / "g.npz", OwnOptions(time="t", fractions=THIRDS))[0].split()
    assert split.test.tolist() == [7, 8, 9]
    np.savez(tmp_path / "g.npz", **{**arrays, "t": np.arange(9)})
    with pytest.raises(DataError, match="a time for each of 10 is wanted"):
        read_own(tmp_path / "g.npz", OwnOptions(time="t"))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"time": "day", "folds": 3}, "--time and --folds each make a split; give one of them"),
        ({"time": "day", "split": "x"}, "--split and --time each make a split"),
        ({"folds": 3, "split_kind": "stratified"}, "--folds and --split-kind stratified each make a split"),
        ({"folds": 2}, "folds must be at least 3"),
        ({"folds": 30}, "at most 19; got 30"),
        ({"time": "target"}, "no column 'target', by which to split"),
        ({"time": "dai"}, "Did you mean 'day'"),
    ],
)
def test_what_cannot_be_split_is_refused(dated: Path, flags: dict[str, object], message: str) -> None:
    with pytest.raises((UsageError, DataError), match=message):
        read_own(dated, OwnOptions(**flags))  # type: ignore[arg-type]
