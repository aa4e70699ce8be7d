"""Implicit filters: slow waves of the ring, from a small network over its places, for any number of nodes.

Shapes: N nodes, K order, D channels, R hidden features, P places, B harmonics.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from geco.nn.filters.base import Filter, places_of, silence, sines
from geco.nn.graph.remembered import cached
from geco.nn.resolve import check_name, reset

__all__ = ["Gain", "ImplicitFilter", "Position"]

Position = Literal["ring", "absolute"]
Gain = Literal["unit", "mean"]

GRID = 512  # first grid on which a filter's spectrum is looked for
TAIL = {torch.float64: 1e-16}  # share of the largest harmonic below which the rest, and its gradients, are rounding


class ImplicitFilter(Filter):
    r"""Waves of the ring, :math:`F_i(t) = \frac{1}{N} + \frac{1}{\sqrt N} A_i\,(\phi(t/N) - \bar\phi)` with
    :math:`\phi` an FFN of sine activations and :math:`\bar\phi` its mean over the ring.

    :math:`\phi` sees the ring's Fourier features :math:`\cos 2\pi k t/N, \sin 2\pi k t/N` for k = 1 to ``harmonics``,
    so a filter is as periodic as the convolution it is used in. The paper does not say how filters are scaled; without
    decay a filter's gain would grow with N. Here the waves hand a white signal on at the strength it came with,
    whatever N, and start at zero: a fresh filter is the mean. With ``gain="mean"`` it is :math:`\frac{1}{N}(1 +
    A_i\,\phi(t/N))`, what GECO had until 2026-11: next to the mean its waves fade as :math:`1 / \sqrt N`. No table is
    stored: one set of weights serves every N.

    Args:
        order: K, the number of filters per channel.
        channels: D.
        harmonics: Fourier features of the ring.
        width: R, hidden units.
        depth: hidden layers.
        frequency: initial frequency of the sine activations; all of them are trained.
        position: ``ring`` (t / N) or ``absolute`` (t itself, at wavelengths from 2 to 10,000 nodes; with
            ``gain="mean"`` only).
        gain: ``unit`` or ``mean``.

    Example:
        >>> ImplicitFilter(order=2, channels=4)(5).shape
        torch.Size([2, 4, 5])
    """

    def __init__(
        self,
        order: int,
        channels: int,
        *,
        harmonics: int = 8,
        width: int = 64,
        depth: int = 2,
        frequency: float = 1.0,
        position: Position = "ring",
        gain: Gain = "unit",
    ) -> None:
        super().__init__(order, channels, harmonics=harmonics, width=width, depth=depth)
        check_name("position", position, get_args(Position))
        check_name("gain", gain, get_args(Gain))
        if gain == "unit" and position == "absolute":
            raise ValueError("gain='unit' needs position='ring'; with position='absolute' use gain='mean'")
        self.harmonics, self.position, self.gain, self.unit = harmonics, position, gain, gain == "unit"
        self.width, self.depth, self.frequency = width, depth, frequency
        widths = [2 * harmonics, *[width] * depth]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.frequencies = nn.Parameter(torch.empty(depth, width))
        self.mix = nn.Linear(width, order * channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset all weights and cached spectra."""
        reset(self.layers)
        reset(self.mix)
        nn.init.constant_(self.frequencies, self.frequency)
        if self.unit:
            silence(self.mix)
        self._cache.clear()

    def forward(self, num_nodes: int) -> Tensor:
        """Return the filters at every place of a ring, ``(K, D, N)``."""
        place = torch.arange(num_nodes, device=self.mix.weight.device).unsqueeze(1)
        waves = self._waves(self._features(place, num_nodes), num_nodes)
        filters = self.mix(waves).t() + 1 / num_nodes  # (K * D, N)
        return filters.view(self.order, self.channels, -1)  # type: ignore[no-any-return]

    def _waves(self, features: Tensor, around: Tensor | int) -> Tensor:
        """Return the waves ``(P, R)`` of rings of the given size at places with these features."""
        if self.gain == "mean":
            return self._hidden(features) / around
        grid = _grid_features(GRID, self.harmonics, features.device).to(features.dtype)
        hidden = self._hidden(torch.cat([features, grid]))  # phi at the places, and all around a ring for its mean
        # A root of whole numbers would be float32.
        size = around.to(hidden.dtype) if isinstance(around, Tensor) else around
        here, ring = hidden.split([features.shape[0], GRID])  # len() would fix N in an export
        waves: Tensor = (here - ring.mean(0)) / size**0.5
        return waves

    def factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return mix ``(K, D, R + 1)`` and features ``(R + 1, sum of sizes)``: the constant is a feature of its own."""
        place, around = places_of(sizes, self.mix.weight.device)
        waves = self._waves(self._features(place, around), around)  # (P, R)
        phi = torch.cat([waves, waves.new_ones(len(waves), 1) / around], 1)
        mix = self.mix.weight.view(self.order, self.channels, -1)
        return torch.cat([mix, mix.new_ones(self.order, self.channels, 1)], 2), phi.t()

    def harmonics_of(self, limit: int) -> Tensor | None:
        """Return the filters' Fourier coefficients ``(K, B, D)`` as `Filter.harmonics_of`.

        A sine network over few harmonics is a smooth function of the ring, whose coefficients fall off faster than any
        power. Sampled on a grid of P places, with its upper half of harmonics empty, it is known at every N: the same
        coefficients are the spectrum of the filter on any ring of N >= 2B nodes. None if the filter is too rough.
        """
        if self.position != "ring":
            return None
        grid = GRID
        while True:
            waves = self._grid_waves(grid)  # (R, grid / 2 + 1, 2)
            used = self._used(waves)
            if used <= grid // 4:
                # A multiple of 8, so that a slow drift does not change the plan at every step.
                bands = -(-used // 8) * 8
                return self._spectrum(waves[:, :bands]) if bands <= limit else None
            if grid // 4 >= limit:
                return None
            grid *= 2

    def _grid_waves(self, grid: int) -> Tensor:
        """Return the Fourier coefficients of phi on a grid, real and imaginary parts, float64."""
        hidden = self._hidden(_grid_features(grid, self.harmonics, self.mix.weight.device))
        return torch.view_as_real(torch.fft.rfft(hidden.t(), norm="forward"))

    def _spectrum(self, waves: Tensor) -> Tensor:
        parts = self._mixed(waves).view(self.order, self.channels, -1, 2)
        return torch.view_as_complex(parts).transpose(1, 2)

    @torch.no_grad()
    def _used(self, waves: Tensor) -> int:
        """Return the number of harmonics up to the last that counts in any filter.

        Under unit gain, in any feature: weights that start at zero need all harmonics that they could use.
        """
        parts = waves.flatten(1) if self.unit else self._mixed(waves)
        strength = parts.abs().amax(0).view(-1, 2).amax(1)  # (grid / 2 + 1,)
        tail = TAIL.get(self.mix.weight.dtype, 1e-12) * strength.max().clamp(min=1.0)  # beside the mean, which is one
        return int((strength > tail).nonzero()[-1]) + 1

    def _mixed(self, waves: Tensor) -> Tensor:
        """Mix the coefficients of phi by A and add one to the constant, ``(R, B, 2)`` to ``(K * D, 2 * B)``."""
        waves = waves.flatten(1)
        if self.unit:  # without phi's own constant
            waves = torch.cat([torch.zeros_like(waves[:, :2]), waves[:, 2:]], 1)
        mixed = self.mix.weight.to(waves.dtype) @ waves  # A is real: no complex product
        one = torch.zeros_like(mixed[0])
        one[0] = 1.0  # real part of harmonic 0
        return mixed.add_(one)

    def _hidden(self, features: Tensor) -> Tensor:
        """Return phi where the features are ``(P, 2 * harmonics)``, in their precision, ``(P, R)``."""
        return sines(self.layers, self.frequencies, features)

    def _features(self, place: Tensor, size: Tensor | int) -> Tensor:
        """Return the features of places ``(P, 1)`` of rings of the given size, ``(P, 2 * harmonics)``."""
        if self.position == "ring":
            features = _ring_features(place, size, self.harmonics)
        else:
            wavelength = torch.logspace(math.log10(2), 4, self.harmonics, dtype=torch.float64, device=place.device)
            features = _waves_at(place / wavelength)
        return features.to(self.mix.weight.dtype)

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        shape = f"order={self.order}, channels={self.channels}, harmonics={self.harmonics}"
        return f"{shape}, position={self.position}, gain={self.gain}"


def _ring_features(place: Tensor, size: Tensor | int, harmonics: int) -> Tensor:
    """Return cosines and sines of the places' angles, ``(P, 1)`` to ``(P, 2 * harmonics)``, float64."""
    count = torch.arange(1, harmonics + 1, device=place.device)
    # Whole turns are taken off before rounding, so large rings lose no precision.
    turns = (place * count).remainder(size)
    return _waves_at(turns.double() / size)


def _waves_at(turns: Tensor) -> Tensor:
    return torch.cat([torch.cos(2 * math.pi * turns), torch.sin(2 * math.pi * turns)], 1)


@cached(16)
def _grid_features(grid: int, harmonics: int, device: torch.device) -> Tensor:
    """Return the features of all places of a grid, the same at every step."""
    return _ring_features(torch.arange(grid, device=device).unsqueeze(1), grid, harmonics)
