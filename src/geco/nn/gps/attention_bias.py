r"""What attention is told of the graph: numbers that are added to its scores, or pairs of nodes that it does not see.

These are the "improved attention matrices" of Min et al.'s survey (arXiv:2202.08455), as its authors' code has them: on
the graph with every edge taken both ways and once, with a loop at each node.

Shapes: N nodes, H heads, G graphs of a block, W nodes of its largest, R of its rows, S powers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from geco.nn.graph.node_pairs import FAR, hops, powers
from geco.nn.graph.prepare import Graph
from geco.nn.resolve import build, check_name

__all__ = ["AttentionBias", "BiasName", "HopMask", "Proximity", "ShortestPath", "make_bias"]

BiasName = Literal["none", "spb", "pma", "mask-1", "mask-n"]


class AttentionBias(nn.Module, ABC):
    """What is known of all pairs of nodes, and what it does to the scores of each head.

    Args:
        heads: H.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"there must be at least one head, got {heads}")
        self.heads = heads

    @abstractmethod
    def pairs(self, graph: Graph, dtype: torch.dtype) -> list[Tensor]:
        """Return what is known of the pairs of each block, ``(..., G, W, W)``; see `geco.nn.graph.node_pairs`."""

    @abstractmethod
    def forward(self, pairs: Tensor, mask: Tensor | None) -> Tensor:
        """Return what some rows are told, ``(..., G, R, W)`` to ``(G, H, R, W)``: numbers to add, or True where seen.

        Args:
            pairs: rows of what `pairs` returned.
            mask: True where there is a node, ``(G, W)``; None if all graphs have W nodes.
        """


class ShortestPath(AttentionBias):
    r"""Shortest-path bias (SPB), as in Graphormer (arXiv:2106.05234): a weight for each number of hops,
    :math:`\mathrm{softmax}_j\big(Q_i \cdot K_j / \sqrt d + b_{\phi(i, j)}\big)`, head by head.

    Ours: pairs more than ``reach`` hops apart, and those not connected, share one weight (there they are told apart up
    to 510 hops, and not seen from 20 on), and all begin at zero, as plain attention.

    Args:
        heads: H.
        reach: farthest that has a weight of its own.

    Shapes:
        hops (G, R, W) to (G, H, R, W).

    Example:
        >>> ShortestPath(4, reach=8).weight.shape
        torch.Size([10, 4])
    """

    def __init__(self, heads: int, *, reach: int = 20) -> None:
        super().__init__(heads)
        if not 0 <= reach < FAR - 1:
            raise ValueError(f"reach must be 0 to {FAR - 2}, got {reach}")
        self.reach = reach
        self.weight = nn.Parameter(torch.empty(reach + 2, heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset all weights."""
        nn.init.zeros_(self.weight)

    def pairs(self, graph: Graph, dtype: torch.dtype) -> list[Tensor]:
        """Return the hops between all nodes of each block, ``(G, W, W)``."""
        return hops(graph, self.reach)

    def forward(self, pairs: Tensor, mask: Tensor | None) -> Tensor:
        """Return a number for each head and pair, ``(G, H, R, W)``."""
        row = pairs.clamp(max=self.reach + 1).long().unsqueeze(1).expand(-1, self.heads, -1, -1)
        weight = self.weight.t()[None, :, None].expand(*row.shape[:3], -1)  # (G, H, R, reach + 2)
        return _hidden(weight.gather(3, row), mask)

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"heads={self.heads}, reach={self.reach}"


class Proximity(AttentionBias):
    r"""Proximity-enhanced attention (PMA), as in Gophormer (arXiv:2110.13094): powers of the normalised adjacency,
    :math:`\mathrm{softmax}_j\big(Q_i \cdot K_j / \sqrt d + \sum_{s = 1}^S b_s (\tilde A^s)_{ij}\big)` with
    :math:`\tilde A = D^{-1/2} (A + I) D^{-1/2}`, head by head. All weights begin at zero, as plain attention.

    Args:
        heads: H.
        powers: S.

    Shapes:
        powers (S, G, R, W) to (G, H, R, W).

    Example:
        >>> Proximity(4, powers=2).weight.shape
        torch.Size([2, 4])
    """

    def __init__(self, heads: int, *, powers: int = 3) -> None:
        super().__init__(heads)
        if powers < 1:
            raise ValueError(f"powers must be at least 1, got {powers}")
        self.powers = powers
        self.weight = nn.Parameter(torch.empty(powers, heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset all weights."""
        nn.init.zeros_(self.weight)

    def pairs(self, graph: Graph, dtype: torch.dtype) -> list[Tensor]:
        """Return the powers of each block, ``(S, G, W, W)``."""
        return powers(graph, self.powers, dtype)

    def forward(self, pairs: Tensor, mask: Tensor | None) -> Tensor:
        """Return a number for each head and pair, ``(G, H, R, W)``."""
        return _hidden(torch.einsum("sgrw,sh->ghrw", pairs, self.weight.to(pairs.dtype)), mask)

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"heads={self.heads}, powers={self.powers}"


class HopMask(AttentionBias):
    """Masked attention: a node sees itself and the nodes up to so many hops away, and no others.

    Args:
        heads: H.
        hops: of all heads; None for one hop in the first head, two in the second and so on (Mask-n of the survey).

    Shapes:
        hops (G, R, W) to (G, H, R, W).

    Example:
        >>> HopMask(4), HopMask(4, hops=1)
        (HopMask(hops=1 to 4), HopMask(hops=1))
    """

    def __init__(self, heads: int, *, hops: int | None = None) -> None:
        super().__init__(heads)
        if not 0 <= (heads if hops is None else hops) < FAR:
            raise ValueError(f"hops of a mask, or heads with one more each, go up to {FAR - 1}, got {hops or heads}")
        self.hops = hops

    def pairs(self, graph: Graph, dtype: torch.dtype) -> list[Tensor]:
        """Return the hops between all nodes of each block, ``(G, W, W)``."""
        return hops(graph, self.heads if self.hops is None else self.hops)

    def forward(self, pairs: Tensor, mask: Tensor | None) -> Tensor:
        """Return True where a head sees, ``(G, H, R, W)``; no node sees padding, which is not connected to any."""
        if self.hops is not None:
            return (pairs <= self.hops).unsqueeze(1).expand(-1, self.heads, -1, -1)
        most = torch.arange(1, self.heads + 1, device=pairs.device)
        return pairs.unsqueeze(1) <= most.view(-1, 1, 1)

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"hops={f'1 to {self.heads}' if self.hops is None else self.hops}"


_MAKE: dict[str, Callable[..., AttentionBias]] = {"spb": ShortestPath, "pma": Proximity, "mask-n": HopMask}


def make_bias(name: BiasName, heads: int, options: Mapping[str, Any] | None = None) -> AttentionBias | None:
    """Return what attention is told of the graph; None for ``none``.

    Args:
        name: ``spb``, ``pma``, ``mask-1``, ``mask-n`` or ``none``.
        heads: H.
        options: ``reach`` of ``spb``, ``powers`` of ``pma``, ``hops`` of ``mask-n``.

    Example:
        >>> make_bias("mask-n", 4, {"hops": 3})
        HopMask(hops=3)
    """
    check_name("bias", name, get_args(BiasName))
    if name in _MAKE:
        return build(name, _MAKE[name], heads, options=options or {})
    if options:
        raise ValueError(f"bias={name!r} has no options, got {', '.join(options)}; bias='mask-n' takes hops")
    return HopMask(heads, hops=1) if name == "mask-1" else None


def _hidden(bias: Tensor, mask: Tensor | None) -> Tensor:
    """Return the numbers, minus infinity where there is no node to be seen."""
    return bias if mask is None else bias.masked_fill(~mask[:, None, None, :], -math.inf)
