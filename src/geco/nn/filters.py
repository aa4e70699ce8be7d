"""Implicit filters: a small network over the places of the ring gives a filter for any number of nodes.

Shapes: N nodes, K order, D channels, R hidden features, P places, B harmonics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeVar, get_args

import torch
from torch import Tensor, nn

__all__ = ["Filter", "ImplicitFilter", "Position", "places_of"]

Position = Literal["ring", "absolute"]
T = TypeVar("T")

GRID = 512  # first grid on which a filter's spectrum is looked for
TAIL = {torch.float64: 1e-16}  # share of the largest harmonic below which the rest, and its gradients, are rounding
MOST_CACHED = 8


class Filter(nn.Module):
    """What all filters of the global context block share: K filters for each of D channels, on rings of any size.

    Args:
        order: K.
        channels: D.
        sizes: further numbers that must be at least 1, by name.
    """

    def __init__(self, order: int, channels: int, **sizes: int) -> None:
        super().__init__()
        for name, value in {"order": order, "channels": channels, **sizes}.items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.order, self.channels = order, channels
        self._cache: dict[object, tuple[object, object]] = {}

    def reset_parameters(self) -> None:
        """Draw all weights anew and forget cached spectra."""
        raise NotImplementedError

    def forward(self, num_nodes: int) -> Tensor:
        """Return the filters at every place of a ring, ``(K, D, N)``."""
        raise NotImplementedError

    def factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the filters of several rings as a product: mix ``(K, D, R)`` and features ``(R, sum of sizes)``.

        ``mix @ features`` holds the rings' filters one after the other. Nobody needs that product: a transform of
        the R features replaces one of the K * D filters.
        """
        raise NotImplementedError

    def harmonics_of(self, limit: int) -> Tensor | None:
        """Return the filters' Fourier coefficients ``(K, B, D)``, complex, if they end within ``limit`` harmonics."""
        raise NotImplementedError

    def cached(self, key: object, build: Callable[[], T]) -> T:
        """Return ``build()``, remembered until a weight changes; only without gradients, where nothing else depends on it."""
        if torch.is_grad_enabled():
            return build()
        state = tuple((p.data_ptr(), p._version, p.dtype) for p in self.parameters())
        found = self._cache.get(key)
        if found is None or found[0] != state:
            if len(self._cache) == MOST_CACHED:
                self._cache.clear()
            found = self._cache[key] = (state, build())
        return found[1]  # type: ignore[return-value]


class ImplicitFilter(Filter):
    r"""Filters :math:`F_i(t) = \frac{1}{N}\big(1 + A_i\,\phi(t/N)\big)` with :math:`\phi` an FFN of sine activations.

    :math:`\phi` sees the ring's Fourier features :math:`\cos 2\pi k t/N, \sin 2\pi k t/N` for k = 1 to ``harmonics``, so
    a filter is as periodic as the convolution it is used in. The paper does not say how filters are scaled; without
    decay a filter's gain would grow with N. Here its sum starts near one and :math:`\sum_t |F_i(t)|` is bounded by
    :math:`1 + \|A_i\|_1` at every N, because sines are. No table is stored: one set of weights serves every N.

    Args:
        order: K, the number of filters per channel.
        channels: D.
        harmonics: Fourier features of the ring.
        width: R, hidden units.
        depth: hidden layers.
        frequency: initial frequency of the sine activations; all of them are trained.
        position: ``ring`` (t / N) or ``absolute`` (t itself, at wavelengths from 2 to 10,000 nodes).

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
    ) -> None:
        super().__init__(order, channels, harmonics=harmonics, width=width, depth=depth)
        if position not in get_args(Position):
            raise ValueError(f"position must be one of {', '.join(get_args(Position))}, got {position!r}")
        self.harmonics, self.position = harmonics, position
        self.width, self.depth, self.frequency = width, depth, frequency
        widths = [2 * harmonics, *[width] * depth]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.frequencies = nn.Parameter(torch.empty(depth, width))
        self.mix = nn.Linear(width, order * channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew and forget cached spectra."""
        for layer in [*self.layers, self.mix]:
            assert isinstance(layer, nn.Linear)
            layer.reset_parameters()
        nn.init.constant_(self.frequencies, self.frequency)
        self._cache.clear()

    def forward(self, num_nodes: int) -> Tensor:
        """Return the filters at every place of a ring, ``(K, D, N)``."""
        place = torch.arange(num_nodes, device=self.mix.weight.device).unsqueeze(1)
        filters = self.mix(self._hidden(self._features(place, num_nodes))).t() / num_nodes + 1 / num_nodes  # (K * D, N)
        return filters.view(self.order, self.channels, -1)  # type: ignore[no-any-return]

    def factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return mix ``(K, D, R + 1)`` and features ``(R + 1, sum of sizes)``: the constant is a feature of its own."""
        place, around = places_of(sizes, self.mix.weight.device)
        hidden = self._hidden(self._features(place, around))  # (P, R)
        phi = torch.cat([hidden, hidden.new_ones(len(hidden), 1)], 1) / around
        mix = self.mix.weight.view(self.order, self.channels, -1)
        return torch.cat([mix, mix.new_ones(self.order, self.channels, 1)], 2), phi.t()

    def harmonics_of(self, limit: int) -> Tensor | None:
        """Return the filters' Fourier coefficients ``(K, B, D)``, complex, if they end within ``limit`` harmonics.

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
                bands = -(-used // 8) * 8  # a multiple of 8, so that a slow drift does not change the plan at every step
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
        """Return the number of harmonics up to the last that counts in any filter."""
        strength = self._mixed(waves).abs_().amax(0).view(-1, 2).amax(1)  # (grid / 2 + 1,)
        tail = TAIL.get(self.mix.weight.dtype, 1e-12) * strength.max()
        return int((strength > tail).nonzero()[-1]) + 1

    def _mixed(self, waves: Tensor) -> Tensor:
        """Mix the coefficients of phi by A and add one to the constant, ``(R, B, 2)`` to ``(K * D, 2 * B)``."""
        mixed = self.mix.weight.to(waves.dtype) @ waves.flatten(1)  # A is real: no complex product
        one = torch.zeros_like(mixed[0])
        one[0] = 1.0  # real part of harmonic 0
        return mixed.add_(one)

    def _hidden(self, features: Tensor) -> Tensor:
        """Return phi where the features are ``(P, 2 * harmonics)``, in their precision, ``(P, R)``."""
        h = features
        for layer, frequency in zip(self.layers, self.frequencies, strict=True):
            assert isinstance(layer, nn.Linear)
            h = torch.sin(frequency.to(h.dtype) * nn.functional.linear(h, layer.weight.to(h.dtype), layer.bias.to(h.dtype)))
        return h

    def _features(self, place: Tensor, size: Tensor | int) -> Tensor:
        """Return the features of places ``(P, 1)`` of rings of the given size, ``(P, 2 * harmonics)``."""
        if self.position == "ring":
            features = _ring_features(place, size, self.harmonics)
        else:
            wavelength = torch.logspace(math.log10(2), 4, self.harmonics, dtype=torch.float64, device=place.device)
            features = _waves_at(place / wavelength)
        return features.to(self.mix.weight.dtype)

    def extra_repr(self) -> str:
        """Say what the submodules do not show."""
        return f"order={self.order}, channels={self.channels}, harmonics={self.harmonics}, position={self.position}"


def places_of(sizes: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the places of rings one after the other and the size of each place's ring, ``(P, 1)`` both.

    Example:
        >>> [t.flatten().tolist() for t in places_of([2, 3], torch.device("cpu"))]
        [[0, 1, 0, 1, 2], [2, 2, 3, 3, 3]]
    """
    size = torch.tensor(sizes, device=device)
    ring = torch.repeat_interleave(torch.arange(len(sizes), device=device), size)
    place = torch.arange(ring.numel(), device=device) - (size.cumsum(0) - size)[ring]
    return place.unsqueeze(1), size[ring].unsqueeze(1)


def _ring_features(place: Tensor, size: Tensor | int, harmonics: int) -> Tensor:
    """Return cosines and sines of the places' angles, ``(P, 1)`` to ``(P, 2 * harmonics)``, float64."""
    count = torch.arange(1, harmonics + 1, device=place.device)
    turns = (place * count).remainder(size)  # whole turns are taken off before rounding, so large rings lose no precision
    return _waves_at(turns.double() / size)


def _waves_at(turns: Tensor) -> Tensor:
    return torch.cat([torch.cos(2 * math.pi * turns), torch.sin(2 * math.pi * turns)], 1)


@lru_cache(maxsize=16)
def _grid_features(grid: int, harmonics: int, device: torch.device) -> Tensor:
    """Return the features of all places of a grid, the same at every step."""
    with torch.inference_mode(False):  # it may meet a training step later
        return _ring_features(torch.arange(grid, device=device).unsqueeze(1), grid, harmonics)
