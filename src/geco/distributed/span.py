"""The places of a ring that this rank holds, as layers see them: `geco.nn.graph.span.Span` by exchanges.

Shapes: N nodes, n of them on this rank, D channels, d of them on this rank, G groups of channels, S reach.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geco.distributed.exchange import Ranks, bounds, gathered, to_channels, to_nodes, total
from geco.distributed.rows import Rows

__all__ = ["RingSpan"]


class RingSpan:
    """This rank's share of a ring.

    Args:
        num_nodes: N.
        ranks: who share it, each with its `splits` of the places.

    Example:
        >>> span = RingSpan(3, Ranks())
        >>> span.around(torch.tensor([[1.0], [2.0], [3.0]]), 4).flatten().tolist()
        [3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]
    """

    def __init__(self, num_nodes: int, ranks: Ranks) -> None:
        self.num_nodes, self.ranks = num_nodes, ranks
        self._edges = bounds(num_nodes, ranks.size)
        self._halos: dict[tuple[int, torch.device], tuple[Rows, Tensor]] = {}

    @property
    def first(self) -> int:
        """The first place that is here."""
        return self._edges[self.ranks.rank]

    @property
    def count(self) -> int:
        """N."""
        return self._edges[self.ranks.rank + 1] - self.first

    @property
    def least(self) -> int:
        """The places of the last rank, which has the fewest."""
        return self._edges[-1] - self._edges[-2]

    @property
    def counted(self) -> bool:
        """Whether the rows that are here count: see `geco.nn.ops.shared_norm.Others`."""
        return True

    def gathered(self, values: Tensor) -> Tensor:
        """Return the numbers of every rank, ``(n,)`` to ``(P, n)``."""
        return gathered(values, self.ranks)

    def total(self, x: Tensor) -> Tensor:
        """Return the sum over ranks."""
        return total(x, self.ranks)

    def around(self, x: Tensor, reach: int) -> Tensor:
        """Return rows with those of S places before and after them, around the ring, ``(n, D)`` to ``(n + 2 S, D)``.

        Places may be several ranks away, and on a ring shorter than that come more than once; they are sent once.
        """
        rows, index = self._halo(reach, x.device)
        return rows.extend(x).index_select(0, index)

    def to_channels(self, x: Tensor) -> Tensor:
        """Return all places of a share of the channels, ``(n, G, D)`` to ``(N, G, d)``."""
        return to_channels(x, self.num_nodes, self.ranks)

    def to_nodes(self, x: Tensor, channels: int) -> Tensor:
        """Undo `to_channels`, ``(N, G, d)`` to ``(n, G, D)``."""
        return to_nodes(x, channels, self.ranks)

    def channels(self, channels: int) -> slice:
        """Return the channels that `to_channels` brings here."""
        return slice(*bounds(channels, self.ranks.size)[self.ranks.rank : self.ranks.rank + 2])

    def _halo(self, reach: int, device: torch.device) -> tuple[Rows, Tensor]:
        """Return the rows wanted of others, which each rank works out for all, and where each place is found."""
        if (reach, device) not in self._halos:
            wants = [self._wanted(rank, reach) for rank in range(self.ranks.size)]
            last = self.first + self.count
            asked = [places[(places >= self.first) & (places < last)].to(device) for places in wants]
            rows = Rows(wants[self.ranks.rank].to(device), asked, self.num_nodes, self.ranks, "ring")
            index = rows.index(self._near(self.ranks.rank, reach).to(device), self.first, self.count)
            self._halos[reach, device] = (rows, index)
        return self._halos[reach, device]

    def _near(self, rank: int, reach: int) -> Tensor:
        """Return a rank's places and those around them, ``(n + 2 S,)``."""
        first, last = self._edges[rank : rank + 2]
        return torch.arange(first - reach, last + reach if last > first else first - reach) % self.num_nodes

    def _wanted(self, rank: int, reach: int) -> Tensor:
        """Return the places around a rank's own that others hold, ascending."""
        first, last = self._edges[rank : rank + 2]
        if first == last:
            return torch.empty(0, dtype=torch.int64)
        places = torch.cat([torch.arange(first - reach, first), torch.arange(last, last + reach)]) % self.num_nodes
        others: Tensor = torch.unique(places[(places < first) | (places >= last)])
        return others
