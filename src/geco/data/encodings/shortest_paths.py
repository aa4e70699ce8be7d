"""Shortest-path distances of small graphs, and their approximation from landmarks in large ones.

Shapes: N nodes, m landmarks, r rank.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csgraph

from geco.data.encodings.base import Array

__all__ = ["distances", "landmark_pairs", "landmarks"]


def distances(matrix: sp.csr_array, sources: Sequence[int] | Array) -> Array:
    """Return the number of edges from the sources to all nodes, ``(N, S)``; where there is no path, the largest one
    plus 1.
    """
    found = csgraph.dijkstra(matrix, directed=False, indices=sources, unweighted=True).T
    return _reachable(found)


def landmarks(matrix: sp.csr_array, count: int) -> tuple[list[int], Array]:
    """Return spread nodes and the distances to them.

    The first is the node of most edges, each other the one farthest from those before; of several the first.

    Shapes: m numbers and ``(N, m)``.
    """
    chosen: list[int] = []
    found: list[Array] = []
    after = int(np.diff(matrix.indptr).argmax())
    nearest = np.full(matrix.shape[0], np.inf)
    for _ in range(count):
        chosen.append(after)
        found.append(csgraph.dijkstra(matrix, directed=False, indices=after, unweighted=True))
        nearest = np.minimum(nearest, found[-1])
        after = int(nearest.argmax())
    return chosen, _reachable(np.column_stack(found))


def landmark_pairs(matrix: sp.csr_array, rank: int) -> tuple[Array, Array]:
    """Return approximate eigenpairs of the distance matrix, of largest modulus.

    The columns of distances to ``m = max(64, 4 r)`` landmarks give a basis Q of 2r vectors. ``Q X Qᵀ`` is then fitted
    to the distances among the landmarks, twice as many as basis vectors in each direction, so that the fit is well
    determined. On rings, grids and trees of 900 nodes its error is at most 1.3 times that of the best approximation of
    the same rank.

    Shapes: ``(r,)`` and ``(N, r)``.
    """
    chosen, far = landmarks(matrix, min(matrix.shape[0], max(64, 4 * rank)))
    basis = np.linalg.svd(far, full_matrices=False)[0][:, : 2 * rank]
    fit = np.linalg.pinv(basis[chosen])
    values, turn = scipy.linalg.eigh(fit @ far[chosen] @ fit.T)
    order = np.argsort(-np.abs(values), kind="stable")[:rank]
    return values[order], basis @ turn[:, order]


def _reachable(found: Array) -> Array:
    return np.where(np.isinf(found), found[np.isfinite(found)].max(initial=0.0) + 1, found)
