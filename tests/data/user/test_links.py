"""A user's tables and arrays as links to predict: split without leaks, read again for prediction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from geco.data.dataset import GraphDataset
from geco.data.load_dataset import load
from geco.data.user.read import pairs, read_own
from geco.data.user.schema import OwnOptions
from geco.data.user.stored import store, stored_schema
from geco.errors import DataError, UsageError

LINK = OwnOptions(task="link", fractions=(0.6, 0.2, 0.2))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a ring of ten people, one of them their own friend, with every friendship of its own day and kind."""
    folder = tmp_path / "people"
    folder.mkdir()
    nodes = [f"n{i},{i},{'old' if i % 2 else 'young'},{i % 3}" for i in range(10)]
    (folder / "nodes.csv").write_text("\n".join(["id,age,type,label", *nodes]))
    edges = [f"n{i},n{(i + 1) % 10},{'work' if i % 2 else 'kin'},2020-01-{i + 1:02d},{i}" for i in range(10)]
    (folder / "edges.csv").write_text("\n".join(["source,target,how,day,weight", *edges, "n3,n3,kin,2020-01-30,9"]))
    return folder


def known(dataset: GraphDataset, part: str) -> set[tuple[int, int]]:
    """Return the links of a part."""
    rows = getattr(dataset.split(), part)
    rows = rows[dataset.arrays["link/edge_label"][rows] == 1]
    return {(min(u, v), max(u, v)) for u, v in dataset.arrays["link/edge_label_index"].long()[:, rows].T.tolist()}


def test_tables_as_links(folder: Path) -> None:
    dataset, schema = read_own(folder, OwnOptions(task="link", fractions=(0.6, 0.2, 0.2), ignore=("day",)))
    assert (dataset.info.level, dataset.info.metric, len(dataset)) == ("link", "auroc", 1)
    assert [len(known(dataset, part)) for part in ("train", "valid", "test")] == [6, 2, 2]
    graph = dataset[0]
    assert {(min(p), max(p)) for p in graph.edge_index.T.tolist()} == known(dataset, "train")
    assert graph.x.shape == (10, 3)  # age, and two types; the label is left out
    for (u, v), weight, kind in zip(graph.edge_index.T.tolist(), graph.edge_weight, graph.edge_attr, strict=True):
        row = 9 if {u, v} == {0, 9} else min(u, v)
        assert (float(weight), kind.tolist()) == (row, [1.0, 0.0] if row % 2 == 0 else [0.0, 1.0])
    shown = schema.summary()
    for line in (
        "predicted: whether two nodes are linked, scored by auroc",
        "known: undirected link 10",
        "labels of nodes (label) are left out; name them with --features to use them",
        "split of the links: random, made with seed 0; 6 train, 2 valid, 2 test",
        "1 self loops are left out",
    ):
        assert line in shown


def test_labels_of_nodes_may_be_features(folder: Path) -> None:
    options = OwnOptions(task="link", features=("age", "label"), fractions=(0.6, 0.2, 0.2))
    assert read_own(folder, options)[0][0].x.tolist() == [[float(i), float(i % 3)] for i in range(10)]


def test_nodes_without_features(folder: Path) -> None:
    dataset, schema = read_own(
        folder, OwnOptions(task="link", ignore=("age", "type", "label"), fractions=(0.6, 0.2, 0.2))
    )
    assert dataset[0].x.tolist() == [[1.0]] * 10
    assert any("nodes have no feature columns" in note for note in schema.notes)


def test_by_time(folder: Path) -> None:
    dataset, schema = read_own(folder, OwnOptions(task="link", time="day", fractions=(0.6, 0.2, 0.2)))
    assert known(dataset, "train") == {(i, i + 1) for i in range(6)}
    assert known(dataset, "test") == {(8, 9), (0, 9)}
    assert dataset[0].edge_attr.shape[1] == 2  # the day is no feature
    assert "split of the links: by time; 6 train, 2 valid, 2 test" in schema.notes


def test_by_a_column(folder: Path) -> None:
    parts = ["train"] * 6 + ["valid", "valid", "test", "test", "train"]
    rows = (folder / "edges.csv").read_text().splitlines()
    written = [f"{row},{part}" for row, part in zip(rows, ["split", *parts], strict=True)]
    (folder / "edges.csv").write_text("\n".join(written))
    dataset, _ = read_own(folder, OwnOptions(task="link", ignore=("day",)))
    assert known(dataset, "valid") == {(6, 7), (7, 8)}
    (folder / "edges.csv").write_text("\n".join([*written, "n1,n0,kin,2020-02-01,1,test"]))
    with pytest.raises(DataError, match="between nodes 0 and 1 are not all in one part"):
        read_own(folder, OwnOptions(task="link", ignore=("day",)))
    (folder / "edges.csv").write_text("\n".join([*written, "n1,n5,kin,2020-02-01,1,"]))
    with pytest.raises(DataError, match="line 13, column split: the part of the split is missing"):
        read_own(folder, OwnOptions(task="link", ignore=("day",)))


def test_arrays_as_links(tmp_path: Path) -> None:
    ends = torch.stack([torch.arange(10), (torch.arange(10) + 1) % 10])
    arrays = {"x": np.eye(10), "edge_index": ends.numpy(), "when": np.arange(10)[::-1], "edge_weight": np.ones(10)}
    np.savez(tmp_path / "g.npz", **arrays)
    dataset, schema = read_own(tmp_path / "g.npz", LINK)
    assert dataset[0].edge_index.shape == dataset[0].edge_weight.expand(2, -1).shape == (2, 12)
    dataset, _ = read_own(tmp_path / "g.npz", OwnOptions(task="link", time="when", fractions=(0.6, 0.2, 0.2)))
    assert known(dataset, "test") == {(0, 1), (1, 2)}
    new, _ = read_own(tmp_path / "g.npz", schema=schema)
    assert new.num_edges == 20
    (tmp_path / "p.csv").write_text("source,target\n3,7\n9,0\n")
    found, names = pairs(tmp_path / "g.npz", tmp_path / "p.csv", schema)
    assert (found.tolist(), names) == ([[3, 9], [7, 0]], [("3", "7"), ("9", "0")])
    (tmp_path / "p.csv").write_text("source,target\n3,10\n")
    with pytest.raises(DataError, match="line 2, column target: '10' is no node; they are numbered 0 to 9"):
        pairs(tmp_path / "g.npz", tmp_path / "p.csv", schema)


def test_kept_and_read_again_for_prediction(folder: Path) -> None:
    dataset, schema = read_own(folder, OwnOptions(task="link", time="day", directed=True))
    store(dataset, "friends", schema)
    again = load("friends")
    assert again.unit == "link"
    assert again.split().test.equal(dataset.split().test)
    (folder / "edges.csv").write_text("source,target,how,weight\nn0,n1,kin,2\nn4,n2,work,1\n")
    (folder / "nodes.csv").write_text("id,age,type\n" + "\n".join(f"n{i},{i},old" for i in range(5)))
    found = stored_schema("friends")
    new, _ = read_own(folder, schema=found)
    assert new[0].edge_index.tolist() == [[0, 4], [1, 2]]  # directed, all of them
    assert new[0].edge_attr.tolist() == [[1, 0], [0, 1]]
    (folder.parent / "p.csv").write_text("why,target,source\nx,n1,n3\n")
    assert found is not None
    assert pairs(folder, folder.parent / "p.csv", found)[0].tolist() == [[3], [1]]
    (folder.parent / "p.csv").write_text("source,target\nn3,n9\n")
    with pytest.raises(DataError, match=r"column target: 'n9' is not a node of nodes.csv"):
        pairs(folder, folder.parent / "p.csv", found)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"label": ("label",)}, "--label has no meaning for link prediction"),
        ({"folds": 5}, "--folds has no meaning for link prediction"),
        ({"split_kind": "stratified"}, "--split-kind has no meaning for link prediction"),
        ({"level": "graph"}, "--level has no meaning for link prediction"),
        ({"metric": "accuracy"}, "links are scored by one of auroc, ap, mrr, hits@10, hits@50, hits@100"),
        ({"metric": "hits@10"}, "hits@10 needs at least 10 links in validation and in test, there are 6 train"),
        ({"time": "age"}, "edges.csv: no column 'age', by which to split the links"),
        ({"time": "how"}, "line 2, column how: 'kin' is no time; write numbers, or dates as 2026-11-19"),
        ({"fractions": (1.0, 0.0, 0.0)}, "a part of the split has no link"),
    ],
)
def test_what_means_nothing_is_refused(folder: Path, flags: dict[str, object], message: str) -> None:
    settings = {"task": "link", "fractions": (0.6, 0.2, 0.2), **flags}
    with pytest.raises((UsageError, DataError), match=message):
        read_own(folder, OwnOptions(**settings))  # type: ignore[arg-type]


def test_many_graphs_and_molecules_are_refused(folder: Path) -> None:
    (folder / "m.csv").write_text("smiles,y\nCC,1\n")
    with pytest.raises(UsageError, match="--task link is for the edges of one graph"):
        read_own(folder / "m.csv", LINK)
    rows = (folder / "nodes.csv").read_text().splitlines()
    (folder / "nodes.csv").write_text("\n".join(f"{row},{'graph' if i == 0 else i % 2}" for i, row in enumerate(rows)))
    with pytest.raises(DataError, match=r"nodes.csv is of many graphs \(column graph\), links are predicted in one"):
        read_own(folder, LINK)
