"""Reddit's raw files: written here, read by us and by PyG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.datasets import Reddit

from geco.errors import DataError
from tests.data.sources.comparison import assert_same, read
from tests.data.sources.layouts import REDDIT_NODES, write_reddit


def test_equals_pyg(tmp_path: Path) -> None:
    write_reddit(tmp_path / "Reddit" / "raw")
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
        ({"label": np.full(REDDIT_NODES, 41)}, "classes from 41 to 41"),
        ({"feature": np.full((REDDIT_NODES, 2), "a")}, "reddit_data.npz: feature should hold numbers"),
    ],
)
def test_wrong_data_is_named(tmp_path: Path, changes: dict[str, np.ndarray], message: str) -> None:
    write_reddit(tmp_path / "reddit", **changes)
    with pytest.raises(DataError, match=message):
        read("reddit", tmp_path)


def test_wrong_graph_is_named(tmp_path: Path) -> None:
    write_reddit(tmp_path / "reddit")
    path = tmp_path / "reddit" / "reddit_graph.npz"
    np.savez(
        path, row=np.array([0, 50]), col=np.array([1, 2]), shape=np.array([REDDIT_NODES, REDDIT_NODES]), data=np.ones(2)
    )
    with pytest.raises(DataError, match=r"reddit_graph\.npz does not hold a sparse matrix"):
        read("reddit", tmp_path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"reddit_graph\.npz"):
        read("reddit", tmp_path)
