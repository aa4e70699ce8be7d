"""What layers need to know of a ring whose places are shared out over several processes: see `geco.distributed`.

Shapes: N nodes, n of them here, D channels, d of them here, G groups of channels, S support.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

__all__ = ["Span"]


class Span(Protocol):
    """The consecutive places of one ring that are here; the others are elsewhere.

    All methods are differentiable, and each is called everywhere, in the same order, also where there are no places.
    """

    @property
    def num_nodes(self) -> int:
        """N."""

    @property
    def first(self) -> int:
        """The first place that is here."""

    @property
    def count(self) -> int:
        """n, the number of places that are here."""

    @property
    def least(self) -> int:
        """The fewest places that are anywhere."""

    def total(self, x: Tensor) -> Tensor:
        """Return the sum of what each one gives."""

    def around(self, x: Tensor, reach: int) -> Tensor:
        """Return rows with those of so many places before and after them, around the ring, ``(n, D)`` to ``(n + 2 S,
        D)``; ``(0, D)`` where n is 0.
        """

    def to_channels(self, x: Tensor) -> Tensor:
        """Return all places of a share of the channels, ``(n, G, D)`` to ``(N, G, d)``."""

    def to_nodes(self, x: Tensor, channels: int) -> Tensor:
        """Undo `to_channels`, ``(N, G, d)`` to ``(n, G, D)``."""

    def channels(self, channels: int) -> slice:
        """Return the share of so many channels that `to_channels` brings here."""
