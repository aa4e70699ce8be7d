from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from geco.data.encodings import AdjacencySVD, Relative, relative, spectrum
from tests.data.encodings.graphs import Ends, best_error, dense, dense_laplacian, graphs, hops, random_graph, ring


def directed(ends: Ends, nodes: int) -> np.ndarray:
    found = np.zeros((nodes, nodes))
    np.add.at(found, (ends[0], ends[1]), 1)
    return found


def error(matrix: np.ndarray, found: np.ndarray) -> float:
    """Error of the best U diag(c) Uᵀ, whose c the encoding's signs J are part of."""
    columns = np.stack([np.outer(u, u).ravel() for u in found.T.astype(float)], 1)
    return float(np.linalg.norm(columns @ np.linalg.lstsq(columns, matrix.ravel(), rcond=None)[0] - matrix.ravel()))


@given(graphs(), st.integers(1, 14))
def test_svd_error_is_optimal(graph: tuple[Ends, int], k: int) -> None:
    matrix = directed(*graph)
    found = AdjacencySVD(k).compute(*graph).astype(float)
    assert np.linalg.norm(found[:, :k] @ found[:, k:].T - matrix) == pytest.approx(best_error(matrix, k), abs=1e-5)
    assert not found[:, graph[1] : k].any()


@pytest.mark.parametrize(
    "ends", [random_graph(200, 6), np.hstack([ring(200), ring(200)[::-1]])], ids=["directed", "bipartite"]
)
def test_large_svd_agrees(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = AdjacencySVD(5).compute(ends, 200)
    monkeypatch.setattr(relative, "DENSE", 5)
    monkeypatch.setattr(spectrum, "DENSE", 5)
    found = AdjacencySVD(5).compute(ends, 200)
    assert np.array_equal(found, AdjacencySVD(5).compute(ends, 200))
    lost = [np.linalg.norm(u[:, :5] @ u[:, 5:].T - directed(ends, 200)) for u in (found, exact)]
    assert lost[0] == pytest.approx(lost[1], rel=1e-5)


@given(graphs(), st.integers(1, 6))
def test_adjacency_and_paths_are_best_approximations(graph: tuple[Ends, int], rank: int) -> None:
    for kind, matrix in (("adjacency", dense(*graph)), ("shortest-path", hops(*graph))):
        found = Relative(kind, rank).compute(*graph)
        assert error(matrix, found) <= best_error(matrix, rank) + 1e-3


@given(graphs())
def test_diffusion_of_all_ranks_is_the_heat_kernel(graph: tuple[Ends, int]) -> None:
    ends, nodes = graph
    found = Relative("diffusion", nodes, time=0.7).compute(ends, nodes)
    assert np.allclose(found @ found.T, scipy.linalg.expm(-0.7 * dense_laplacian(ends, nodes, "sym")), atol=1e-5)


def test_diffusion_of_few_ranks_is_the_best_approximation() -> None:
    ends = random_graph(60, 5)
    found = Relative("diffusion", 6, time=2.0).compute(ends, 60).astype(float)
    matrix = scipy.linalg.expm(-2.0 * dense_laplacian(ends, 60, "sym"))
    assert np.linalg.norm(found @ found.T - matrix) == pytest.approx(best_error(matrix, 6), rel=1e-4)


@pytest.mark.parametrize("kind", ["adjacency", "diffusion"])
def test_large_path_agrees(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.hstack([random_graph(300, 7), 300 + random_graph(100, 9)])
    exact = Relative(kind, 4).compute(ends, 400)
    for module in (relative, spectrum):
        monkeypatch.setattr(module, "DENSE", 5)
    assert np.allclose(Relative(kind, 4).compute(ends, 400), exact, atol=1e-4)


def test_large_shortest_path_goes_over_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relative, "DENSE", 5)
    found = Relative("shortest-path", 4).compute(ring(300), 300)
    assert error(hops(ring(300), 300), found) < 1.1 * best_error(hops(ring(300), 300), 4)
    assert np.array_equal(found, Relative("shortest-path", 4).compute(ring(300), 300))
