"""Relative encodings by low rank: a matrix over pairs of nodes becomes a few columns for each node.

A symmetric matrix R is approximated by ``U J Uᵀ`` with U ``(N, r)`` and signs J, from its eigenvalues of largest
modulus: ``U = V |Λ|^1/2``. U is appended to the features; no N x N matrix is made for large graphs.

Shapes: N nodes, r rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from geco.data.encodings.base import Array, Encoding, adjacency, fix_signs, signs, undirected
from geco.data.encodings.laplacian import smallest
from geco.data.encodings.shortest_paths import distances, landmark_pairs
from geco.data.encodings.spectrum import DENSE, ENVELOPE, largest
from geco.errors import UsageError

__all__ = ["AdjacencySVD", "Relative"]

Kind = Literal["adjacency", "shortest-path", "diffusion"]


@dataclass(frozen=True)
class AdjacencySVD(Encoding):
    """Truncated singular vectors of the adjacency ``A ≈ U S Vᵀ`` as ``[U S^1/2, V S^1/2]``: nodes as sources and as
    targets.

    The direction of edges counts, and so do weights and self loops. Each pair of vectors has U's largest entry
    positive; missing ranks are zero. The product of the two halves is the best approximation of A of rank k.

    Args:
        k: rank; 2k columns.

    Example:
        >>> found = AdjacencySVD(1).compute(np.array([[0], [1]]), 2)
        >>> found[:, :1] @ found[:, 1:].T
        array([[0., 1.],
               [0., 0.]], dtype=float32)
    """

    k: int = 8

    def __post_init__(self) -> None:
        _check_rank(self.k)

    @property
    def name(self) -> str:
        """``adj_svd``."""
        return "adj_svd"

    @property
    def width(self) -> int:
        """2k."""
        return 2 * self.k

    def compute(self, edge_index: Array, num_nodes: int, edge_weight: Array | None = None) -> Array:
        """Return ``(N, 2k)``."""
        matrix = adjacency(edge_index, num_nodes, edge_weight)
        left, values, right = _svd(matrix, self.k)
        scale = np.sqrt(values) * signs(left)
        return np.hstack([left * scale, right * scale]).astype(np.float32)

    def work(self, nodes: int, edges: int) -> float:
        """Dense for small graphs, 300 products with the adjacency for large ones."""
        return 15.0 * nodes**3 if nodes <= DENSE else 300.0 * (edges + nodes * (8 * self.k + 80))

    def memory(self, nodes: int, edges: int) -> float:
        """A few N x N matrices, or the Lanczos vectors."""
        return 120.0 * edges + (40.0 * nodes**2 if nodes <= DENSE else 32.0 * nodes * max(4 * self.k, 40))


@dataclass(frozen=True)
class Relative(Encoding):
    """The paper's relative encodings: a low-rank approximation of a matrix over pairs of nodes, one column for each
    rank.

    The graph is made undirected. Columns are ordered by modulus of the eigenvalue; missing ranks are zero. Kinds:

    - "adjacency": A with weights and self loops.
    - "shortest-path": number of edges between nodes; pairs without a path count one more than the largest distance
      there is. Up to 1,000 nodes from the whole matrix; beyond, from the distances to max(64, 4 rank) landmarks (see
      `landmark_pairs`).
    - "diffusion": heat kernel ``exp(-t L)`` of the symmetric normalised Laplacian, from its smallest eigenpairs.

    Args:
        kind: which matrix.
        rank: number of columns.
        time: t of the heat kernel; 0 < t.

    Example:
        >>> path = np.array([[0, 1], [1, 2]])
        >>> u = Relative("diffusion", rank=3).compute(path, 3)
        >>> u.shape, bool((u @ u.T >= 0).all())  # all ranks: the heat kernel itself
        ((3, 3), True)
    """

    kind: Kind = "adjacency"
    rank: int = 8
    time: float = 5.0

    def __post_init__(self) -> None:
        _check_rank(self.rank)
        if self.kind not in get_args(Kind) or not self.time > 0:
            kinds = ", ".join(get_args(Kind))
            raise UsageError(f"kind must be one of {kinds} and time positive, got {self.kind!r} and {self.time}")

    @property
    def name(self) -> str:
        """``rel_adjacency``, ``rel_shortest_path`` or ``rel_diffusion``."""
        return "rel_" + self.kind.replace("-", "_")

    @property
    def width(self) -> int:
        """Rank."""
        return self.rank

    def compute(self, edge_index: Array, num_nodes: int, edge_weight: Array | None = None) -> Array:
        """Return ``(N, rank)``."""
        matrix = undirected(edge_index, num_nodes, edge_weight)
        if self.kind == "diffusion":
            matrix.setdiag(0.0)
            matrix.eliminate_zeros()
            values, vectors = smallest(matrix, "sym", self.rank)
            values = np.exp(-self.time * values)
        elif self.kind == "adjacency" or num_nodes == 0:
            values, vectors = largest(matrix, self.rank)
        elif num_nodes <= DENSE:
            values, vectors = largest(sp.csr_array(distances(matrix, np.arange(num_nodes)).T), self.rank)
        else:
            values, vectors = landmark_pairs(matrix, self.rank)
        found = fix_signs(vectors) * np.sqrt(np.abs(values))
        return np.pad(found, ((0, 0), (0, self.rank - found.shape[1]))).astype(np.float32)

    def work(self, nodes: int, edges: int) -> float:
        """Dense for small graphs; products with the adjacency or searches from landmarks for large ones."""
        if nodes <= DENSE:
            return 5.0 * nodes**3 + 5.0 * nodes * edges
        return max(1000.0, 80.0 * self.rank) * (edges + nodes * (4 * self.rank + 40))

    def memory(self, nodes: int, edges: int) -> float:
        """A few N x N matrices, or the Lanczos vectors or distances."""
        columns = max(64, 4 * self.rank) * 24.0 + (24.0 * ENVELOPE if self.kind == "diffusion" else 0.0)
        return 120.0 * edges + (40.0 * nodes**2 if nodes <= DENSE else columns * nodes)


rel_adjacency = partial(Relative, "adjacency")
rel_shortest_path = partial(Relative, "shortest-path")
rel_diffusion = partial(Relative, "diffusion")


def _check_rank(rank: int) -> None:
    if rank < 1:
        raise UsageError(f"the rank must be at least 1, got {rank}")


def _svd(matrix: sp.csr_array, k: int) -> tuple[Array, Array, Array]:
    """Return the k largest singular triples, padded with zeros: ``(N, k)``, ``(k,)``, ``(N, k)``."""
    nodes = matrix.shape[0]
    if nodes and (matrix != matrix.T).nnz == 0:
        values, vectors = largest(matrix, k)  # ±λ of a bipartite graph stay apart
        return vectors, np.abs(values), vectors * np.where(values < 0, -1.0, 1.0)
    if nodes <= max(DENSE, 2 * k + 1):
        left, values, right = (
            scipy.linalg.svd(matrix.toarray()) if nodes else (np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)))
        )
        pad = ((0, 0), (0, max(0, k - nodes)))
        return np.pad(left[:, :k], pad), np.pad(values[:k], pad[1]), np.pad(right[:k].T, pad)
    values, vectors = largest(
        sp.block_array([[None, matrix], [matrix.T, None]], format="csr"), 2 * k
    )  # each σ twice, as ±σ
    vectors = vectors[:, values > 0][:, :k] * np.sqrt(2.0)
    values = values[values > 0][:k]
    pad = ((0, 0), (0, k - len(values)))
    return np.pad(vectors[:nodes], pad), np.pad(values, pad[1]), np.pad(vectors[nodes:], pad)
