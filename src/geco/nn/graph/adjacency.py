r"""The normalised adjacency :math:`\hat A` of the local propagation block, checked and built once per graph.

Shapes: N nodes, M edges, D channels. Row = target, column = source, as in PyG's ``adj_t``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import torch
from torch import Tensor

from geco.nn.functional import propagate, row_starts
from geco.nn.graph.remembered import Remembered
from geco.nn.resolve import check_name

__all__ = ["Adjacency", "Normalisation", "adjacency", "endpoints", "matrix", "traced_adjacency"]

Normalisation = Literal["sym", "row", "none"]
Matrix = tuple[Tensor, Tensor, Tensor]  # CSR: where rows start, columns, values


@dataclass(frozen=True)
class Adjacency:
    r"""Sparse :math:`\hat A` with its transpose; ``adj @ x`` is differentiable in x, and in the edge weights if they
    are.

    Args:
        source: source of each edge, ``(M,)``.
        target: target of each edge, ``(M,)``.
        value: normalised weight of each edge, ``(M,)``.
        forward: the matrix in CSR, ``(crow, col, value)``; None to gather and scatter, which autograd and export know.
        transpose: its transpose in CSR.
    """

    source: Tensor
    target: Tensor
    value: Tensor
    forward: Matrix | None = None
    transpose: Matrix | None = None

    def reached(self, x: Tensor) -> Tensor:
        """Return the rows that `source` counts, of which the first are those that `target` does: x itself."""
        return x

    def __matmul__(self, x: Tensor) -> Tensor:
        if self.forward is None or self.transpose is None:
            messages = x[self.source] * self.value.to(x.dtype).unsqueeze(1)
            return torch.zeros_like(x).index_add(0, self.target, messages)
        crow, col, value = self.forward
        crow_t, col_t, value_t = self.transpose
        return propagate(crow, col, value.to(x.dtype), (crow_t, col_t, value_t.to(x.dtype)), x)


_cache = Remembered[Adjacency]()


def adjacency(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    normalisation: Normalisation = "sym",
    dtype: torch.dtype = torch.float32,
) -> Adjacency:
    r"""Check a graph's edges and return its :math:`\hat A`; the same tensors give the same object back.

    ``sym`` is :math:`D^{-1/2} A D^{-1/2}`, ``row`` is :math:`D^{-1} A`, ``none`` is A itself, with D the row sums of A
    (row = target). A node of degree 0 gets 0. No self loops are added, duplicate edges add up.

    Args:
        edge_index: ``(2, M)`` source and target of each edge, a PyG ``EdgeIndex``, or an ``(N, N)`` torch sparse tensor
            whose rows are targets.
        num_nodes: N.
        edge_weight: ``(M,)`` or None for ones.
        normalisation: ``sym``, ``row`` or ``none``.
        dtype: of what it is multiplied with; values are at least as exact, so that float64 loses nothing.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> adjacency(edges, 3) @ torch.eye(3)
        tensor([[0.0000, 0.7071, 0.0000],
                [0.7071, 0.0000, 0.7071],
                [0.0000, 0.7071, 0.0000]])
    """
    check_name("adjacency", normalisation, get_args(Normalisation))
    dtype = torch.promote_types(dtype, _given(edge_index, edge_weight))
    if edge_weight is not None and edge_weight.requires_grad:
        return _build(edge_index, num_nodes, edge_weight, normalisation, dtype)
    build = partial(_build, edge_index, num_nodes, edge_weight, normalisation, dtype)
    return _cache.get(edge_index, edge_weight, (num_nodes, normalisation, dtype), build)


def traced_adjacency(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None,
    normalisation: Normalisation,
    dtype: torch.dtype = torch.float32,
) -> Adjacency:
    """Return the adjacency in operators that `torch.export` can trace: no checks, no memory of earlier calls."""
    source, target = edge_index[0], edge_index[1]
    dtype = torch.promote_types(dtype, _given(edge_index, edge_weight))
    weight = torch.ones_like(source, dtype=dtype) if edge_weight is None else edge_weight.to(dtype)
    return Adjacency(source, target, _normalise(source, target, weight, num_nodes, normalisation))


def _given(edge_index: Tensor, edge_weight: Tensor | None) -> torch.dtype:
    """Return the precision of the weights as they come: beside the edges, in a sparse matrix, or ones."""
    if edge_weight is not None:
        return edge_weight.dtype
    return torch.get_default_dtype() if edge_index.layout == torch.strided else edge_index.dtype


def _build(
    edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None, normalisation: Normalisation, dtype: torch.dtype
) -> Adjacency:
    source, target, weight = endpoints(edge_index, num_nodes, edge_weight)
    value = _normalise(source, target, weight.to(dtype), num_nodes, normalisation)
    if value.requires_grad:
        return Adjacency(source, target, value)
    return Adjacency(source, target, value, *matrix(source, target, value, num_nodes, num_nodes))


def matrix(source: Tensor, target: Tensor, value: Tensor, rows: int, columns: int) -> tuple[Matrix, Matrix]:
    """Return the matrix of these edges, with a row for each target and a column for each source, and its transpose.

    Example:
        >>> matrix(torch.tensor([2]), torch.tensor([0]), torch.ones(1), 1, 3)[0]
        (tensor([0, 1], dtype=torch.int32), tensor([2], dtype=torch.int32), tensor([1.]))
    """
    index = torch.int32 if max(rows, columns, source.numel()) < 2**31 else torch.int64
    return _csr(target, source, value, rows, index), _csr(source, target, value, columns, index)


def endpoints(edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Check a graph's edges and return their sources, targets and weights, ``(M,)`` each."""
    if edge_index.layout != torch.strided:
        return _sparse_edges(edge_index, num_nodes, edge_weight)
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"edge_index must be an integer tensor of shape (2, M), got {edge_index.dtype} {tuple(edge_index.shape)}"
            + ("; transpose it" if edge_index.dim() == 2 and edge_index.shape[1] == 2 else "")
        )
    edges = edge_index.detach().as_subclass(Tensor).long()
    if edges.numel():
        low, high = (int(v) for v in torch.aminmax(edges))
        if low < 0 or high >= num_nodes:
            raise ValueError(
                f"edge_index holds node {low if low < 0 else high}, but x has {num_nodes} nodes (0 to "
                f"{num_nodes - 1}); "
                "check that x and edge_index belong together"
            )
    if edge_weight is None:
        return edges[0], edges[1], torch.ones(edges.shape[1], device=edges.device)
    _check_weight(edge_weight, edges)
    return edges[0], edges[1], edge_weight


def _sparse_edges(adj: Tensor, num_nodes: int, edge_weight: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    if tuple(adj.shape) != (num_nodes, num_nodes):
        raise ValueError(f"a sparse adjacency must be (N, N) = ({num_nodes}, {num_nodes}), got {tuple(adj.shape)}")
    if edge_weight is not None:
        raise ValueError("edge_weight was given beside a sparse adjacency; put the weights into its values")
    coo = adj.to_sparse_coo().coalesce()
    _check_weight(coo.values(), coo.indices())
    return coo.indices()[1], coo.indices()[0], coo.values()


def _check_weight(weight: Tensor, edges: Tensor) -> None:
    if weight.dim() != 1 or weight.shape[0] != edges.shape[1] or not weight.is_floating_point():
        raise ValueError(
            f"edge_weight must be a float tensor of shape ({edges.shape[1]},), one per edge, "
            f"got {weight.dtype} {tuple(weight.shape)}"
        )
    if weight.device != edges.device:
        raise ValueError(f"edge_weight is on {weight.device}, edge_index on {edges.device}; move both to one device")
    bad = int((~torch.isfinite(weight.detach())).sum())
    if bad:
        first = int((~torch.isfinite(weight.detach())).nonzero()[0])
        raise ValueError(f"edge_weight has {bad} NaN or infinite values, the first at edge {first}")


def _normalise(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int, normalisation: Normalisation) -> Tensor:
    if normalisation == "none":
        return weight
    degree = weight.new_zeros(num_nodes).index_add(0, target, weight)
    if normalisation == "row":
        return weight * _power(degree, -1.0)[target]
    if not (torch.compiler.is_exporting() or degree.is_meta) and bool((degree < 0).any()):
        lowest = float(degree.detach().min())
        raise ValueError(
            f"adjacency='sym' needs sums of the weights into each node that are not negative, got {lowest:.3g}; use "
            "adjacency='none' (--model.adjacency none)"
        )
    scale = _power(degree, -0.5)
    return scale[target] * weight * scale[source]


def _power(degree: Tensor, exponent: float) -> Tensor:
    """Return degree ** exponent, and 0 where the degree is 0 (with a gradient of 0, never NaN)."""
    isolated = degree == 0
    return degree.masked_fill(isolated, 1.0).pow(exponent).masked_fill(isolated, 0.0)


def _csr(row: Tensor, col: Tensor, value: Tensor, num_nodes: int, index: torch.dtype) -> Matrix:
    order = torch.argsort(row, stable=True)
    return row_starts(row, num_nodes).to(index), col[order].to(index), value[order]
