"""What all algorithms of the global context block have in common.

Shapes: N nodes, C columns of H, K order, D channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

__all__ = ["Gradients", "Kept", "Plan", "Projection", "SharedRows"]

Kept = Sequence[Tensor]


class Projection(NamedTuple):
    """H in column groups that are never put together, and the map to gates and value.

    Args:
        parts: column groups of H, each ``(N, C)``, in ring order.
        centre: what to take off each column first, ``(C,)`` for each part.
        weight: to the K gates and the value, ``(K + 1, D, sum of C)``.
        bias: ``(K + 1, D)``.
    """

    parts: Sequence[Tensor]
    centre: Sequence[Tensor]
    weight: Tensor
    bias: Tensor


class Gradients(NamedTuple):
    """Of a plan's inputs: the parts of H, weight and bias of the projection, the filters before `Plan.transform`."""

    parts: list[Tensor]
    weight: Tensor
    bias: Tensor
    filters: tuple[Tensor, ...]


class Plan(Protocol):
    """Forward and backward of the K convolutions and gates on some rings."""

    def transform(self, filters: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the spectra of the filters, in the form that the plan multiplies with."""

    def forward(self, projection: Projection, spectra: Sequence[Tensor]) -> tuple[Tensor, Kept]:
        """Return ``P_K * (F_K conv ... P_1 * (F_1 conv V))`` as ``(N, D)``, and what backward needs."""

    def backward(self, grad: Tensor, projection: Projection, spectra: Sequence[Tensor], kept: Kept) -> Gradients:
        """Return the gradients, from that of what `forward` returned and what it kept."""


@runtime_checkable
class SharedRows(Protocol):
    """A BatchNorm over rows of which several processes hold some each; every method is called by all at once."""

    def merged(self, mean: Tensor, var: Tensor, rows: int) -> tuple[Tensor, Tensor, int]:
        """Return mean and (biased) variance of all rows, and their number, from those of one's own, ``(C,)`` each."""

    def summed(self, dmean: Tensor, dvar: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of mean and variance from all rows; zeros where one's own do not count."""
