"""Edges sorted by either end, for sums over the edges of a node.

Shapes: N nodes, M edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from geco.nn.functional import row_starts

__all__ = ["Pairs", "pairs"]


@dataclass(frozen=True)
class Pairs:
    """Edges sorted by target, and how to sort them by source.

    Args:
        source: of each edge, ``(M,)``.
        target: of each edge, ``(M,)``.
        crow: where each target's edges start, ``(N + 1,)``.
        order: number of each edge among those given, ``(M,)``.
        order_t: what sorts the edges by source, ``(M,)``.
        crow_t: where each source's edges then start, ``(N + 1,)``.
        target_t: their targets then, ``(M,)``.
    """

    source: Tensor
    target: Tensor
    crow: Tensor
    order: Tensor
    order_t: Tensor
    crow_t: Tensor
    target_t: Tensor


def pairs(source: Tensor, target: Tensor, num_nodes: int) -> Pairs:
    """Sort edges by either end.

    Example:
        >>> pairs(torch.tensor([0, 0, 1]), torch.tensor([2, 1, 0]), 3).order.tolist()
        [2, 1, 0]
    """
    order = torch.argsort(target, stable=True)
    source, target = source[order], target[order]
    order_t = torch.argsort(source, stable=True)
    crow, crow_t = (row_starts(end, num_nodes) for end in (target, source))
    return Pairs(source, target, crow, order, order_t, crow_t, target[order_t])
