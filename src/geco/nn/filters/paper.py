r"""The paper's filter as it is written: a network of sines over the node ids, as long as the graph, without decay or
window.

Shapes: N nodes, K order, D channels, R hidden units, B bands, P places of all rings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from geco.nn.filters.base import Filter, places_of
from geco.nn.ops.interpolate import interpolated
from geco.nn.ops.rowwise import by_rows
from geco.nn.resolve import check_name, reset

__all__ = ["Gain", "PaperFilter", "check_features_count", "position_features"]

Gain = Literal["none", "mean", "l1"]


class PaperFilter(Filter):
    r"""Filters :math:`F_i(t) = g\,A_i\,\mathrm{FFN}(\tau, \cos f\omega, -\sin f\omega)` with :math:`\tau = t / (N -
    1)`, :math:`\omega = 2\pi t / N` and sine activations: "a filter is learned by a simple FFN, with node IDs used for
    filters' positional encoding" (Section 3.3).

    Features and network are Hyena's, which the paper builds on (see `HyenaFilter`), over the length of the whole graph,
    with the decay taken out. Nothing is added: no window, no constant, nothing periodic. The paper names no gain;
    without one :math:`\sum_t |F_i(t)|` grows with N, and so does the block's output, to the power of K.

    Args:
        order: K, the number of filters per channel.
        channels: D.
        features: 2 B + 1, odd; frequencies f are spaced evenly from 1e-4 to B - 1, as published.
        width: R.
        depth: hidden layers after the first.
        frequency: initial frequency of the sines; 1 is the default of Hyena's code, its language models have 14.
        gain: g: ``none`` (1, as the paper has it), ``mean`` (1 / N) or ``l1`` (:math:`1 / \sum_t |F_i(t)|` on each
            ring).

    Shapes:
        N to (K, D, N).

    Example:
        >>> PaperFilter(2, 4, gain="l1")(5).shape
        torch.Size([2, 4, 5])
    """

    def __init__(
        self,
        order: int,
        channels: int,
        *,
        features: int = 33,
        width: int = 64,
        depth: int = 2,
        frequency: float = 1.0,
        gain: Gain = "none",
    ) -> None:
        super().__init__(order, channels, width=width, depth=depth)
        check_features_count(features)
        check_name("gain", gain, get_args(Gain))
        self.bands, self.gain, self.initial_frequency = features // 2, gain, frequency
        self.layers = nn.ModuleList(nn.Linear(width if i else features, width) for i in range(depth + 1))
        self.frequency = nn.Parameter(torch.empty(width))
        self.mix = nn.Linear(width, order * channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset all weights and cached spectra."""
        reset(self.layers)
        reset(self.mix)
        nn.init.constant_(self.frequency, self.initial_frequency)
        self._cache.clear()

    def forward(self, num_nodes: int) -> Tensor:
        """Return the filters at every place of a ring, ``(K, D, N)``."""
        place = torch.arange(num_nodes, device=self.mix.weight.device).unsqueeze(1)
        filters = self._scaled(self.mix(self._hidden(place, num_nodes)).t())  # (K * D, N)
        return filters.reshape(self.order, self.channels, -1)

    def factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return mix and features; identity and filters where these are fewer, or their gain needs them."""
        return self._factors(self._hidden(*places_of(sizes, self.mix.weight.device)), sizes)

    def fast_factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the same; of one ring from some of its places, if the hidden layer is that smooth."""
        hidden = self._interpolated(sizes[0]) if len(sizes) == 1 and self.mix.weight.dtype == torch.float32 else None
        hidden = self._hidden(*places_of(sizes, self.mix.weight.device), by_rows) if hidden is None else hidden
        return self._factors(hidden, sizes)

    def _factors(self, hidden: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return mix and features from the last hidden layer at all places, ``(P, R)``."""
        weight = self.mix.weight
        if len(weight) <= len(self.frequency) or self.gain == "l1":
            rings = hidden.split(list(sizes)) if self.gain == "l1" else [hidden]  # each has a sum of its own
            filters = torch.cat([self._scaled(weight @ rows.t()) for rows in rings], 1)  # (K * D, P)
            weight, hidden = torch.eye(len(weight), dtype=weight.dtype, device=weight.device), filters.t()
        return weight.view(self.order, self.channels, -1), hidden.t()

    def harmonics_of(self, limit: int) -> None:
        """Return None: between its ends, which do not meet, the filter is of any roughness."""

    def _interpolated(self, size: int) -> Tensor | None:
        """Return what `_hidden` does on one ring from some of its places, ``(P, R)``, if it is that smooth."""
        found = interpolated(lambda place: self._hidden(place, size), size)
        return None if found is None else found.t()

    def _hidden(self, place: Tensor, size: Tensor | int, run: Callable[..., Tensor] | None = None) -> Tensor:
        """Return the last hidden layer, with the gain 1 / N, at places ``(P, 1)`` of rings of a size, ``(P, R)``."""
        features = position_features(place, size, self.bands)
        features = features if place.is_floating_point() else features.to(self.mix.weight.dtype)
        h = (
            self._sines(features)
            if run is None
            else run(self._sines, [*self.layers.parameters(), self.frequency], features)
        )
        return h / size if self.gain == "mean" else h

    def _sines(self, h: Tensor) -> Tensor:
        for layer in self.layers:
            assert isinstance(layer, nn.Linear)  # the frequency joins the weights: one pass over the places less
            frequency, weight, bias = (t.to(h.dtype) for t in (self.frequency, layer.weight, layer.bias))
            weight, bias = frequency.unsqueeze(1) * weight, frequency * bias
            h = torch.sin(nn.functional.linear(h, weight, bias))
        return h

    def _scaled(self, filters: Tensor) -> Tensor:
        return filters / filters.abs().sum(1, keepdim=True) if self.gain == "l1" else filters

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"order={self.order}, channels={self.channels}, gain={self.gain}"


def check_features_count(features: int) -> None:
    """Refuse a number of positional features that are not a position and pairs of waves."""
    if features < 3 or features % 2 == 0:
        raise ValueError(f"features must be odd and at least 3, a position and pairs of waves; got {features}")


def position_features(place: Tensor, length: Tensor | int, bands: int) -> Tensor:
    r"""Return Hyena's features of places, :math:`t / (\ell - 1), \cos f\omega, -\sin f\omega`, ``(P, 1)`` to ``(P, 2 B
    + 1)``.

    Computed in float64: fast waves of long sequences need the digits. A length of one has the one position 0.

    Example:
        >>> position_features(torch.arange(3).unsqueeze(1), 3, 1)[:, 0]
        tensor([0.0000, 0.5000, 1.0000], dtype=torch.float64)
    """
    place = place.double()
    last = length - 1
    last = last.clamp(min=1) if isinstance(last, Tensor) else torch.sym_max(last, 1)
    wave = torch.linspace(1e-4, bands - 1, bands, dtype=torch.float64, device=place.device)
    angle = 2 * math.pi * place / length * wave
    return torch.cat([place / last, angle.cos(), -angle.sin()], 1)
