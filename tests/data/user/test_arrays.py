"""A graph as arrays: .npz, and the tensors of a PyG Data in safe formats; whatever does not fit is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch_geometric.data import Data

from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions
from geco.errors import DataError, UsageError

GRAPH: dict[str, Any] = {
    "x": np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]]),
    "edge_index": np.array([[0, 1, 2], [1, 2, 3]]),
    "y": np.array([0, 1, 1, -1]),
    "split": np.array([0, 0, 1, 2]),
}


def write(folder: Path, **changes: Any) -> Path:
    path = folder / "graph.npz"
    np.savez(path, **{name: value for name, value in (GRAPH | changes).items() if value is not None})
    return path


def parts(path: Path, number: int = 0) -> list[list[int]]:
    split = read_own(path)[0].split(number)
    return [split.train.tolist(), split.valid.tolist(), split.test.tolist()]


def test_npz(tmp_path: Path) -> None:
    dataset, schema = read_own(write(tmp_path, edge_weight=np.array([1, 2, 3]), edge_attr=np.eye(3), other=np.ones(2)))
    graph = dataset[0]
    assert graph.x.tolist() == GRAPH["x"].tolist()
    assert graph.edge_index.tolist() == [[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]
    assert graph.edge_weight.tolist() == [1, 1, 2, 2, 3, 3]
    assert graph.edge_attr.argmax(1).tolist() == [0, 0, 1, 1, 2, 2]
    assert graph.y.tolist() == [0, 1, 1, -1]
    assert (dataset.info.level, dataset.info.target, dataset.info.names) == ("node", "class", ("0", "1"))
    roles = {column.name: column.role for column in schema.columns}
    assert roles["other"] == "ignored"
    assert roles["x"] == "feature"
    assert read_own(write(tmp_path), OwnOptions(directed=True))[0].num_edges == 3


@pytest.mark.parametrize(
    "split",
    [
        {},
        {"split": np.array(["train", "training", "val", "test"])},
        {"split": None, "train_mask": np.arange(4) < 2, "val_mask": np.arange(4) == 2, "test_mask": np.arange(4) == 3},
        {"split": None, "train_mask": np.array([1, 1, 0, 0]), "val_mask": np.array([0, 0, 1, 0])},
        {"split": None, "train": np.array([1, 0]), "valid": np.array([2]), "test": np.array([3])},
        {"split": None, "train_idx": np.array([1, 0]), "valid_idx": np.array([2]), "test_idx": np.array([], int)},
    ],
)
def test_splits_in_every_form(tmp_path: Path, split: dict[str, Any]) -> None:
    assert parts(write(tmp_path, **split)) == [[0, 1], [2], []]  # the last has no label


def test_several_splits_in_masks(tmp_path: Path) -> None:
    train = np.array([[1, 0], [0, 1], [0, 0], [0, 0]], bool)
    path = write(
        tmp_path, split=None, train_mask=train, val_mask=train[:, ::-1], test_mask=np.array([0, 0, 1, 0], bool)
    )
    assert parts(path, 0) == [[0], [1], [2]]
    assert parts(path, 1) == [[1], [0], [2]]


def test_labels_of_every_kind(tmp_path: Path) -> None:
    for y, target, names in (
        (np.array(["b", "a", "b", ""]), "class", ("a", "b")),
        (np.array([[0, 1], [1, 1], [0, 0], [1, 0]]), "labels", ("y0", "y1")),
        (np.array([0.5, 1, np.nan, 2]), "values", ("y",)),
        (np.array([[3], [3], [5], [3]]), "class", ("3", "5")),
    ):
        info = read_own(write(tmp_path, y=y))[0].info
        assert (info.target, info.names) == (target, names)
    assert read_own(write(tmp_path, y=None, kind=GRAPH["y"]), OwnOptions(label=("kind",)))[0][0].y.tolist() == [
        0,
        1,
        1,
        -1,
    ]


def test_without_split_one_is_made(tmp_path: Path) -> None:
    dataset, schema = read_own(write(tmp_path, split=None), OwnOptions(fractions=(0.34, 0.33, 0.33)))
    assert sorted(torch.cat(list(vars(dataset.split()).values())).tolist()) == [0, 1, 2]
    assert schema.notes[-1] == "split: random, made with seed 0; 1 train, 1 valid, 1 test"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        (
            {"edge_index": np.array([[0], [4]])},
            "graph.npz, edge_index: node 4 is out of range, x has 4 rows, numbered from 0",
        ),
        ({"edge_index": np.array([[0], [-1]])}, "graph.npz, edge_index: node -1 is out of range"),
        ({"edge_index": np.array([[0.0], [1.0]])}, "graph.npz, edge_index: whole numbers are wanted, got float64"),
        (
            {"edge_index": np.zeros((3, 2), int)},
            r"graph.npz, edge_index: the shape \(2, M\) is wanted, got .* turn it with .T",
        ),
        ({"edge_index": None, "edges": np.zeros((2, 1), int)}, "graph.npz: no array 'edge_index' .* mean 'edges'"),
        ({"x": None}, "graph.npz: no array 'x' among"),
        ({"x": np.array([["a"]] * 4)}, "graph.npz, x: numbers are wanted, got <U1"),
        ({"x": np.array([[1.0], [2], [np.nan], [4]])}, "graph.npz, x, row 2: nan is not a finite number"),
        ({"y": np.array([0, 1, 1])}, r"graph.npz, y: a label for each of 4 nodes is wanted, got the shape \(3,\)"),
        ({"y": None}, "graph.npz: no array 'y' among"),
        ({"y": np.array([None, 1, 2, 3])}, "graph.npz .*object"),
        ({"edge_weight": np.ones(2)}, r"graph.npz, edge_weight: 3 rows are wanted, got the shape \(2,\)"),
        ({"split": np.array([0, 1, 2, 3])}, "graph.npz, split, row 3: '3' is no part of a split"),
        ({"split": np.array([0, 1])}, r"graph.npz, split: one for each of 4 nodes is wanted, got the shape \(2,\)"),
        (
            {"split": None, "train": np.array([0, 9])},
            "graph.npz, train: a mask of 4 nodes or a list of nodes is wanted",
        ),
        (
            {"split": None, "train": np.array([1, 1, 0, 0])},
            "graph.npz, train: node 0 is listed 2 times; a mask must be of",
        ),
        (
            {"split": None, "train": np.array([0, 1]), "test": np.array([1])},
            "graph.npz: node 1 is in two parts of the split",
        ),
    ],
)
def test_mistakes(tmp_path: Path, changes: dict[str, Any], wanted: str) -> None:
    with pytest.raises(DataError, match=wanted):
        read_own(write(tmp_path, **changes))


def test_flags_without_meaning(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--graph has no meaning for a file of arrays"):
        read_own(write(tmp_path), OwnOptions(graph="x"))
    with pytest.raises(DataError, match="leave out --level graph"):
        read_own(write(tmp_path), OwnOptions(level="graph"))


def pyg() -> Data:
    data = Data(**{name: torch.from_numpy(value) for name, value in GRAPH.items() if name != "split"})
    data.x = data.x.float()
    data.train_mask, data.val_mask, data.test_mask = (torch.arange(4) == i for i in (0, 1, 2))
    return data


def test_pyg_data_in_safe_formats(tmp_path: Path) -> None:
    torch.save(pyg().to_dict(), tmp_path / "graph.pt")
    save_file({name: value.contiguous() for name, value in pyg().to_dict().items()}, tmp_path / "graph.safetensors")
    one, _ = read_own(tmp_path / "graph.pt")
    two, _ = read_own(tmp_path / "graph.safetensors")
    assert one.fingerprint == two.fingerprint
    assert one[0].y.tolist() == [0, 1, 1, -1]
    assert (one.split().train.tolist(), one.split().valid.tolist(), one.split().test.tolist()) == ([0], [1], [2])


def test_tensors_of_odd_types(tmp_path: Path) -> None:
    odd = pyg().to_dict() | {
        "x": torch.ones(4, 2, dtype=torch.bfloat16, requires_grad=True),
        "adj": torch.eye(4).to_sparse(),
    }
    torch.save(odd | {"name": "mine"}, tmp_path / "graph.pt")
    dataset, schema = read_own(tmp_path / "graph.pt")
    assert dataset[0].x.tolist() == [[1, 1]] * 4
    assert "adj" not in {column.name for column in schema.columns}


def test_a_pickled_object_is_refused_with_the_way_to_save_it(tmp_path: Path) -> None:
    torch.save(pyg(), tmp_path / "data.pt")
    with pytest.raises(DataError, match=r"data.pt.*torch.save\(data.to_dict\(\), 'graph.pt'\)"):
        read_own(tmp_path / "data.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(DataError, match=r"list.pt holds a list; .*torch.save\(data.to_dict\(\)"):
        read_own(tmp_path / "list.pt")
    (tmp_path / "cut.safetensors").write_bytes(b"123")
    with pytest.raises(DataError, match=r"cut.safetensors is not a valid safetensors file"):
        read_own(tmp_path / "cut.safetensors")


def test_new_arrays_of_the_same_form(tmp_path: Path) -> None:
    schema = read_own(write(tmp_path, y=np.array(["b", "a", "b", ""])))[1]
    dataset, _ = read_own(write(tmp_path, y=None, split=None), schema=schema)
    assert (dataset[0].y.tolist(), dataset.num_splits, dataset.info.names) == ([-1] * 4, 0, ("a", "b"))
    dataset, _ = read_own(write(tmp_path, y=None), schema=schema)  # a split, and nothing with a label to be in it
    assert (dataset[0].y.tolist(), len(dataset.split().train)) == ([-1] * 4, 0)
    with pytest.raises(DataError, match=r"graph.npz, x: 1 features, the data set was made with 2"):
        read_own(write(tmp_path, x=np.ones((4, 1)), y=None), schema=schema)
    with pytest.raises(DataError, match=r"graph.npz, y, row 1: 'c' is none of the 2 classes known \(a, b\)"):
        read_own(write(tmp_path, y=np.array(["a", "c", "a", "a"])), schema=schema)


def test_new_arrays_have_what_the_first_ones_had_and_no_more(tmp_path: Path) -> None:
    weight, attr = np.ones(len(GRAPH["edge_index"][0])), np.ones((len(GRAPH["edge_index"][0]), 2))
    plain = read_own(write(tmp_path))[1]
    more, _ = read_own(write(tmp_path, edge_weight=weight, edge_attr=attr), schema=plain)
    assert not {"edge_weight", "edge_attr"} & set(more[0].keys())
    rich = read_own(write(tmp_path, edge_weight=weight, edge_attr=attr))[1]
    for missing in ("edge_weight", "edge_attr", "x"):
        given = {"edge_weight": weight, "edge_attr": attr, "num_nodes": np.array(4), missing: None}
        with pytest.raises(DataError, match=f"no array '{missing}' among"):
            read_own(write(tmp_path, **given), schema=rich)
    with pytest.raises(DataError, match=r"edge_attr: 1 features, the data set was made with 2"):
        read_own(write(tmp_path, edge_weight=weight, edge_attr=attr[:, 0]), schema=rich)
    featureless = read_own(write(tmp_path, x=None, num_nodes=np.array(4)))[1]
    assert read_own(write(tmp_path), schema=featureless)[0][0].x.tolist() == [[1.0]] * 4
