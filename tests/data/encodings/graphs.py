"""Graphs the encodings are tried on, and dense float64 references."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csgraph

Ends = NDArray[np.int64]


@st.composite
def graphs(draw: st.DrawFn, most: int = 12) -> tuple[Ends, int]:
    """Directed edges with repeats and self loops; often disconnected, sometimes without edges."""
    nodes = draw(st.integers(1, most))
    pairs = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), max_size=3 * nodes))
    return np.array(pairs, np.int64).reshape(-1, 2).T, nodes


def dense(ends: Ends, nodes: int, loops: bool = True) -> NDArray[np.float64]:
    """max(A, Aᵀ) with repeated edges added up."""
    found = np.zeros((nodes, nodes))
    for i, j in ends.T:
        found[i, j] += 1
    if not loops:
        np.fill_diagonal(found, 0)
    return np.maximum(found, found.T)


def dense_laplacian(ends: Ends, nodes: int, normalization: str) -> NDArray[np.float64]:
    matrix = dense(ends, nodes, loops=False)
    degree = matrix.sum(1)
    if normalization == "none":
        return np.diag(degree) - matrix
    scale = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1e-9)), 0)
    return np.diag((degree > 0).astype(float)) - scale[:, None] * matrix * scale


def hops(ends: Ends, nodes: int) -> NDArray[np.float64]:
    """Edges between all nodes; where there is no path, the largest number plus 1."""
    found = csgraph.floyd_warshall(dense(ends, nodes) > 0, directed=False, unweighted=True)
    return np.where(np.isinf(found), found[np.isfinite(found)].max() + 1, found)


def best_error(matrix: NDArray[np.float64], rank: int) -> float:
    """Error of the best approximation of a rank."""
    return float(np.linalg.norm(np.linalg.svd(matrix)[1][rank:]))


def ring(nodes: int) -> Ends:
    first = np.arange(nodes)
    return np.stack([first, (first + 1) % nodes])


def star_of_paths(arms: int, length: int) -> Ends:
    """Equal arms: eigenvalues that occur many times."""
    places = 1 + np.arange(arms * length).reshape(arms, length)
    inner = np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()])
    return np.hstack([inner, np.stack([np.zeros(arms, np.int64), places[:, 0]])])


def random_graph(nodes: int, degree: int, seed: int = 0) -> Ends:
    return np.random.default_rng(seed).integers(0, nodes, (2, nodes * degree // 2))
