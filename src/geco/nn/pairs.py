r"""Many short rings as blocks of paired places, and their harmonics by matrix products.

Places t and n - t of a ring of n nodes stand in the two halves of a block. Cosines are even and sines odd, so the sum of
the halves meets the cosines, their difference the sines, and each product is half as large. Places 0 and n / 2 have no
partner: theirs is left empty. A block holds equally many rings of each of its sizes, with the same place of all of them side
by side, so that one product with a size's table serves them all.

Shapes: N nodes in all, D channels, B harmonics; of a block: G rings of each size, M pairs of one ring of each size, W
        harmonics of these; of a size: n nodes, m = n // 2 + 1 pairs, h = min(B, m) harmonics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

__all__ = ["Block", "arrange"]

ROWS = 2048  # nodes of a block, whose D-wide slices stay in the cache


@dataclass(frozen=True)
class Block:
    """G rings of each of some sizes.

    Args:
        sizes: n of each.
        rings: G.
        tables: cosines and sines of each size, ``(2, h, m)``.
        nodes: node at each place, ``(2 * M * G,)``: halves, pairs, rings, any node where the place is empty.
        empty: places without a node, ``(E,)``.
    """

    sizes: tuple[int, ...]
    rings: int
    tables: tuple[Tensor, ...]
    nodes: Tensor
    empty: Tensor

    @property
    def pairs(self) -> list[int]:
        """Return m of each size."""
        return [table.shape[2] for table in self.tables]

    @property
    def waves(self) -> list[int]:
        """Return h of each size."""
        return [table.shape[1] for table in self.tables]

    def see(self, v: Tensor) -> Tensor:
        """Return the harmonics of ``(2 * M * G, D)``, sums with the cosines and with the sines, ``(2, W, G, D)``."""
        first, second = v.unflatten(0, (2, -1))
        halves = v.new_empty(2, sum(self.pairs), self.rings * v.shape[1])
        torch.add(first, second, out=halves[0].view_as(first))
        torch.sub(first, second, out=halves[1].view_as(first))
        x = v.new_empty(2, sum(self.waves), halves.shape[2])
        for table, half, out in zip(self.tables, halves.split(self.pairs, 1), x.split(self.waves, 1), strict=True):
            torch.bmm(table, half, out=out)
        return x.view(2, len(x[0]), self.rings, -1)

    def make(self, x: Tensor) -> Tensor:
        """Return the sums of waves with harmonics ``(2, W, G, D)``, ``(2 * M * G, D)``: the transpose of `see`."""
        x = x.flatten(2)
        halves = x.new_empty(2, sum(self.pairs), x.shape[2])
        for table, half, seen in zip(self.tables, halves.split(self.pairs, 1), x.split(self.waves, 1), strict=True):
            torch.bmm(table.transpose(1, 2), seen, out=half)
        v = torch.empty_like(halves)
        torch.add(halves[0], halves[1], out=v[0])
        torch.sub(halves[0], halves[1], out=v[1])
        return v.view(2 * sum(self.pairs) * self.rings, -1)


def arrange(sizes: tuple[int, ...], bands: int, like: Tensor) -> tuple[tuple[Block, ...], Tensor]:
    """Lay rings, whose rows follow one another, out in blocks.

    Returns the blocks and, for each node, its place among those of all blocks, ``(N,)``.

    Example:
        >>> blocks, back = arrange((5, 4, 5), 8, torch.zeros(1))
        >>> [(block.sizes, block.rings) for block in blocks]
        [((4,), 1), ((5,), 2)]
        >>> torch.cat([block.nodes for block in blocks])[back].tolist() == list(range(14))
        True
    """
    parts, back = _rings(sizes, like.device)
    blocks = []
    for distinct, count, nodes, empty in parts:
        tables = tuple(_table(n, min(bands, n // 2 + 1), like.dtype, like.device) for n in distinct)
        blocks.append(Block(distinct, count, tables, nodes, empty))
    return tuple(blocks), back


@lru_cache(maxsize=64)
def _rings(sizes: tuple[int, ...], device: torch.device) -> tuple[list[tuple[tuple[int, ...], int, Tensor, Tensor]], Tensor]:
    """Return of each block what does not depend on the filters: sizes, G, nodes and empty places; and each node's place."""
    size = torch.tensor(sizes)
    starts, back, offset, parts = size.cumsum(0) - size, torch.empty(sum(sizes), dtype=torch.long), 0, []
    for members in _members(size):
        distinct = tuple(size[members[:, 0]].tolist())
        nodes, empty = _places(distinct, starts[members])
        real = torch.ones(len(nodes), dtype=torch.bool).index_fill_(0, empty, False).nonzero().squeeze(1)
        back[nodes[real]] = real + offset
        offset += len(nodes)
        parts.append((distinct, members.shape[1], nodes.to(device), empty.to(device)))
    return parts, back.to(device)


def _members(size: Tensor) -> Iterator[Tensor]:
    """Yield the rings of each block, ``(sizes, G)``: sizes of which there are equally many, of about `ROWS` nodes together."""
    distinct, counts = size.unique(return_counts=True)
    rings = torch.argsort(size, stable=True).split(counts.tolist())
    for count in counts.unique().tolist():
        chosen = (counts == count).nonzero().squeeze(1)
        number = (distinct[chosen].cumsum(0) * count - 1) // ROWS
        _, lengths = number.unique_consecutive(return_counts=True)
        for part in chosen.split(lengths.tolist()):
            yield torch.stack([rings[i] for i in part.tolist()])


def _places(sizes: tuple[int, ...], first: Tensor) -> tuple[Tensor, Tensor]:
    """Return the node at each place of a block, given the first nodes of its rings ``(sizes, G)``, and the empty places."""
    size = torch.tensor(sizes)
    pairs = size // 2 + 1
    which = torch.repeat_interleave(torch.arange(len(sizes)), pairs)  # (M,)
    t = torch.arange(len(which)) - (pairs.cumsum(0) - pairs)[which]
    n = size[which]
    nodes = first[which] + torch.stack([t, (n - t) % n]).unsqueeze(2)  # (2, M, G)
    alone = ((t == 0) | (2 * t == n)).unsqueeze(1).expand(nodes.shape[1:])
    return nodes.flatten(), alone.numel() + alone.flatten().nonzero().squeeze(1)


@lru_cache(maxsize=512)
def _table(n: int, waves: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return cosines and sines of a ring, ``(2, h, m)``, rounded from float64."""
    turns = (torch.arange(waves).unsqueeze(1) * torch.arange(n // 2 + 1)) % n  # whole turns taken off
    angle = turns.double() * (2 * math.pi / n)
    return torch.stack([angle.cos(), angle.sin()]).to(device, dtype)
