"""What the readers of single graphs share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from geco.data.registry import find
from geco.data.sources._one_graph import csr, csr_edges, dense, single, split_of, tensor
from geco.errors import DataError


@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_edges_of_a_matrix_are_its_entries(nodes: int, density: float, seed: int) -> None:
    filled = np.random.default_rng(seed).random((nodes, nodes)) < density
    wanted = sparse.csr_matrix(filled)
    matrix = csr(Path("a.npz"), wanted.indptr, wanted.indices, np.array(wanted.shape))
    assert np.array_equal(csr_edges(matrix, Path("a.npz")).numpy(), np.argwhere(filled).T)
    assert np.array_equal(dense(matrix, Path("a.npz")), filled.astype(np.float32))


def test_tensor_of_a_read_only_array_does_not_share_it() -> None:
    array = np.arange(3)
    array.flags.writeable = False
    tensor(array, np.int64).add_(1)
    assert array.tolist() == [0, 1, 2]


def test_split_of_masks() -> None:
    mask = np.array([True, False, False])
    split = split_of(mask, mask[::-1], ~(mask | mask[::-1]))
    assert [split.train.tolist(), split.valid.tolist(), split.test.tolist()] == [[0], [2], [1]]


def test_labels_of_another_width_are_refused(tmp_path: Path) -> None:
    graph = {"x": torch.ones(2, 1), "edge_index": torch.zeros(2, 0, dtype=torch.int64), "y": torch.ones(2, 3)}
    with pytest.raises(DataError, match=r"labels of shape \(2, 3\), yelp has 100 a node"):
        single(find("yelp"), tmp_path, graph, [])


@pytest.mark.parametrize("value", [np.zeros(3), np.full((2, 2), "a"), None, "text"])
def test_what_is_no_matrix_is_refused(value: object) -> None:
    with pytest.raises(DataError, match=r"feats\.npy should hold a matrix"):
        dense(value, Path("feats.npy"))
