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

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from geco.nn.graph.adjacency import adjacency
from geco.nn.graph.edge_pairs import Pairs, pairs
from geco.nn.graph.remembered import Remembered
from geco.nn.ops.edge_attention import weighted_sum

__all__ = ["SparseGATConv", "SparseGCNConv", "SparseSAGEConv", "gcn_steps"]


def gcn_steps(h: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Iterator[Tensor]:
    r"""Yield :math:`\tilde H_1, \tilde H_2, \dots`, ``(N, D)`` each, where
    :math:`\tilde H_s = (\tilde D^{-1/2} \tilde A \tilde D^{-1/2})^s H` and :math:`\tilde A` is A with exactly one self
    loop at every node, of weight 1 where there was none.

    >>> next(gcn_steps(torch.eye(3), torch.tensor([[0, 1], [1, 0]])))
    tensor([[0.5000, 0.5000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """
    adj = adjacency(edge_index, len(h), edge_weight, normalisation="none")
    missing, degree = _looping(edge_index, len(h), edge_weight)
    missing = missing.to(h.dtype)  # (N, 1)
    scale = degree.to(h.dtype).rsqrt()
    while True:
        h = scale * h
        h = scale * (adj @ h + missing * h)
        yield h


def _looping(edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return what each node's self loops lack to be one loop, of their mean weight or 1, and its degree with it; both
    ``(N, 1)``.
    """
    found = edge_index[0] == edge_index[1]
    count = torch.bincount(edge_index[0][found], minlength=num_nodes)
    if edge_weight is None:
        missing, degree = 1 - count, torch.bincount(edge_index[1], minlength=num_nodes) + 1 - count
        return missing.unsqueeze(1), degree.unsqueeze(1)
    zeros = edge_weight.new_zeros(num_nodes)
    loops = zeros.index_add(0, edge_index[0][found], edge_weight[found])
    missing = torch.where(count > 0, loops / count.clamp(min=1), 1) - loops
    degree = zeros.index_add(0, edge_index[1], edge_weight) + missing
    if not bool((degree > 0).all()):
        lowest, node = degree.detach().min(0)
        raise ValueError(
            f"edge weights into node {int(node)} and its self loop add up to {float(lowest):.3g}; a GCN needs "
            "sums above 0: make weights positive"
        )
    return missing.unsqueeze(1), degree.unsqueeze(1)


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

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        if self.explain or torch.compiler.is_exporting():  # PyG's own sum knows masks of edges, and can be traced
            return super().forward(x, edge_index, edge_weight)  # type: ignore[no-any-return]
        out: Tensor = next(gcn_steps(self.lin(x), edge_index, edge_weight)) + self.bias
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
        out: Tensor = self.lin_l(adjacency(edge_index, len(x), normalisation="none") @ x / count) + self.lin_r(x)
        return out


class SparseGATConv(GATConv):  # type: ignore[misc]
    r"""Graph attention: head h of node i is :math:`\sum_j \alpha_{ij} W_h x_j` over its neighbours and itself, with
    :math:`\alpha_{ij} = \mathrm{softmax}_j(\mathrm{LeakyReLU}(a_h \cdot W_h x_j + b_h \cdot W_h x_i))`.

    Args:
        in_channels: C.
        out_channels: D of each head.
        heads: H; their outputs stand side by side.
        edge_dim: E, width of the edge features; with them messages are gathered and scattered, as PyG does.

    Shapes:
        ``x`` (N, C), ``edge_index`` (2, M), ``edge_attr`` (M, E) to (N, H D).

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> x, conv = torch.randn(3, 5), SparseGATConv(5, 4, heads=2)
        >>> bool(torch.allclose(conv(x, edges), GATConv.forward(conv, x, edges), atol=1e-6))
        True
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int, edge_dim: int | None = None) -> None:
        super().__init__(in_channels, out_channels, heads, edge_dim=edge_dim)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        if edge_attr is not None or self.explain or torch.compiler.is_exporting():
            return super().forward(x, edge_index, edge_attr)  # type: ignore[no-any-return]
        h = self.lin(x).view(-1, self.heads, self.out_channels)  # (N, H, D)
        of, to = (h * self.att_src).sum(-1), (h * self.att_dst).sum(-1)  # (N, H)
        looped = _looped(edge_index, len(x))
        e = looped.pairs
        score = F.leaky_relu(of.index_select(0, e.source) + to.index_select(0, e.target), self.negative_slope)  # (L, H)
        # So that exponentials stay finite, (N, H).
        largest = torch.segment_reduce(score.detach(), "max", offsets=e.crow)
        weight = (score - largest.index_select(0, e.target)).exp().t() * looped.count  # (H, L)
        ones = F.pad(h.transpose(0, 1), (0, 1), value=1.0)  # (H, N, D + 1); the last column adds up the weights
        sums = torch.stack([weighted_sum(e, w, v) for w, v in zip(weight, ones, strict=True)], 1)  # (N, H, D + 1)
        out: Tensor = (sums[..., :-1] / sums[..., -1:]).flatten(1) + self.bias
        return out


@dataclass(frozen=True)
class _Looped:
    """All pairs of neighbours and every node with itself.

    Args:
        pairs: sorted, L of them.
        count: edges of each pair, ``(L,)``; one self loop at each node.
    """

    pairs: Pairs
    count: Tensor


_cache = Remembered[_Looped]()


def _looped(edge_index: Tensor, num_nodes: int) -> _Looped:
    """Return the pairs that GAT sums over; the same tensor gives the same object back."""
    return _cache.get(edge_index, None, num_nodes, lambda: _with_loops(edge_index, num_nodes))


def _with_loops(edge_index: Tensor, num_nodes: int) -> _Looped:
    adj = adjacency(edge_index, num_nodes, normalisation="none")
    loops = torch.arange(num_nodes, device=adj.source.device) * (num_nodes + 1)
    other = adj.source != adj.target
    number, count = torch.cat([(adj.target * num_nodes + adj.source)[other], loops]).unique(return_counts=True)
    return _Looped(pairs(number % num_nodes, number // num_nodes, num_nodes), count)
