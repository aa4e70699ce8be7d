"""What all filters share, and the simplest of them.

Shapes: N nodes, K order, D channels, R hidden features, P places, B harmonics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from geco.nn.graph.remembered import cached

__all__ = ["Filter", "MeanFilter", "places_of", "silence", "sines"]

T = TypeVar("T")
MOST_CACHED = 8


class Filter(nn.Module):
    """What all filters of the global context block share: K filters for each of D channels, on rings of any size.

    Args:
        order: K.
        channels: D.
        sizes: further numbers that must be at least 1, by name.
    """

    unit = False  # whether waves are sqrt(N) times stronger than the mean
    windows_reach = 0  # farthest distance of the part over distances, in nodes; 0 if there is none

    def __init__(self, order: int, channels: int, **sizes: int) -> None:
        super().__init__()
        for name, value in {"order": order, "channels": channels, **sizes}.items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.order, self.channels = order, channels
        self._cache: dict[object, tuple[object, object]] = {}

    def reset_parameters(self) -> None:
        """Reset all weights and cached spectra."""
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

    def fast_factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return `factors`, by what is fastest on a CPU."""
        return self.factors(sizes)

    def harmonics_of(self, limit: int) -> Tensor | None:
        """Return the coefficients ``(K, B, D)``, complex, of the filters times N, if they end within ``limit``
        harmonics.

        Where `unit`, all but the first are of the filters times sqrt(N).
        """
        raise NotImplementedError

    def taps(self) -> Tensor | None:
        """Return the part of the filters over distances, ``(K, D, 2 S + 1)``, if any: see `WindowedFilter`."""
        return None

    def cached(self, key: object, build: Callable[[], T]) -> T:
        """Return ``build()``; without gradients it is remembered until a weight changes."""
        if torch.is_grad_enabled() or any(p.is_inference() for p in self.parameters()):  # which have no version
            return build()
        state = tuple((p.data_ptr(), p._version, p.dtype) for p in self.parameters())
        found = self._cache.get(key)
        if found is None or found[0] != state:
            if len(self._cache) == MOST_CACHED:
                self._cache.clear()
            found = self._cache[key] = (state, build())
        return found[1]  # type: ignore[return-value]


class MeanFilter(Filter):
    r"""The mean, :math:`F_i(t) = 1 / N`, without weights: all nodes reach every node alike.

    Example:
        >>> MeanFilter(order=1, channels=1)(4)
        tensor([[[0.2500, 0.2500, 0.2500, 0.2500]]])
    """

    one: Tensor

    def __init__(self, order: int, channels: int) -> None:
        super().__init__(order, channels)
        self.register_buffer("one", torch.ones(order, channels, 1), persistent=False)  # for its type and device

    def reset_parameters(self) -> None:
        """Do nothing: there are no weights."""

    def forward(self, num_nodes: int) -> Tensor:
        """Return the filters at every place of a ring, ``(K, D, N)``."""
        return (self.one / num_nodes).expand(-1, -1, num_nodes)

    def factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return mix ``(K, D, 1)`` and features ``(1, sum of sizes)``."""
        return self.one, 1 / places_of(sizes, self.one.device)[1].t().to(self.one.dtype)

    def harmonics_of(self, limit: int) -> Tensor:
        """Return the one harmonic."""
        return self.one.transpose(1, 2).to(torch.complex128)


def silence(mix: nn.Linear) -> None:
    """Let features start at zero: a fresh filter is the mean, whatever they are."""
    nn.init.zeros_(mix.weight)


def sines(layers: nn.ModuleList, frequencies: Tensor, features: Tensor) -> Tensor:
    """Return the last of some layers with sines as activations, in the precision of the features, ``(P, R)``."""
    h = features
    for layer, frequency in zip(layers, frequencies.to(h.dtype), strict=True):
        assert isinstance(layer, nn.Linear)
        h = torch.sin(frequency * nn.functional.linear(h, layer.weight.to(h.dtype), layer.bias.to(h.dtype)))
    return h


def places_of(sizes: Sequence[int], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the places of rings one after the other and the size of each place's ring, ``(P, 1)`` both.

    Example:
        >>> [t.flatten().tolist() for t in places_of([2, 3], torch.device("cpu"))]
        [[0, 1, 0, 1, 2], [2, 2, 3, 3, 3]]
    """
    return _places_of(tuple(sizes), device)


@cached(8)
def _places_of(sizes: tuple[int, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    size = np.repeat(np.array(sizes, np.int64), sizes)
    place = np.concatenate([np.arange(n) for n in sizes])
    return torch.from_numpy(place).unsqueeze(1).to(device), torch.from_numpy(size).unsqueeze(1).to(device)
