r"""Which rings of a batch are transformed together, at which length, and where their nodes and filters stand.

Shapes: N nodes in all, G rings of a group, S sizes of a group, W widest ring of a group, L transform length,
        P places of all distinct ring lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from geco.nn.functional import node_places, ring_length
from geco.nn.graph.remembered import cached
from geco.nn.ops import limits

__all__ = ["Group", "group_of", "layout"]


@dataclass(frozen=True)
class Group:
    """Rings that are transformed at one length.

    Args:
        length: L.
        width: W.
        nodes: place of each ring's nodes, ``(G * W,)``, N where there is none; None for one ring that is all there is.
        size: which of the group's sizes each ring has, ``(G,)``; None if the group has one size.
        places: place of each size's filter, ``(S * L,)``, P where there is none; None if one filter fills L.
        weight: times each harmonic counts in a sum over places, divided by L, ``(2 * (L // 2 + 1),)``.
    """

    length: int
    width: int
    nodes: Tensor | None
    size: Tensor | None
    places: Tensor | None
    weight: Tensor

    def to(self, device: torch.device) -> Group:
        """Return the same group on a device."""
        tensors = (self.nodes, self.size, self.places, self.weight)
        nodes, size, places, weight = (t if t is None else t.to(device) for t in tensors)
        assert weight is not None
        return Group(self.length, self.width, nodes, size, places, weight)


def _transform_length(size: int) -> int:
    """Return a ring's transform length, a function of its own size alone."""
    if size >= limits.LARGE_RING and ring_length(size) != size:
        return int(next_fast_len(2 * size - 1, real=True))  # factors 2, 3 and 5
    if size >= limits.SHARED_TRANSFORM:
        return ring_length(size)
    power = 1 << (2 * size - 2).bit_length()  # the power of two >= 2 * size - 1
    return power // 4 * 3 if power >= 4 and power // 4 * 3 >= 2 * size - 1 else power


@cached(64)
def layout(sizes: tuple[int, ...], device: torch.device) -> tuple[tuple[int, ...], list[Group], Tensor | None]:
    """Return the distinct ring lengths, the groups, and where each row stands in their joined results."""
    distinct_sizes = tuple(sorted({*sizes}))
    members: dict[tuple[int, int], list[int]] = {}
    for i, size in enumerate(sizes):
        length = _transform_length(size)
        members.setdefault((length, size if size >= limits.SHARED_TRANSFORM else 0), []).append(i)
    starts = torch.tensor([0, *sizes]).cumsum(0)
    groups = [
        group_of(length, [sizes[i] for i in rows], [int(starts[i]) for i in rows], distinct_sizes, sum(sizes))
        for (length, _), rows in members.items()
    ]
    if len(sizes) == 1:
        group = groups[0]
        places = None if group.length == distinct_sizes[0] else group.places
        return distinct_sizes, [Group(group.length, group.width, None, None, places, group.weight).to(device)], None
    nodes = torch.cat([group.nodes for group in groups if group.nodes is not None])
    back = node_places(nodes, nodes < sum(sizes))
    return distinct_sizes, [group.to(device) for group in groups], back.to(device)


def group_of(
    length: int, sizes: Sequence[int], starts: Sequence[int], distinct_sizes: tuple[int, ...], nodes: int
) -> Group:
    """Lay rings out at one transform length, and filters around both of its ends, so that places 0 to n - 1 of a
    result are the circular convolution of length n.

    Args:
        length: L.
        sizes: of the rings.
        starts: row of each ring's first node.
        distinct_sizes: distinct sizes of all rings, ascending, whose filters follow one another in P places.
        nodes: N.
    """
    width, distinct = max(sizes), sorted({*sizes})
    place = torch.arange(width)
    size, start = torch.tensor(sizes).unsqueeze(1), torch.tensor(starts).unsqueeze(1)
    index = torch.where(place < size, start + place, nodes)  # (G, W)
    at = dict(zip(distinct_sizes, torch.tensor([0, *distinct_sizes]).cumsum(0).tolist(), strict=False))
    lag = torch.arange(length)
    n = torch.tensor(distinct).unsqueeze(1)
    first = torch.tensor([at[s] for s in distinct]).unsqueeze(1)
    wrapped = torch.where(lag > length - n, lag - length + n, sum(distinct_sizes) - first)
    places = first + torch.where(lag < n, lag, wrapped)  # (S, L)
    which = torch.tensor([distinct.index(s) for s in sizes]) if len(distinct) > 1 else None
    weight = torch.full((length // 2 + 1,), 2.0, dtype=torch.float64)
    weight[0] = 1.0
    if length % 2 == 0:
        weight[-1] = 1.0
    return Group(length, width, index.flatten(), which, places.flatten(), weight.repeat_interleave(2) / length)
