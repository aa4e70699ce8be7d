r"""Many short rings as blocks of paired places, and their harmonics by matrix products.

Places t and n - t of a ring of n nodes stand in the two halves of a block. Cosines are even and sines odd, so the sum
of the halves meets the cosines, their difference the sines, and each product is half as large. Places 0 and n / 2 have
no partner: theirs is left empty. A block holds rings of similar sizes, laid out as if all had the size of the largest,
so that one batched product serves them all.

Shapes: N nodes in all, D channels, B harmonics; of a block: G rings of S sizes, the largest of n nodes, m = n // 2 + 1
        pairs, h = min(B, m) harmonics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from geco.nn.functional import node_places
from geco.nn.graph.remembered import cached

__all__ = ["RingBlock", "RingTransforms", "arrange", "paired_places"]

ROWS = 2048  # nodes of a block, whose D-wide slices stay in the cache


@dataclass(frozen=True)
class RingBlock:
    """Rings of similar sizes.

    Args:
        sizes: nodes of each ring, ``(G,)``.
        distinct_sizes: the S of them, ascending.
        tables: cosines and sines of each distinct size, ``(2, S, h, m)``, zeros beyond a size's own pairs and
            harmonics.
        which: the size of each ring among the distinct ones, ``(G,)``.
        nodes: node at each place, ``(2 * G * m,)``: halves, rings, pairs, any node where the place is empty.
        empty: places without a node, ``(E,)``.
    """

    sizes: Tensor
    distinct_sizes: tuple[int, ...]
    tables: Tensor
    which: Tensor
    nodes: Tensor
    empty: Tensor

    @property
    def waves(self) -> int:
        """Return h."""
        return self.tables.shape[2]

    def opened(self) -> RingTransforms:
        """Return the block with a table for each ring, for a few transforms."""
        return RingTransforms(self.tables.index_select(1, self.which).flatten(0, 1))

    def distinct(self) -> RingTransforms:
        """Return one ring of each size, ascending, laid out as the block's: for filters, alike on all of a size."""
        return RingTransforms(self.tables.flatten(0, 1))


@dataclass(frozen=True)
class RingTransforms:
    """Transforms of the rings of a block.

    Args:
        tables: cosines of each ring, then sines, ``(2 * G, h, m)``.
    """

    tables: Tensor

    def analysis(self, v: Tensor) -> Tensor:
        """Return the harmonics of ``(2 * G * m, D)``, sums with the cosines and with the sines, ``(2, G, h, D)``."""
        x = torch.bmm(self.tables, _crossed(v.view(2, -1)).view(len(self.tables), -1, v.shape[1]))
        return x.view(2, -1, *x.shape[1:])

    def synthesis(self, x: Tensor) -> Tensor:
        """Return the sums of waves with harmonics ``(2, G, h, D)``, ``(2 * G * m, D)``: the transpose of `analysis`."""
        halves = torch.bmm(self.tables.transpose(1, 2), x.flatten(0, 1))
        return _crossed(halves.view(2, -1)).view(-1, x.shape[-1])


def _crossed(halves: Tensor) -> Tensor:
    """Return the sum and the difference of two rows."""
    out = torch.empty_like(halves)
    torch.add(halves[0], halves[1], out=out[0])
    torch.sub(halves[0], halves[1], out=out[1])
    return out


def arrange(sizes: tuple[int, ...], bands: int, like: Tensor) -> tuple[tuple[RingBlock, ...], Tensor]:
    """Lay rings, whose rows follow one another, out in blocks.

    Returns the blocks and, for each node, its place among those of all blocks, ``(N,)``.

    Example:
        >>> blocks, back = arrange((5, 4, 5), 8, torch.zeros(1))
        >>> [block.sizes.tolist() for block in blocks]
        [[4, 5, 5]]
        >>> torch.cat([block.nodes for block in blocks])[back].tolist() == list(range(14))
        True
    """
    size = torch.tensor(sizes)
    order = torch.argsort(size, stable=True)
    starts = size.cumsum(0) - size
    blocks, laid = list[RingBlock](), list[tuple[Tensor, Tensor]]()
    for rings in order.split(_lengths(size[order])):
        nodes, filled = paired_places(size[rings], starts[rings])
        laid.append((nodes, filled))
        distinct, which = size[rings].unique(return_inverse=True)
        different = tuple(distinct.tolist())
        tables = _tables(different, bands, like.dtype, like.device)
        empty = (~filled).nonzero().squeeze(1)
        blocks.append(RingBlock(size[rings], different, tables, *(t.to(like.device) for t in (which, nodes, empty))))
    back = node_places(*(torch.cat(each) for each in zip(*laid, strict=True)))
    return tuple(blocks), back.to(like.device)


def _lengths(size: Tensor) -> list[int]:
    """Return how many rings each block takes, given their ascending sizes: about `ROWS` nodes, none twice as large as
    another.

    Rings of fewer than 16 nodes count as alike. Without that bound many small rings would be laid out like one large
    one.
    """
    octave = size.clamp(min=8).log2().floor()
    cuts = torch.stack([(size.cumsum(0) - 1) // ROWS, octave.long()], 1)
    return cuts.unique_consecutive(dim=0, return_counts=True)[1].tolist()  # type: ignore[no-any-return]


def paired_places(size: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    """Return the node at each place, and whether there is one, from sizes and first nodes of rings, ``(G,)``."""
    n, t = size.unsqueeze(1), torch.arange(int(size.max()) // 2 + 1)
    inside = 2 * t <= n  # (G, m)
    partner = inside & (t != 0) & (2 * t != n)
    nodes = first.unsqueeze(1) + torch.stack([t.where(inside, 0), (n - t).where(partner, 0)])  # (2, G, m)
    return nodes.flatten(), torch.stack([inside, partner]).flatten()


@cached(64)
def _tables(sizes: tuple[int, ...], bands: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the tables of distinct sizes, the last the largest, ``(2, S, h, m)``."""
    pairs = sizes[-1] // 2 + 1
    out = torch.zeros(2, len(sizes), min(bands, pairs), pairs, dtype=dtype)
    for i, n in enumerate(sizes):
        table = _table(n, min(bands, n // 2 + 1), dtype)
        out[:, i, : table.shape[1], : table.shape[2]] = table
    return out.to(device)


@cached(512)
def _table(n: int, waves: int, dtype: torch.dtype) -> Tensor:
    """Return cosines and sines of a ring, ``(2, h, m)``, rounded from float64."""
    turns = (torch.arange(waves).unsqueeze(1) * torch.arange(n // 2 + 1)) % n  # whole turns taken off
    angle = turns.double() * (2 * math.pi / n)
    return torch.stack([angle.cos(), angle.sin()]).to(dtype)
