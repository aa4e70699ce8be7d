"""Sums of messages over the edges into each node, as `torch_geometric.explain` can weigh them.

Shapes: N nodes, M edges, D channels.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing

__all__ = ["EdgeSum"]


class EdgeSum(MessagePassing):  # type: ignore[misc]
    r"""The sum of the messages into each node, :math:`\sum_{j \to i} m_{ij}`, each times its edge's mask under
    `torch_geometric.explain`.

    Layers that sum over edges by faster means have one for explainers to find: while ``explain`` is true, they sum
    here.

    Shapes:
        ``source`` (M,), ``target`` (M,), ``messages`` (M, D) to (N, D).

    Example:
        >>> EdgeSum()(torch.tensor([0, 1]), torch.tensor([2, 2]), torch.ones(2, 1), 3).flatten().tolist()
        [0.0, 0.0, 2.0]
    """

    def __init__(self) -> None:
        super().__init__(aggr="sum")

    def forward(self, source: Tensor, target: Tensor, messages: Tensor, num_nodes: int) -> Tensor:
        """Return a row per node."""
        ends = torch.stack([source, target])
        out: Tensor = self.propagate(ends, messages=messages, size=(num_nodes, num_nodes))
        return out

    def message(self, messages: Tensor) -> Tensor:
        """Return the messages as they are given."""
        return messages
