r"""Circular convolutions of a batch of rings in stock operators, their number the same whatever the batch.

What runs on devices that are not a CPU, under `torch.export`, on the meta device and for second derivatives. Rings of
different sizes are padded to one length L, so a batch with one ring much longer than the others costs memory.

Shapes: N nodes in all, G rings, W the longest, S distinct sizes, L transform length, K order, D channels, R features.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from geco.nn.filters import Filter
from geco.nn.functional import fast_length, node_places, ring_length
from geco.nn.graph.remembered import cached
from geco.nn.graph.rings import Rings
from geco.nn.ops.fft_layout import group_of

__all__ = ["PlainRings"]


class PlainRings:
    r"""The rings of a batch side by side, zeros where one has ended.

    Args:
        rings: the rings.

    Example:
        >>> from geco.nn.filters import MeanFilter
        >>> rings = PlainRings(Rings((2, 1), torch.arange(2)))
        >>> _, v = rings.lay_out(torch.tensor([[0.0, 1.0], [0.0, 3.0], [0.0, 5.0]]), 1)
        >>> mean, = rings.filters(MeanFilter(1, 1), v.dtype)
        >>> rings.take_back(rings.convolve(v, mean)).flatten().tolist()
        [2.0, 2.0, 5.0]
    """

    def __init__(self, rings: Rings) -> None:
        self.rings = rings
        # A traced N has no factors to plan by: one ring as it comes.
        self.layout = None if torch.compiler.is_exporting() else _layout(rings.sizes, rings.graph.device)

    def lay_out(self, z: Tensor, order: int) -> tuple[Tensor, ...]:
        """Bring node rows of K gates and the value, ``(N, (K + 1) D)``, to their rings, ``(G, W, D)`` each."""
        return self._padded(z).chunk(order + 1, dim=-1)

    def _padded(self, x: Tensor) -> Tensor:
        if self.layout is None:
            return x.unsqueeze(0)
        padded = torch.nn.functional.pad(self.rings.arrange(x), (0, 0, 0, 1))
        return padded.index_select(0, self.layout.nodes).view(len(self.rings.sizes), -1, x.shape[1])

    def take_back(self, x: Tensor) -> Tensor:
        """Bring them back, ``(G, W, C)`` to ``(N, C)``."""
        rows = x.flatten(0, 1)
        return rows if self.layout is None else self.rings.restore(rows.index_select(0, self.layout.back))

    def filters(self, filter: Filter, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """Return the transforms of the K filters, ``(G, L // 2 + 1, D)`` each; of a traced N, ``(1, N, D)``."""
        if self.layout is None:
            whole = filter(self.rings.sizes[0]).to(dtype).transpose(1, 2).unsqueeze(1)  # (K, 1, N, D)
            return tuple(torch.fft.fft(f, dim=1) for f in whole)
        # (K, D, R), (R, sum of distinct sizes)
        mix, phi = (t.to(dtype) for t in filter.factors(self.layout.distinct))
        laid = torch.nn.functional.pad(phi, (0, 1)).index_select(1, self.layout.places)  # (R, S * L)
        around = (mix.flatten(0, 1) @ laid).view(*mix.shape[:2], -1, self.layout.length)  # (K, D, S, L)
        spectra: Tensor = torch.fft.rfft(around).index_select(2, self.layout.which)  # (K, D, G, L // 2 + 1)
        return spectra.permute(0, 2, 3, 1).unbind(0)

    def convolve(self, v: Tensor, f: Tensor) -> Tensor:
        r"""Return :math:`F \circledast V` on every ring, ``(G, W, D)`` to ``(G, W, D)``."""
        if self.layout is None:  # all frequencies: half of a traced N would be a guard on its parity
            mixed: Tensor = torch.fft.ifft(torch.fft.fft(v, dim=1) * f, dim=1)
            return mixed.real
        length = self.layout.length
        # Also where it is long enough: one number of steps.
        padded = torch.nn.functional.pad(v, (0, 0, 0, length - v.shape[1]))
        y: Tensor = torch.fft.irfft(torch.fft.rfft(padded, dim=1) * f, n=length, dim=1)
        return y.narrow(1, 0, v.shape[1])


class _Layout(NamedTuple):
    """Where nodes and filters stand.

    Args:
        distinct: sizes of rings, ascending.
        length: L >= 2 W - 1, or W where all rings have that size and it is fast to transform.
        places: place of each distinct size's filter around both ends of L, ``(S * L,)``.
        which: size of each ring, ``(G,)``.
        nodes: node at each place of the rings, N where there is none, ``(G * W,)``.
        back: place of each node, ``(N,)``.
    """

    distinct: tuple[int, ...]
    length: int
    places: Tensor
    which: Tensor
    nodes: Tensor
    back: Tensor


@cached(64)
def _layout(sizes: tuple[int, ...], device: torch.device) -> _Layout:
    """Lay the rings out side by side, and filters around both ends of L."""
    distinct = tuple(sorted({*sizes}))
    length = ring_length(distinct[-1]) if len(distinct) == 1 else fast_length(2 * distinct[-1] - 1)
    group = group_of(length, sizes, [*accumulate(sizes, initial=0)][:-1], distinct, sum(sizes))
    assert group.nodes is not None
    assert group.places is not None
    which = torch.zeros(len(sizes), dtype=torch.long) if group.size is None else group.size
    back = node_places(group.nodes, group.nodes < sum(sizes))
    return _Layout(distinct, length, *(t.to(device) for t in (group.places, which, group.nodes, back)))
