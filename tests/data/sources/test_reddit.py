"""Reddit's raw files: written here, read by us and by PyG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.datasets import Reddit

from geco.errors import DataError
from tests.data.sources.common import assert_same, read

NODES = 40


def write(folder: Path, **changes: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    ends = rng.integers(0, NODES, (2, 300))
    ends = np.concatenate([ends, ends[:, :50], ends[::-1]], 1)  # unsorted, with repeats
    matrix = sparse.coo_matrix((np.ones(ends.shape[1], np.int64), (ends[0], ends[1])), (NODES, NODES))
    sparse.save_npz(folder / "reddit_graph.npz", matrix)
    arrays = {
        "feature": rng.standard_normal((NODES, 6)),
        "label": rng.integers(0, 41, NODES).astype(np.int32),
        "node_types": rng.permutation(np.repeat([1, 2, 3], [20, 8, 12])).astype(np.int32),
        "node_ids": np.arange(NODES),
    }
    np.savez(folder / "reddit_data.npz", **{**arrays, **changes})


def test_equals_pyg(tmp_path: Path) -> None:
    write(tmp_path / "Reddit" / "raw")
    theirs = Reddit(str(tmp_path / "Reddit"))[0]
    ours = read("reddit", tmp_path)
    assert_same(ours, theirs)
    assert ours.arrays["edge/edge_index"].dtype == torch.uint8  # as small as 40 nodes need
    assert [len(part) for part in (ours.split().train, ours.split().valid, ours.split().test)] == [20, 8, 12]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feature": np.zeros((3, 6))}, "reddit_data.npz has 3 rows for 40 nodes"),
        ({"label": np.zeros(3, np.int32)}, "reddit_data.npz has 3 rows for 40 nodes"),
        ({"label": np.full(NODES, 41)}, "classes from 41 to 41"),
        ({"feature": np.full((NODES, 2), "a")}, "reddit_data.npz: feature should hold numbers"),
    ],
)
def test_wrong_data_is_named(tmp_path: Path, changes: dict[str, np.ndarray], message: str) -> None:
    write(tmp_path / "reddit", **changes)
    with pytest.raises(DataError, match=message):
        read("reddit", tmp_path)


def test_wrong_graph_is_named(tmp_path: Path) -> None:
    write(tmp_path / "reddit")
    path = tmp_path / "reddit" / "reddit_graph.npz"
    np.savez(path, row=np.array([0, 50]), col=np.array([1, 2]), shape=np.array([NODES, NODES]), data=np.ones(2))
    with pytest.raises(DataError, match=r"reddit_graph\.npz does not hold a sparse matrix"):
        read("reddit", tmp_path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"reddit_graph\.npz"):
        read("reddit", tmp_path)
