"""The heterophilous graphs' files: written here, read by us and by PyG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from torch_geometric.datasets import HeterophilousGraphDataset

from geco.data.registry import find
from geco.errors import DataError
from tests.data.sources.comparison import assert_same, read

NODES, SPLITS = 36, 10


def write(path: Path, classes: int, **changes: np.ndarray | None) -> None:
    rng = np.random.default_rng(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = rng.permuted(np.tile(np.repeat([0, 1, 2], [18, 9, 9]), (SPLITS, 1)), axis=1)
    edges = np.unique(np.sort(rng.integers(0, NODES, (90, 2)), axis=1), axis=0)
    arrays = {
        "node_features": rng.random((NODES, 4), np.float32),
        "node_labels": rng.integers(0, classes, NODES),
        "edges": edges[edges[:, 0] < edges[:, 1]],
        "train_masks": part == 0,
        "val_masks": part == 1,
        "test_masks": part == 2,
    }
    np.savez(path, **{k: v for k, v in {**arrays, **changes}.items() if v is not None})


@pytest.mark.parametrize("name", ["roman-empire", "amazon-ratings", "minesweeper", "tolokers", "questions"])
def test_equals_pyg(tmp_path: Path, name: str) -> None:
    spec = find(name)
    stem = name.replace("-", "_")
    write(tmp_path / stem / "raw" / f"{stem}.npz", spec.sizes.classes)
    theirs = HeterophilousGraphDataset(str(tmp_path), name)[0]
    ours = read(name, tmp_path)
    assert ours.num_splits == SPLITS
    assert_same(ours, theirs)
    assert ours[0].y.shape == ((NODES,) if spec.metric == "accuracy" else (NODES, 1))
    assert ours[0].is_undirected()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": np.zeros((5, 3), np.int64)}, r"tolokers.npz: edges should be whole numbers of shape \(M, 2\)"),
        ({"edges": np.zeros((5, 2))}, "tolokers.npz: edges should be whole numbers"),
        ({"edges": np.array([[0, NODES]])}, "name nodes outside their graph"),
        ({"node_labels": np.zeros(4, np.int64)}, "tolokers.npz has 4 rows for 36 nodes"),
        ({"node_labels": np.full(NODES, 2)}, "tolokers.npz.*0, 1 or missing"),
        ({"val_masks": np.zeros((SPLITS, 4), bool)}, "tolokers.npz: train_masks, val_masks, test_masks should have"),
        ({"val_masks": np.ones((SPLITS, NODES), bool)}, "nodes in more than one part"),
        ({"test_masks": None}, "tolokers.npz lacks the arrays test_masks"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, changes: dict[str, np.ndarray | None], message: str) -> None:
    write(tmp_path / "tolokers" / "tolokers.npz", 2, **changes)
    with pytest.raises(DataError, match=message):
        read("tolokers", tmp_path)
