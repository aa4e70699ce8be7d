from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.transforms import AddRandomWalkPE

from geco.data.encodings import RandomWalk
from tests.data.encodings.graphs import Ends, dense, graphs, random_graph, ring


def reference(ends: Ends, nodes: int, steps: int) -> np.ndarray:
    matrix = dense(ends, nodes)
    walk = matrix / np.maximum(matrix.sum(1, keepdims=True), 1e-300)
    return np.stack([np.diag(np.linalg.matrix_power(walk, t)) for t in range(1, steps + 1)], 1)


@given(graphs(), st.integers(1, 9))
def test_equals_matrix_powers(graph: tuple[Ends, int], steps: int) -> None:
    assert np.allclose(RandomWalk(steps).compute(*graph), reference(*graph, steps), atol=1e-6)


@given(graphs(20), st.integers(1, 16))
def test_equals_pyg(graph: tuple[Ends, int], steps: int) -> None:
    ends, nodes = graph
    both = np.unique(np.hstack([ends, ends[::-1]]), axis=1)
    theirs = AddRandomWalkPE(steps, attr_name="pe")(Data(edge_index=torch.from_numpy(both), num_nodes=nodes)).pe.numpy()
    assert np.allclose(RandomWalk(steps).compute(both, nodes), theirs, atol=1e-5)


def test_more_nodes_than_columns_at_a_time() -> None:
    ends = random_graph(300, 4)
    assert np.allclose(RandomWalk(7).compute(ends, 300), reference(ends, 300, 7), atol=1e-6)


@given(graphs(), st.integers(1, 9))
def test_estimate_is_within_its_error(graph: tuple[Ends, int], steps: int) -> None:
    probes = 4096
    exact = reference(*graph, steps + 1)
    found = RandomWalk(steps, budget=-1, probes=probes).compute(*graph)
    _assert_within(found, exact, *graph, probes, sigmas=6)


def test_estimate_on_a_larger_graph() -> None:
    ends = np.hstack([random_graph(400, 5), 400 + ring(60)])
    exact = reference(ends, 460, 17)
    found = RandomWalk(16, budget=-1).compute(ends, 460)
    assert np.array_equal(found, RandomWalk(16, budget=-1).compute(ends, 460))
    assert not np.array_equal(found, RandomWalk(16, budget=-1, seed=1).compute(ends, 460))
    _assert_within(found, exact, ends, 460, 256, sigmas=6)
    beyond = exact[:, 3:16:2] - _limit(ends, 460)[:, None]  # of steps 4, 6, ...
    error = (found - exact[:, :16])[:, 3::2][beyond > 1e-4] / beyond[beyond > 1e-4]
    size = float(np.sqrt((error**2).mean()))
    assert 0.2 * np.sqrt(2 / 256) < size < 1.1 * np.sqrt(2 / 256)  # as stated, and not idly so


def _limit(ends: Ends, nodes: int) -> np.ndarray:
    from geco.data.encodings.base import components, undirected

    degree, label = dense(ends, nodes).sum(1), components(undirected(ends, nodes))[1]
    return degree / np.maximum(np.bincount(label, degree)[label], 1e-300)


def _assert_within(found: np.ndarray, exact: np.ndarray, ends: Ends, nodes: int, probes: int, sigmas: float) -> None:
    """Compare with the stated standard error; ``exact`` has one step more than ``found``."""
    beyond = np.maximum(exact - _limit(ends, nodes)[:, None], 0)
    for t in range(1, found.shape[1] + 1):
        size = beyond[:, t - 1] if t % 2 == 0 else np.sqrt((beyond[:, t - 2] if t > 1 else 1.0) * beyond[:, t])
        error = np.abs(found[:, t - 1] - exact[:, t - 1])
        assert (error <= (0 if t < 3 else sigmas) * np.sqrt(2 / probes) * size + 1e-5).all()
