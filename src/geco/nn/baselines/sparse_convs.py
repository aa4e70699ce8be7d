r"""PyG's `GCNConv`, `SAGEConv` and `GATConv`, weights and results as they are, with the sum over edges as sparse
products.

PyG gathers a message for every edge and scatters them; on a CPU that is many times slower than the product with the
adjacency in CSR that GECO's own local block uses, and baselines should not lose time to it.

Shapes: N nodes, M edges, C input channels, D channels, H heads, L pairs of neighbours, each node and itself
among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from geco.nn.functional import csr, row_starts, segment_matmul
from geco.nn.graph.adjacency import adjacency
from geco.nn.graph.remembered import Remembered
from geco.nn.ops.global_context import refuse_second_derivatives

__all__ = ["SparseGATConv", "SparseGCNConv", "SparseSAGEConv", "gcn_steps"]


def gcn_steps(h: Tensor, edge_index: Tensor) -> Iterator[Tensor]:
    r"""Yield :math:`\tilde H_1, \tilde H_2, \dots`, ``(N, D)`` each, where
    :math:`\tilde H_s = (\tilde D^{-1/2} \tilde A \tilde D^{-1/2})^s H` and :math:`\tilde A` is A with exactly one self
    loop at every node.

    >>> next(gcn_steps(torch.eye(3), torch.tensor([[0, 1], [1, 0]])))
    tensor([[0.5000, 0.5000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """
    adj = adjacency(edge_index, len(h), norm="none")
    loops = edge_index[0][edge_index[0] == edge_index[1]]
    missing = 1 - torch.bincount(loops, minlength=len(h)).to(h.dtype).unsqueeze(1)  # (N, 1)
    scale = (torch.bincount(edge_index[1], minlength=len(h)).to(h.dtype).unsqueeze(1) + missing).rsqrt()
    while True:
        h = scale * h
        h = scale * (adj @ h + missing * h)
        yield h


class SparseGCNConv(GCNConv):  # type: ignore[misc]
    r"""Graph convolution :math:`\tilde D^{-1/2} \tilde A \tilde D^{-1/2} X W + b`, where :math:`\tilde A` is A with
    exactly one self loop at every node.

    Args:
        in_channels: C.
        out_channels: D.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> x, conv = torch.randn(3, 5), SparseGCNConv(5, 8)
        >>> bool(torch.allclose(conv(x, edges), GCNConv.forward(conv, x, edges), atol=1e-6))
        True
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return a row per node."""
        if self.explain or torch.compiler.is_exporting():  # PyG's own sum knows masks of edges, and can be traced
            return super().forward(x, edge_index)  # type: ignore[no-any-return]
        out: Tensor = next(gcn_steps(self.lin(x), edge_index)) + self.bias
        return out


class SparseSAGEConv(SAGEConv):  # type: ignore[misc]
    r"""GraphSAGE with the mean over neighbours, :math:`D^{-1} A X W_1 + b + X W_2`.

    Args:
        in_channels: C.
        out_channels: D.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> x, conv = torch.randn(3, 5), SparseSAGEConv(5, 8)
        >>> bool(torch.allclose(conv(x, edges), SAGEConv.forward(conv, x, edges), atol=1e-6))
        True
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return a row per node."""
        if self.explain or torch.compiler.is_exporting():
            return super().forward(x, edge_index)  # type: ignore[no-any-return]
        count = torch.bincount(edge_index[1], minlength=len(x)).clamp(min=1).to(x.dtype).unsqueeze(1)  # (N, 1)
        out: Tensor = self.lin_l(adjacency(edge_index, len(x), norm="none") @ x / count) + self.lin_r(x)
        return out


class SparseGATConv(GATConv):  # type: ignore[misc]
    r"""Graph attention: head h of node i is :math:`\sum_j \alpha_{ij} W_h x_j` over its neighbours and itself, with
    :math:`\alpha_{ij} = \mathrm{softmax}_j(\mathrm{LeakyReLU}(a_h \cdot W_h x_j + b_h \cdot W_h x_i))`.

    Args:
        in_channels: C.
        out_channels: D of each head.
        heads: H; their outputs stand side by side.

    Shapes:
        ``x`` (N, C), ``edge_index`` (2, M) to (N, H D).

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> x, conv = torch.randn(3, 5), SparseGATConv(5, 4, heads=2)
        >>> bool(torch.allclose(conv(x, edges), GATConv.forward(conv, x, edges), atol=1e-6))
        True
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int) -> None:
        super().__init__(in_channels, out_channels, heads)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return a row per node."""
        if self.explain or torch.compiler.is_exporting():
            return super().forward(x, edge_index)  # type: ignore[no-any-return]
        h = self.lin(x).view(-1, self.heads, self.out_channels)  # (N, H, D)
        of, to = (h * self.att_src).sum(-1), (h * self.att_dst).sum(-1)  # (N, H)
        e = _looped(edge_index, len(x))
        score = F.leaky_relu(of.index_select(0, e.source) + to.index_select(0, e.target), self.negative_slope)  # (L, H)
        # So that exponentials stay finite, (N, H).
        largest = torch.segment_reduce(score.detach(), "max", offsets=e.crow)
        weight = (score - largest.index_select(0, e.target)).exp().t() * e.count  # (H, L)
        ones = F.pad(h.transpose(0, 1), (0, 1), value=1.0)  # (H, N, D + 1); the last column adds up the weights
        pairs = zip(weight, ones, strict=True)
        heads = [_WeightedSum.apply(e, w, v) for w, v in pairs]  # type: ignore[no-untyped-call]
        sums = torch.stack(heads, 1)  # (N, H, D + 1)
        out: Tensor = (sums[..., :-1] / sums[..., -1:]).flatten(1) + self.bias
        return out


@dataclass(frozen=True)
class _Looped:
    """All pairs of neighbours and every node with itself, sorted by target, then source; and how to sort them by
    source.

    Args:
        source: of each pair, ``(L,)``.
        target: of each pair, ``(L,)``.
        count: edges of the pair, ``(L,)``; one self loop at each node.
        crow: where each target's pairs start, ``(N + 1,)``.
        order_t: what sorts the pairs by source, ``(L,)``.
        crow_t: where each source's pairs then start, ``(N + 1,)``.
        target_t: their targets then, ``(L,)``.
    """

    source: Tensor
    target: Tensor
    count: Tensor
    crow: Tensor
    order_t: Tensor
    crow_t: Tensor
    target_t: Tensor


_known = Remembered[_Looped]()


def _looped(edge_index: Tensor, num_nodes: int) -> _Looped:
    """Return the pairs that GAT sums over; the same tensor gives the same object back."""
    return _known.get(edge_index, None, num_nodes, lambda: _with_loops(edge_index, num_nodes))


def _with_loops(edge_index: Tensor, num_nodes: int) -> _Looped:
    adj = adjacency(edge_index, num_nodes, norm="none")
    loops, other = torch.arange(num_nodes, device=adj.source.device) * (num_nodes + 1), adj.source != adj.target
    pairs, count = torch.cat([(adj.target * num_nodes + adj.source)[other], loops]).unique(return_counts=True)
    target, source = pairs // num_nodes, pairs % num_nodes
    crow, crow_t = (row_starts(end, num_nodes) for end in (target, source))
    order = torch.argsort(source, stable=True)
    return _Looped(source, target, count, crow, order, crow_t, target[order])


class _WeightedSum(torch.autograd.Function):
    """Weighted sum of each node's neighbours, ``(L,)`` and ``(N, D)`` to ``(N, D)``; holds the weights alone."""

    @staticmethod
    def forward(ctx: Any, edges: _Looped, weight: Tensor, x: Tensor) -> Tensor:
        ctx.edges = edges
        ctx.save_for_backward(weight, x)
        return segment_matmul(edges.crow, edges.source, weight.contiguous(), x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        e, (weight, x) = ctx.edges, ctx.saved_tensors
        dx = segment_matmul(e.crow_t, e.target_t, weight[e.order_t], grads[0])
        empty = csr(e.crow, e.source, torch.zeros_like(weight), (len(x), len(x)))
        dweight = torch.sparse.sampled_addmm(empty, grads[0].contiguous(), x.t())
        return None, dweight.values(), dx
