"""Graphs of a batch as dense blocks: graphs of similar size side by side, so that little of a block is padding.

Shapes: N nodes in all, G graphs of a block, W nodes of its largest graph, P places of all blocks, C channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from geco.nn.functional import node_places
from geco.nn.graph.remembered import cached

__all__ = ["Block", "Blocks", "blocks"]

STEPS = 4  # classes of sizes per doubling: a block's largest graph is at most 2^(1/4) times its smallest


@dataclass(frozen=True)
class Block:
    """Graphs laid out side by side.

    Args:
        graphs: G.
        width: W.
        mask: True where there is a node, ``(G, W)``; None if all graphs have W nodes.
    """

    graphs: int
    width: int
    mask: Tensor | None


@dataclass(frozen=True)
class Blocks:
    """How to lay the rows of a batch's nodes out in blocks, and back.

    Args:
        each: the blocks.
        index: node at each place, ``(P,)``, N at padding; None for one graph, whose rows stay as they are.
        back: place of each node, ``(N,)``; None for one graph.
    """

    each: tuple[Block, ...]
    index: Tensor | None
    back: Tensor | None

    def lay_out(self, x: Tensor) -> list[Tensor]:
        """Return each block's rows, ``(N, C)`` to ``(G, W, C)``, zeros at padding."""
        if self.index is None:
            return [x.unsqueeze(0)]
        rows: Tensor = _Rows.apply(x, self.index, self.back, True)  # type: ignore[no-untyped-call]
        parts = rows.split([block.graphs * block.width for block in self.each])
        return [part.unflatten(0, (block.graphs, block.width)) for part, block in zip(parts, self.each, strict=True)]

    def take_back(self, parts: Sequence[Tensor]) -> Tensor:
        """Undo `lay_out`, ``(G, W, C)`` each to ``(N, C)``; what stands at padding is dropped."""
        if self.index is None:
            return parts[0].squeeze(0)
        rows = torch.cat([part.flatten(0, 1) for part in parts])
        result: Tensor = _Rows.apply(rows, self.back, self.index, False)  # type: ignore[no-untyped-call]
        return result


class _Rows(torch.autograd.Function):
    """Pick rows, each at most once; then backward is picking as well, which is faster than adding up."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, back: Tensor, padding: bool) -> Tensor:
        ctx.save_for_backward(index, back)
        ctx.padding = padding
        return (torch.nn.functional.pad(x, (0, 0, 0, 1)) if padding else x).index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        index, back = ctx.saved_tensors
        return _Rows.apply(grads[0], back, index, not ctx.padding), None, None, None  # type: ignore[no-untyped-call]


def blocks(sizes: tuple[int, ...], device: torch.device) -> Blocks:
    """Group the graphs of a batch, whose rows follow one another, into blocks of similar size.

    Args:
        sizes: number of nodes of each graph.
        device: where x is.

    Example:
        >>> [(b.graphs, b.width) for b in blocks((5, 100, 5, 98), torch.device("cpu")).each]
        [(2, 5), (2, 100)]
    """
    return Blocks((Block(1, sizes[0], None),), None, None) if len(sizes) == 1 else _blocks(sizes, device)


@cached(64)
def _blocks(sizes: tuple[int, ...], device: torch.device) -> Blocks:
    size = torch.tensor(sizes)
    start = size.cumsum(0) - size
    nodes = sum(sizes)
    kind = torch.floor(STEPS * size.double().log2()).long()
    each, index = [], []
    for k in kind.unique().tolist():
        chosen = (kind == k).nonzero().squeeze(1)
        width = int(size[chosen].max())
        place = torch.arange(width)
        mask = place < size[chosen].unsqueeze(1)  # (G, W)
        index.append(torch.where(mask, start[chosen].unsqueeze(1) + place, nodes).flatten())
        each.append(Block(len(chosen), width, None if bool(mask.all()) else mask.to(device)))
    places = torch.cat(index)
    return Blocks(tuple(each), places.to(device), node_places(places, places < nodes).to(device))
