"""What all encodings share: a recipe, a numpy function of the graph, and PyG's way to call it.

Shapes: N nodes, M directed edges, k columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse import csgraph
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from geco.errors import DataError, UsageError

__all__ = ["Array", "Encoding", "adjacency", "components", "fix_signs", "signs", "undirected"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Encoding(BaseTransform, ABC):  # type: ignore[misc]  # PyG has no types
    """An encoding of the nodes of one graph, as a PyG transform and as a recipe for `geco.data.encode`.

    Args:
        attr_name: where `forward` puts the result; None appends it to ``data.x``. It does not change the result and is
            not part of the recipe.
    """

    attr_name: str | None = field(default=None, kw_only=True)
    version: ClassVar[int] = 1  # raise it when the same parameters give another result
    ordinal: ClassVar[bool] = False  # `compute` takes node categories too and returns one whole number a node, (N,)

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the array in a data set: ``node/<name>``."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns k."""

    @abstractmethod
    def compute(self, edge_index: Array, num_nodes: int, edge_weight: Array | None = None) -> Array:
        """Return the encoding of one graph.

        Args:
            edge_index: ends of each edge, ``(2, M)`` integers.
            num_nodes: N.
            edge_weight: ``(M,)``, not negative; 1 if not given.

        Shapes: ``(N, k)`` float32.
        """

    @abstractmethod
    def work(self, nodes: int, edges: int) -> float:
        """Return about how many multiply-adds one graph takes."""

    @abstractmethod
    def memory(self, nodes: int, edges: int) -> float:
        """Return about how many bytes one graph needs at the peak, without the result."""

    def recipe(self) -> dict[str, Any]:
        """Return everything the result depends on besides the graph, in JSON's types."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "attr_name"}
        return {"name": type(self).__name__, "parameters": parameters, "version": self.version}

    def forward(self, data: Data) -> Data:
        """Return the graph with its encoding."""
        x, weight = data.x, data.edge_weight
        if self.attr_name is None and x is not None and not x.is_floating_point():
            raise UsageError(
                f"x holds categories ({x.dtype}), the encoding real numbers; give attr_name to keep them apart"
            )
        ends = data.edge_index.cpu().numpy()
        found = self.compute(ends, int(data.num_nodes), None if weight is None else weight.cpu().numpy().reshape(-1))
        value = torch.from_numpy(found).to(data.edge_index.device)
        if self.attr_name is not None:
            data[self.attr_name] = value
        elif x is None:
            data.x = value
        else:
            data.x = torch.cat([x.view(-1, 1) if x.dim() == 1 else x, value.to(x.dtype)], dim=-1)
        return data


def adjacency(edge_index: Array, num_nodes: int, edge_weight: Array | None = None, loops: bool = True) -> sp.csr_array:
    """Return A in float64, ``(N, N)``: parallel edges are added up.

    Example:
        >>> adjacency(np.array([[0, 0], [1, 1]]), 2).toarray()
        array([[0., 2.],
               [0., 0.]])
    """
    return _csr(*_entries(edge_index, num_nodes, edge_weight, loops), num_nodes)


def undirected(edge_index: Array, num_nodes: int, edge_weight: Array | None = None, loops: bool = True) -> sp.csr_array:
    """Return the symmetric adjacency ``max(A, Aᵀ)``: an edge given in one direction only counts in both.

    Example:
        >>> undirected(np.array([[0], [1]]), 2).toarray()
        array([[0., 1.],
               [1., 0.]])
    """
    key, weight = _entries(edge_index, num_nodes, edge_weight, loops)
    row, column = np.divmod(key, max(1, num_nodes))
    back = column * num_nodes + row
    both = np.union1d(key, back)
    there, turned = np.zeros(len(both)), np.zeros(len(both))
    there[np.searchsorted(both, key)] = weight
    turned[np.searchsorted(both, back)] = weight
    return _csr(both, np.maximum(there, turned), num_nodes)


def _entries(edge_index: Array, num_nodes: int, edge_weight: Array | None, loops: bool) -> tuple[Array, Array]:
    """Return the positions of A's entries, ``row N + column`` in order, and their values."""
    source, target = edge_index.astype(np.int64)
    if source.size and not 0 <= min(source.min(), target.min()) <= max(source.max(), target.max()) < num_nodes:
        raise DataError(f"edge_index names nodes outside 0 to {num_nodes - 1}")
    weight = np.ones(len(source)) if edge_weight is None else edge_weight.astype(np.float64)
    if edge_weight is not None and not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise DataError(
            "edge weights must be finite and not negative for an encoding; leave edge_weight out or make them so"
        )
    keep = (weight > 0) if loops else (weight > 0) & (source != target)
    key, place = np.unique((source * num_nodes + target)[keep], return_inverse=True)
    return key, np.bincount(place, weight[keep], len(key))


def _csr(key: Array, weight: Array, num_nodes: int) -> sp.csr_array:
    """Return the matrix of entries in order; directly, for SciPy's own way takes longer than a small graph's
    eigenvectors.
    """
    start = np.searchsorted(key, np.arange(num_nodes + 1) * num_nodes)
    return sp.csr_array((weight, key % max(1, num_nodes), start), (num_nodes, num_nodes))


def components(matrix: sp.csr_array) -> tuple[int, Array]:
    """Return the number of connected components and the component of each node, numbered by their first nodes."""
    count, label = csgraph.connected_components(matrix, directed=False)
    return int(count), label


def blocks(matrix: sp.csr_array, label: Array, least: int = 2) -> Iterator[tuple[Array, sp.csr_array]]:
    """Yield nodes and adjacency of each component that has at least so many nodes, in the order of the components."""
    size = np.bincount(label)
    if len(size) == 1:
        if size[0] >= least:
            yield np.arange(size[0]), matrix
        return
    order = np.argsort(label, kind="stable")
    sorted_ = matrix[order][:, order]
    end = size.cumsum()
    for stop, count in zip(end, size, strict=True):
        if count >= least:
            yield order[stop - count : stop], sorted_[stop - count : stop, stop - count : stop]


def signs(vectors: Array) -> Array:
    """Return 1 or -1 for each column: the sign of its largest entry, of the first one where several are as large."""
    if not vectors.size:
        return np.ones(vectors.shape[1])
    size = np.abs(vectors)
    first = (size >= (1 - 1e-6) * size.max(0)).argmax(0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def fix_signs(vectors: Array) -> Array:
    """Return the vectors ``(N, k)``, each with its largest entry positive.

    Example:
        >>> fix_signs(np.array([[0.6], [-0.8]]))
        array([[-0.6],
               [ 0.8]])
    """
    return vectors * signs(vectors)
