r"""Windows: the part of a filter that sees distance. Functions of the signed distance on the ring, counted in nodes.

Shapes: K order, D channels, R features, S support, n nodes of a ring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from geco.nn.filters.base import silence, sines
from geco.nn.filters.waves import ImplicitFilter
from geco.nn.graph.remembered import cached
from geco.nn.resolve import check_name, reset

__all__ = ["Start", "WindowedFilter", "Windows", "wrapped"]

Start = Literal["silent", "drawn"]

SHORTEST, LONGEST = 2.0, 512.0  # wavelengths of the distances' features, in nodes


class Windows(nn.Module):
    r"""Filters over signed distances :math:`-S \le d \le S`,
    :math:`W_i(d) = B_i\,\big(\psi_r(d)\,e^{-|d| / s_r}\big)_r`, with :math:`\psi` an FFN of sine activations over waves
    of 2 to 512 nodes.

    Scales go from 1 node to S in equal ratios, so that every layer has features of the nearest nodes and of far ones.
    All windows have one L2 norm: a feature hands a white signal on alike at every scale and for every N. B starts at
    zero, so a fresh block is the gated mean, or drawn: then it looks around from the first step. On a ring shorter than
    2 S + 1 nodes a filter wraps around, exactly: see `wrapped`.

    Args:
        order: K, filters per channel.
        channels: D.
        support: S, the farthest distance, in nodes.
        width: R, hidden units.
        depth: hidden layers.
        frequency: initial frequency of the sine activations; all of them are trained.
        start: of B, ``silent`` or ``drawn``.

    Example:
        >>> Windows(order=2, channels=4, support=16)().shape
        torch.Size([2, 4, 33])
    """

    def __init__(
        self,
        order: int,
        channels: int,
        *,
        support: int = 128,
        width: int = 64,
        depth: int = 2,
        frequency: float = 1.0,
        start: Start = "silent",
    ) -> None:
        super().__init__()
        check_name("start", start, get_args(Start))
        for name, value in (("support", support), ("width", width), ("depth", depth)):
            if value < 1:
                raise ValueError(f"{name} of windows must be at least 1, got {value}")
        self.order, self.channels, self.support = order, channels, support
        self.frequency, self.start = frequency, start
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise([2 * _WAVES, *[width] * depth]))
        self.frequencies = nn.Parameter(torch.empty(depth, width))
        self.mix = nn.Linear(width, order * channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the features, and silence them or draw how they are mixed."""
        reset(self.layers)
        nn.init.constant_(self.frequencies, self.frequency)
        if self.start == "drawn":
            self.mix.reset_parameters()
        else:
            silence(self.mix)

    def forward(self) -> Tensor:
        """Return the filters at distances -S to S, ``(K, D, 2 S + 1)``; float64, as many add up on a short ring."""
        return (self.mix.weight.double() @ self.features()).view(self.order, self.channels, -1)

    def features(self) -> Tensor:
        """Return the windowed features at distances -S to S, ``(R, 2 S + 1)``, in float64."""
        waves, window = _tables(self.support, self.mix.in_features, self.mix.weight.device)
        return sines(self.layers, self.frequencies, waves).t() * window

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"order={self.order}, channels={self.channels}, support={self.support}"


class WindowedFilter(ImplicitFilter):
    r"""GECO's filter, mean, waves and windows: :math:`F_i(t) = \frac{1}{N} + \frac{1}{\sqrt N} A_i\,(\phi(t/N) -
    \bar\phi) + \sum_{d \equiv t \bmod N} W_i(d)`.

    Args:
        order: K, the number of filters per channel.
        channels: D.
        harmonics: Fourier features of the ring, of the waves.
        support: S, the farthest distance of the windows, in nodes.
        width: R, hidden units of the windows.
        depth: their hidden layers.
        frequency: initial frequency of their sine activations.
        start: of their weights: ``silent``, so that a fresh filter is the mean, or ``drawn``.

    Example:
        >>> WindowedFilter(order=2, channels=4)(5).shape
        torch.Size([2, 4, 5])
    """

    def __init__(
        self,
        order: int,
        channels: int,
        *,
        harmonics: int = 8,
        support: int = 128,
        width: int = 64,
        depth: int = 2,
        frequency: float = 1.0,
        start: Start = "silent",
    ) -> None:
        super().__init__(order, channels, harmonics=harmonics, width=2 * harmonics, depth=1)
        self.windows = Windows(
            order, channels, support=support, width=width, depth=depth, frequency=frequency, start=start
        )

    def reset_parameters(self) -> None:
        """Reset all weights and cached spectra."""
        super().reset_parameters()
        if "windows" in self._modules:
            self.windows.reset_parameters()

    def forward(self, num_nodes: int) -> Tensor:
        """Return the filters at every place of a ring, ``(K, D, N)``."""
        waves = super().forward(num_nodes)
        return waves + wrapped(self.windows(), num_nodes).to(waves.dtype)

    def taps(self) -> Tensor:
        """Return the part of the filters over distances, ``(K, D, 2 S + 1)``, float64."""
        return self.windows()  # type: ignore[no-any-return]

    def factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the filters of several rings as `ImplicitFilter.factors` does, with the windows' features too."""
        mix, phi = super().factors(sizes)
        features = self.windows.features()
        around = wrapped(features, *sizes).to(phi.dtype)
        return torch.cat([mix, self.windows.mix.weight.view(self.order, self.channels, -1)], 2), torch.cat(
            [phi, around]
        )


_WAVES = 16


@cached(16)
def _tables(support: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the distances' waves ``(2 S + 1, 32)`` and the windows of all scales ``(R, 2 S + 1)``, each of L2 norm
    sqrt(2).

    The features under them are sines, whose mean square is a half.
    """
    distance = np.arange(-support, support + 1, dtype=np.float64)
    angle = 2 * math.pi * distance[:, None] / np.geomspace(SHORTEST, LONGEST, _WAVES)
    window = np.exp(-np.abs(distance) / np.geomspace(1, support, width)[:, None])
    window *= np.sqrt(2.0 / np.square(window).sum(1, keepdims=True))
    waves = torch.from_numpy(np.concatenate([np.cos(angle), np.sin(angle)], 1))
    return waves.to(device), torch.from_numpy(window).to(device)


def wrapped(taps: Tensor, *sizes: int) -> Tensor:
    """Lay filters over distances around rings, ``(..., 2 S + 1)`` to ``(..., sum of sizes)``: what meets in a place
    adds up.

    Example:
        >>> wrapped(torch.tensor([1., 2., 3.]), 5), wrapped(torch.tensor([1., 2., 3.]), 2, 3)
        (tensor([2., 3., 0., 0., 1.]), tensor([2., 4., 2., 3., 1.]))
    """
    support = taps.shape[-1] // 2
    if torch.compiler.is_exporting():  # a traced size cannot be looked up
        place = torch.arange(-support, support + 1, device=taps.device) % sizes[0]
        each = taps
    else:
        place, source = _wrapped_places(support, sizes, taps.device)
        each = taps.index_select(-1, source)
    return taps.new_zeros(*taps.shape[:-1], sum(sizes)).index_add(-1, place, each)


@cached(64)
def _wrapped_places(support: int, sizes: tuple[int, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return where each distance comes to stand on each ring, one ring after the other, and its number."""
    size = np.array(sizes)[:, None]
    place = np.arange(-support, support + 1) % size + size.cumsum(0) - size
    source = np.tile(np.arange(2 * support + 1), len(sizes))
    return torch.from_numpy(place.ravel()).to(device), torch.from_numpy(source).to(device)
