r"""What a node attends to: rows and columns of the surrogate attention matrix, without the matrix.

The block is linear in its value, :math:`Y = A V` with :math:`A = D_{P_K} S_{F_K} \cdots D_{P_1} S_{F_1}` for each
channel. A column is A applied to one node, a row is its transpose applied to one node: K convolutions, O(N log N), for
any order K.

Shapes: N nodes of one graph, D channels, K order.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from geco.nn.functional import circular_conv, reverse

__all__ = ["SurrogateAttention"]


@dataclass(frozen=True)
class SurrogateAttention:
    r"""The attention matrix of one graph in factors.

    Args:
        gates: :math:`P_1, \dots, P_K`, ``(K, D, N)``.
        filters: :math:`F_1, \dots, F_K`, ``(K, D, N)``.
        permutation: node at each place of the ring, ``(N,)``; None for nodes as they come. Arguments and results name
            nodes.

    Example:
        >>> attention = SurrogateAttention(torch.ones(2, 1, 4), torch.full((2, 1, 4), 0.25))
        >>> attention.row(0)
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """

    gates: Tensor
    filters: Tensor
    permutation: Tensor | None = None

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.gates.shape[-1]

    def column(self, j: int) -> Tensor:
        """Return how node j acts on every node, ``A[:, j]`` for each channel, ``(D, N)``."""
        v = self._unit(j)
        for gate, filter in zip(self.gates, self.filters, strict=True):
            v = gate * circular_conv(v, filter)
        return self._by_node(v)

    def row(self, i: int) -> Tensor:
        """Return how every node acts on node i, ``A[i, :]`` for each channel, ``(D, N)``."""
        v = self._unit(i)
        for gate, filter in zip(self.gates.flip(0), self.filters.flip(0), strict=True):
            v = circular_conv(gate * v, reverse(filter))
        return self._by_node(v)

    def top(self, i: int, k: int = 10) -> tuple[Tensor, Tensor]:
        """Return the k nodes that act most on node i and their strength, the mean of ``|A[i, j]|`` over channels."""
        strength, nodes = self.row(i).abs().mean(0).topk(min(k, self.num_nodes))
        return nodes, strength

    def _unit(self, node: int) -> Tensor:
        if not 0 <= node < self.num_nodes:
            raise ValueError(
                f"node {node} is not one of the graph's {self.num_nodes} nodes (0 to {self.num_nodes - 1})"
            )
        unit = torch.zeros_like(self.gates[0])
        unit[:, node if self.permutation is None else self.permutation == node] = 1.0
        return unit

    def _by_node(self, v: Tensor) -> Tensor:
        return v if self.permutation is None else v[:, torch.argsort(self.permutation)]
