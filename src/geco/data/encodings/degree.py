"""Node degree as an encoding.

Shapes: N nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geco.data.encodings.base import Array, Encoding, undirected
from geco.errors import UsageError

__all__ = ["Degree"]


@dataclass(frozen=True)
class Degree(Encoding):
    """Number of neighbours of each node, in either direction; weights do not count, a self loop counts once.

    Args:
        max_degree: one-hot columns 0 to ``max_degree``, larger degrees in the last one (PyG's OneHotDegree fails on
            those), to be used as they are or as a degree embedding's input. None gives one column ``log(1 + degree)``,
            for degrees that spread over orders of magnitude.

    Example:
        >>> Degree(max_degree=2).compute(np.array([[0, 0, 0], [1, 2, 3]]), 4)
        array([[0., 0., 1.],
               [0., 1., 0.],
               [0., 1., 0.],
               [0., 1., 0.]], dtype=float32)
    """

    max_degree: int | None = None

    def __post_init__(self) -> None:
        if self.max_degree is not None and self.max_degree < 1:
            raise UsageError(f"max_degree must be at least 1, or None for one column; got {self.max_degree}")

    @property
    def name(self) -> str:
        """``degree``."""
        return "degree"

    @property
    def width(self) -> int:
        """``max_degree + 1``, or 1."""
        return 1 if self.max_degree is None else self.max_degree + 1

    def compute(self, edge_index: Array, num_nodes: int, edge_weight: Array | None = None) -> Array:
        """Return ``(N, max_degree + 1)`` or ``(N, 1)``."""
        degree: Array = np.diff(undirected(edge_index, num_nodes).indptr)
        if self.max_degree is None:
            return np.log1p(degree).astype(np.float32)[:, None]
        found: Array = np.minimum(degree, self.max_degree)[:, None] == np.arange(self.max_degree + 1)
        return found.astype(np.float32)

    def work(self, nodes: int, edges: int) -> float:
        """Some passes over the edges."""
        return 20.0 * (nodes + edges)

    def memory(self, nodes: int, edges: int) -> float:
        """The adjacency, twice."""
        return 80.0 * edges + 16.0 * nodes
