"""Laplacian eigenvectors as node positions, and the random signs they get in training.

Shapes: N nodes, k columns, B graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import scipy.sparse as sp

from geco.data.encodings.base import Array, Encoding, blocks, components, fix_signs, undirected
from geco.data.encodings.spectrum import DENSE, ENVELOPE, kernel, nontrivial
from geco.errors import UsageError

__all__ = ["LaplacianEigenvectors", "smallest"]


@dataclass(frozen=True)
class LaplacianEigenvectors(Encoding):
    """Eigenvectors of the k smallest eigenvalues of the graph Laplacian, each of norm one with its largest entry
    positive.

    The graph is made undirected and loses its self loops. A node without edges has eigenvalue 0. What is missing in
    small graphs is zero. Beyond 1,000 nodes Lanczos takes over from LAPACK, with a line if it does not converge.

    PyG's AddLaplacianEigenvectorPE is ``per_component=False`` (up to signs); GraphGPS's LapPE on the LRGB sets is
    ``LaplacianEigenvectors(10, "none", skip_first=False, with_values=True, per_component=False)``.

    Args:
        k: number of eigenvectors.
        normalization: "sym" for ``I - D^-1/2 A D^-1/2``, "none" for ``D - A``.
        skip_first: leave out the first eigenvector, which is constant up to degrees, and so take the k after it.
        with_values: append each eigenvector's eigenvalue, the same for all its nodes: 2k columns.
        per_component: take k eigenvectors of each connected component, so that many components do not use up the
            columns and a component's encoding depends on itself alone. False takes the k smallest of the whole graph;
            each of those is still zero outside one component.

    Example:
        >>> ring = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
        >>> LaplacianEigenvectors(1, "none", skip_first=False).compute(ring, 4).ravel()
        array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """

    k: int = 10
    normalization: Literal["sym", "none"] = "sym"
    skip_first: bool = True
    with_values: bool = False
    per_component: bool = True

    def __post_init__(self) -> None:
        if self.k < 1 or self.normalization not in ("sym", "none"):
            raise UsageError(
                f"k must be at least 1 and normalization 'sym' or 'none', got {self.k} and {self.normalization!r}"
            )

    @property
    def name(self) -> str:
        """``lap_pe``, or with eigenvalues ``lap_pe_values``."""
        return "lap_pe_values" if self.with_values else "lap_pe"

    @property
    def width(self) -> int:
        """K, or 2k with values."""
        return 2 * self.k if self.with_values else self.k

    def compute(self, edge_index: Array, num_nodes: int, edge_weight: Array | None = None) -> Array:
        """Return ``(N, k)``, or ``(N, 2k)`` with values."""
        matrix = undirected(edge_index, num_nodes, edge_weight, loops=False)
        values, vectors = np.zeros((num_nodes, self.k)), np.zeros((num_nodes, self.k))
        if self.per_component:
            self._each(matrix, values, vectors)
        else:
            found = smallest(matrix, self.normalization, self.k + self.skip_first)
            count = min(self.k, len(found[0]) - self.skip_first)
            values[:, :count], vectors[:, :count] = (
                found[0][self.skip_first :],
                fix_signs(found[1][:, self.skip_first :]),
            )
        return (np.hstack([vectors, values]) if self.with_values else vectors).astype(np.float32)

    def work(self, nodes: int, edges: int) -> float:
        """About 4/3 N³ dense, 1,000 products with the adjacency otherwise."""
        return 2.0 * nodes**3 if nodes <= DENSE else 1000.0 * (edges + nodes * (4 * self.k + 40))

    def memory(self, nodes: int, edges: int) -> float:
        """A few N x N matrices, or the Lanczos vectors and a factor."""
        lanczos = nodes * (16.0 * max(4 * self.k, 40) + 24 * ENVELOPE)
        return 80.0 * edges + (24.0 * nodes**2 if nodes <= DENSE else lanczos)

    def _each(self, matrix: sp.csr_array, values: Array, vectors: Array) -> None:
        """Fill in the eigenpairs of each component."""
        start = 0 if self.skip_first else 1
        if start:
            vectors[:, 0] = 1.0  # of nodes that are components themselves
        for nodes, block in blocks(matrix, components(matrix)[1]):
            found = nontrivial(block, self.normalization, self.k - start)
            stop = start + len(found[0])
            if start:
                vectors[nodes, 0] = kernel(block, self.normalization)
            values[nodes, start:stop] = found[0]
            vectors[nodes, start:stop] = fix_signs(found[1])


as_in_graphgps = partial(  # with eigenvalues, of the plain Laplacian
    LaplacianEigenvectors,
    normalization="none",
    skip_first=False,
    with_values=True,
    per_component=False,
)


def smallest(matrix: sp.csr_array, normalization: str, k: int) -> tuple[Array, Array]:
    """Return the k smallest eigenpairs of a Laplacian, each zero outside one component; equal values by component.

    Shapes: ``(m,)`` and ``(N, m)`` with ``m = min(k, N)``.
    """
    nodes = matrix.shape[0]
    count, label = components(matrix)
    values, parts = [np.zeros(count)], []
    for own, block in blocks(matrix, label, least=1):
        found = nontrivial(block, normalization, k - count)  # the components' first vectors take precedence
        values.append(found[0])
        parts.append((own, np.column_stack([kernel(block, normalization), found[1]])))
        if len(parts) == k and count >= k:
            break
    # columns in the order of ``values``: first vectors of all components, then the others, component by component
    column = [(i, 0) for i in range(len(parts))]
    column += [(i, j) for i, (_, part) in enumerate(parts) for j in range(1, part.shape[1])]
    flat = np.concatenate([values[0][: len(parts)], *values[1:]])
    chosen = np.argsort(flat, kind="stable")[:k]
    vectors = np.zeros((nodes, len(chosen)))
    for place, index in enumerate(chosen):
        i, j = column[index]
        vectors[parts[i][0], place] = parts[i][1][:, j]
    return flat[chosen], vectors
