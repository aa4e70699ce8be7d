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

SHORTEST, LONGEST, WAVES = 2.0, 512.0, 16  # wavelengths of the distances' features, in nodes, and their number


class Windows(nn.Module):
    r"""Filters over signed distances :math:`-S \le d \le S`,
    :math:`W_i(d) = \sum_r B_{ir}\, c_r\, e^{-|d| / s_r}\, \psi_r(d)`, with :math:`\psi` an FFN of R sine activations
    over waves of 2 to 512 nodes.

    Scales :math:`s_r` go from 1 node to S in equal ratios, so that every layer has features of the nearest nodes and of
    far ones, and :math:`c_r` brings all features to an L2 norm of about one: each keeps the variance of white noise, at
    every scale and for every N. B starts at zero (``silent``: a fresh block is the gated mean) or at random
    (``drawn``). On a ring shorter than 2 S + 1 nodes a filter wraps around, exactly: see `wrapped`.

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
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise([2 * WAVES, *[width] * depth]))
        self.frequencies = nn.Parameter(torch.empty(depth, width))
        self.mix = nn.Linear(width, order * channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw psi, and zero B or draw it."""
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
        waves, envelope = _tables(self.support, self.mix.in_features, self.mix.weight.device)
        return sines(self.layers, self.frequencies, waves).t() * envelope

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"order={self.order}, channels={self.channels}, support={self.support}"


class WindowedFilter(ImplicitFilter):
    r"""GECO's filter, mean, waves and windows: :math:`F_i(t) = \frac{1}{N} + \frac{1}{\sqrt N} A_i\,(\phi(t/N) -
    \bar\phi) + \sum_{d \equiv t \bmod N} W_i(d)`, with A and :math:`\phi` of `ImplicitFilter` and W of `Windows`.

    Args:
        order: K, the number of filters per channel.
        channels: D.
        harmonics: Fourier features of the ring that the waves are made from.
        support: of `Windows`, as all that follow.
        width: R.
        depth: hidden layers.
        frequency: initial frequency.
        start: ``silent``, so that a fresh filter is the mean, or ``drawn``.

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
        self.windows_reach = support
        self.windows = Windows(
            order, channels, support=support, width=width, depth=depth, frequency=frequency, start=start
        )

    def reset_parameters(self) -> None:
        """Reset all weights and cached spectra."""
        super().reset_parameters()
        if "windows" in self._modules:  # they are made after the base class has reset its own
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
        mix_windows = self.windows.mix.weight.view(self.order, self.channels, -1)
        return torch.cat([mix, mix_windows], 2), torch.cat([phi, around])


@cached(16)
def _tables(support: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the distances' waves ``(2 S + 1, 2 WAVES)`` and the envelopes of all scales ``(R, 2 S + 1)``.

    An envelope has L2 norm sqrt(2): times sines, whose mean square is a half, it makes features of about norm 1.
    """
    distance = np.arange(-support, support + 1, dtype=np.float64)
    angle = 2 * math.pi * distance[:, None] / np.geomspace(SHORTEST, LONGEST, WAVES)
    envelope = np.exp(-np.abs(distance) / np.geomspace(1, support, width)[:, None])
    envelope *= np.sqrt(2.0 / np.square(envelope).sum(1, keepdims=True))
    waves = torch.from_numpy(np.concatenate([np.cos(angle), np.sin(angle)], 1))
    return waves.to(device), torch.from_numpy(envelope).to(device)


def wrapped(taps: Tensor, *sizes: int) -> Tensor:
    """Wrap filters over distances onto rings, ``(..., 2 S + 1)`` to ``(..., sum of sizes)``: taps that fall on one
    place are summed.

    Example:
        >>> wrapped(torch.tensor([1., 2., 3.]), 5), wrapped(torch.tensor([1., 2., 3.]), 2, 3)
        (tensor([2., 3., 0., 0., 1.]), tensor([2., 4., 2., 3., 1.]))
    """
    support = taps.shape[-1] // 2
    if torch.compiler.is_exporting():  # one ring, of a traced size
        place = torch.arange(-support, support + 1, device=taps.device) % sizes[0]
        each = taps
    else:
        place, source = _wrapped_places(support, sizes, taps.device)
        each = taps.index_select(-1, source)
    return taps.new_zeros(*taps.shape[:-1], sum(sizes)).index_add(-1, place, each)


@cached(64)
def _wrapped_places(support: int, sizes: tuple[int, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return, for each tap of each ring, its place in the joined rings and its index."""
    size = np.array(sizes)[:, None]
    place = np.arange(-support, support + 1) % size + size.cumsum(0) - size
    source = np.tile(np.arange(2 * support + 1), len(sizes))
    return torch.from_numpy(place.ravel()).to(device), torch.from_numpy(source).to(device)
