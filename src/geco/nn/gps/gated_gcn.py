r"""GatedGCN: messages gated edge by edge, with edge features that are updated along the way.

Gates and sums are one autograd function that keeps nothing per edge but the gates, which the norm after it keeps
anyway; sums over a node's edges read the edges bundled by node, in forward and in backward.

Shapes: N nodes, M edges, D channels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from geco.nn.functional import dropout, row_starts, segment_matmul
from geco.nn.graph.adjacency import adjacency
from geco.nn.graph.edge_sum import EdgeSum
from geco.nn.graph.prepare import check_edges, plain_edges
from geco.nn.graph.remembered import Remembered
from geco.nn.ops.global_context import refuse_second_derivatives
from geco.nn.resolve import activation

__all__ = ["GatedGCN"]

EPS = 1e-6


class GatedGCN(nn.Module):
    r"""Residual gated graph convolution with edge features, as GraphGPS uses it:
    :math:`\hat e_{ij} = C e_{ij} + D x_i + E x_j` for an edge from j to i, :math:`\sigma_{ij} = \mathrm{sigmoid}(\hat
    e_{ij})`,

    .. math::
        x_i' = x_i + \mathrm{act}\Big(\mathrm{BN}\Big(A x_i +
        \frac{\sum_j \sigma_{ij} \odot B x_j}{\sum_j \sigma_{ij} + 10^{-6}}\Big)\Big), \qquad
        e_{ij}' = e_{ij} + \mathrm{act}(\mathrm{BN}(\hat e_{ij})).

    Skip, norm and dropout are its own. Without edge features, :math:`C e_{ij}` and :math:`e_{ij}` are left out.

    Args:
        channels: D, of nodes and of edges.
        dropout: before each skip.
        act: activation: a name PyG's resolver knows, a callable, a module or None.

    Shapes:
        ``x`` (N, D), ``edge_index`` (2, M), ``edge_attr`` (M, D) to (N, D); `with_edges` to (N, D) and (M, D).

    Example:
        >>> layer, edges = GatedGCN(4), torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> x, edge_attr = layer.with_edges(torch.randn(3, 4), edges, torch.randn(3, 4))
        >>> layer(x, edges, edge_attr).shape
        torch.Size([3, 4])
    """

    own_skip = True

    def __init__(self, channels: int, *, dropout: float = 0.0, act: str | Callable[..., Any] | None = "relu") -> None:
        super().__init__()
        if channels < 1:
            raise ValueError(f"channels must be at least 1, got {channels}")
        self.channels, self.dropout = channels, dropout
        self.own, self.value, self.to_gate, self.of_gate, self.edge = (nn.Linear(channels, channels) for _ in range(5))
        self.node_norm, self.edge_norm = nn.BatchNorm1d(channels), nn.BatchNorm1d(channels)
        self.act, self.masked = activation(act), EdgeSum()

    def reset_parameters(self) -> None:
        """Reset all weights."""
        for module in (self.own, self.value, self.to_gate, self.of_gate, self.edge, self.node_norm, self.edge_norm):
            module.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """Return the new node features; the new edge features are not computed."""
        return self._nodes(x, self._messages(x, edge_index, edge_attr)[0])

    def with_edges(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return new node and edge features."""
        message, gate = self._messages(x, edge_index, edge_attr)
        return self._nodes(x, message), self._skip(edge_attr, self._edges(gate))

    def _messages(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
        check_edges(x, edge_index, edge_attr, self.channels, self.channels)
        value, to, of = self.value(x), self.to_gate(x), self.of_gate(x)
        edge = value.new_zeros(edge_index.shape[1], self.channels) if edge_attr is None else self.edge(edge_attr)
        work = torch.promote_types(value.dtype, torch.float32)
        wide = [t.to(work) for t in (value, to, of, edge)]
        with torch.autocast(x.device.type, enabled=False):
            if self.masked.explain or torch.compiler.is_exporting():
                message, gate = self._plain(edge_index, *wide)
            else:
                message, gate = _Gated.apply(_ends(edge_index, len(x)), *wide)  # type: ignore[no-untyped-call]
        return message.to(value.dtype), gate.to(value.dtype)

    def _plain(self, edge_index: Tensor, value: Tensor, to: Tensor, of: Tensor, edge: Tensor) -> tuple[Tensor, Tensor]:
        """Return what `_Gated` does, message by message."""
        source, target = plain_edges(edge_index)
        gate = to[target] + edge + of[source]
        share = torch.sigmoid(gate)
        total = torch.zeros_like(value).index_add(0, target, share) + EPS
        return self.masked(source, target, share * value[source] / total[target], value.shape[0]), gate

    def _nodes(self, x: Tensor, message: Tensor) -> Tensor:
        return self._skip(x, self.node_norm(self.own(x) + message))

    def _edges(self, gate: Tensor) -> Tensor:
        """Normalise the edges; where there are none, only a norm that other processes wait for is called."""
        own = type(self.edge_norm) is nn.BatchNorm1d
        out: Tensor = gate if own and not len(gate) else self.edge_norm(gate)
        return out

    def _skip(self, before: Tensor | None, h: Tensor) -> Tensor:
        h = dropout(self.act(h), self.dropout, self.training)
        return h if before is None else before + h

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"{self.channels}, dropout={self.dropout}"


@dataclass(frozen=True)
class _Ends:
    """The edges' ends, and the edges of each node at either end in CSR.

    Args:
        source: of each edge, ``(M,)``.
        target: of each edge, ``(M,)``.
        into: where each node's incoming edges start, ``(N + 1,)``, and their numbers, ``(M,)``.
        out_of: the same for outgoing edges.
    """

    source: Tensor
    target: Tensor
    into: tuple[Tensor, Tensor]
    out_of: tuple[Tensor, Tensor]


_cache = Remembered[_Ends]()


def _ends(edge_index: Tensor, num_nodes: int) -> _Ends:
    """Sort the edges by either end; the same tensor gives the same object back."""
    return _cache.get(edge_index, None, num_nodes, lambda: _sorted_ends(edge_index, num_nodes))


def _sorted_ends(edge_index: Tensor, num_nodes: int) -> _Ends:
    adj = adjacency(edge_index, num_nodes, None, "none")
    return _Ends(adj.source, adj.target, *(_bundles(end, num_nodes) for end in (adj.target, adj.source)))


def _bundles(end: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    return row_starts(end, num_nodes), torch.argsort(end, stable=True)


def _add_up(rows: Tensor, bundles: tuple[Tensor, Tensor]) -> Tensor:
    """Return the sum of the rows of each node's edges, ``(M, D)`` to ``(N, D)``."""
    return segment_matmul(*bundles, torch.ones_like(rows[:, 0]), rows)


class _Gated(torch.autograd.Function):
    """``(value, to, of, edge)`` to the gated mean ``(N, D)`` and the gates before the sigmoid ``(M, D)``."""

    @staticmethod
    def forward(ctx: Any, ends: _Ends, value: Tensor, to: Tensor, of: Tensor, edge: Tensor) -> tuple[Tensor, Tensor]:
        gate, rows = to.index_select(0, ends.target).add_(edge), of.index_select(0, ends.source)
        share = torch.sigmoid(gate.add_(rows))
        total = _add_up(share, ends.into).add_(EPS)
        torch.index_select(value, 0, ends.source, out=rows)  # memory used again: fresh pages are what costs here
        mean = _add_up(rows.mul_(share), ends.into).div_(total)
        ctx.ends = ends
        ctx.save_for_backward(value, gate, mean, total)
        return mean, gate

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        ends: _Ends = ctx.ends
        value, gate, mean, total = ctx.saved_tensors
        dgate, rows = value.index_select(0, ends.source), mean.index_select(0, ends.target)
        dgate.sub_(rows)
        share = torch.sigmoid(gate, out=rows)
        dvalues = (grads[0] / total).index_select(0, ends.target).mul_(share)  # of B x_j, edge by edge
        dgate.mul_(dvalues).mul_(share.neg_().add_(1)).add_(grads[1])
        return None, _add_up(dvalues, ends.out_of), _add_up(dgate, ends.into), _add_up(dgate, ends.out_of), dgate
