r"""The plain form of the global block where a ring is shared out over several processes.

Filters of few harmonics need a sum over all of the ring for each, and their windows a few rows of the neighbours on
either side (`Waves`); others, and all on rings too short for that, have whole rings of a share of the channels in
between (`Channels`).

Shapes: N nodes, n of them here, D channels, d of them here, K order, B harmonics, S support.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from geco.nn.filters import Filter
from geco.nn.functional import circular_conv, fast_length
from geco.nn.graph.rings import Rings
from geco.nn.graph.span import Span
from geco.nn.ops.long_ring import real_rows, wave_tables
from geco.nn.ops.plain_rings import PlainRings
from geco.nn.ops.plan import smooth_parts

__all__ = ["Channels", "PlainForm", "Waves", "plain_form"]


class PlainForm(Protocol):
    """How gates and values lie on their rings, and how they are convolved there."""

    def lay_out(self, z: Tensor, order: int) -> Sequence[Tensor]:
        """Return K gates and the value, from rows of all of them, ``(n, (K + 1) D)``."""

    def filters(self, filter: Filter, dtype: torch.dtype) -> Sequence[Any]:
        """Return the K filters as `convolve` takes them."""

    def convolve(self, v: Tensor, f: Any) -> Tensor:
        r"""Return :math:`F \circledast V` on every ring."""

    def take_back(self, x: Tensor) -> Tensor:
        """Return rows of nodes, ``(n, D)``."""


def plain_form(rings: Rings, filter: Filter, like: Tensor) -> PlainForm:
    """Return the form that suits rings and filter; ``like`` is of the type and device to work in."""
    if rings.span is None:
        return PlainRings(rings)
    limit = rings.num_nodes // 2  # harmonics of a ring; the mean of a single node is its own
    smooth = smooth_parts(filter, max(1, limit), like)
    return Waves(rings.span, smooth, filter.unit) if smooth else Channels(rings.span)


class Wave(NamedTuple):
    """One filter: its harmonics, complex ``(B, D)``, and its windows, ``(D, 2 S + 1)``, if it has any."""

    spectrum: Tensor
    taps: Tensor | None


class Waves:
    """Convolutions by waves of the ring, whose harmonics are summed over all of it, and windows.

    Args:
        span: the places that are here.
        smooth: of `smooth_parts`: harmonics of the filters ``(K, B, D)``, and their windows if they have any.
        unit: whether waves are sqrt(N) times stronger than the mean.
    """

    def __init__(self, span: Span, smooth: Sequence[Tensor], unit: bool) -> None:
        self.span, self.smooth, self.unit = span, smooth, unit

    def lay_out(self, z: Tensor, order: int) -> tuple[Tensor, ...]:
        """Return K gates and the value, ``(n, D)`` each."""
        return z.chunk(order + 1, dim=1)

    def filters(self, filter: Filter, dtype: torch.dtype) -> list[Wave]:
        """Return harmonics, in float64, and windows of each filter."""
        spectra, *windows = self.smooth
        taps = windows[0].to(dtype).unbind() if windows else [None] * len(spectra)
        return [Wave(*each) for each in zip(self._shared(spectra).unbind(), taps, strict=True)]

    def convolve(self, v: Tensor, f: Wave) -> Tensor:
        r"""Return :math:`F \circledast V`, ``(n, D)``."""
        bands, span = len(f.spectrum), self.span
        q, waves, *_ = wave_tables(span.num_nodes, span.first, span.count, bands, v.dtype, v.device)
        blocks = v.split(len(q))
        met = torch.cat([q[: len(block)].t() @ block for block in blocks])
        seen = span.total(waves.t() @ met.double())  # harmonics of V, (2B, D)
        mixed = waves @ real_rows(f.spectrum * torch.complex(seen[:bands], seen[bands:]))
        local = mixed.to(v.dtype).view(len(blocks), q.shape[1], -1)
        y = torch.cat([q[: len(block)] @ here for block, here in zip(blocks, local, strict=True)])
        return y if f.taps is None else y + self._windowed(v, f.taps)

    def take_back(self, x: Tensor) -> Tensor:
        """Return rows as they are."""
        return x

    def _shared(self, spectra: Tensor) -> Tensor:
        """Return spectra as their waves are added up: k and -k are one, but for k = 0."""
        n = self.span.num_nodes
        share = spectra.real.new_full((spectra.shape[1], 1), 2.0 * (n**0.5 if self.unit else 1.0) / n)
        share[0] = 1.0 / n
        return spectra * share

    def _windowed(self, v: Tensor, taps: Tensor) -> Tensor:
        """Convolve with taps at distances -S to S, ``(n, D)`` to ``(n, D)``."""
        support = taps.shape[1] // 2
        around = self.span.around(v, support)  # (n + 2S, D)
        if len(v) == 0:
            return around * taps.sum(1)  # no rows, but a part of backward, where others wait for its gradients
        length = fast_length(len(around))
        spectrum = torch.fft.rfft(around.t(), n=length) * torch.fft.rfft(taps, n=length)
        y: Tensor = torch.fft.irfft(spectrum, n=length)[:, 2 * support : 2 * support + len(v)]
        return y.t()


class Column(NamedTuple):
    """One filter on the whole ring, ``(d, N)``, and whether it is the last."""

    filter: Tensor
    last: bool


class Channels:
    """Convolutions by transforms of whole rings, of a share of the channels; the last gate stays with its nodes.

    So K values go to channels at once, one comes back: of K + 1 that is the least.

    Args:
        span: the places that are here.
    """

    def __init__(self, span: Span) -> None:
        self.span, self.width = span, 0

    def lay_out(self, z: Tensor, order: int) -> list[Tensor]:
        """Return gates and value of whole rings, ``(N, d)``, but the last gate as it is, ``(n, D)``."""
        rows = z.view(len(z), order + 1, z.shape[1] // (order + 1))
        self.width = rows.shape[2]
        moved = torch.cat([rows[:, : order - 1], rows[:, order:]], 1)
        *gates, v = self.span.to_channels(moved).unbind(1)
        return [*gates, rows[:, order - 1], v]

    def filters(self, filter: Filter, dtype: torch.dtype) -> list[Column]:
        """Return each filter at every place of the ring, of the channels that are here."""
        mix, phi = filter.fast_factors((self.span.num_nodes,))
        around = mix[:, self.span.channels(filter.channels)].to(dtype) @ phi.to(dtype)  # (K, d, N)
        return [Column(f, i + 1 == len(around)) for i, f in enumerate(around.unbind())]

    def convolve(self, v: Tensor, f: Column) -> Tensor:
        r"""Return :math:`F \circledast V`, ``(N, d)``, of the last filter ``(n, D)``."""
        # without channels: nothing, but a part of backward, where others wait for its gradients
        y = v * f.filter.t() if v.shape[1] == 0 else circular_conv(v.t(), f.filter).t()
        return self.span.to_nodes(y.unsqueeze(1), self.width).squeeze(1) if f.last else y

    def take_back(self, x: Tensor) -> Tensor:
        """Return rows as they are: the last filter has brought them back."""
        return x
