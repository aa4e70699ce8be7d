"""Rows of other ranks that this one needs, the same at every step: who sends what is worked out once.

Shapes: N nodes, n of them on this rank, H rows wanted from others, S rows they want, D channels, P ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from geco.distributed.exchange import Ranks, bounds, swap

__all__ = ["Rows", "ask"]


class Rows:
    """Fetches rows of others, by place: rank r holds the places from ``bounds(N, P)[r]`` on.

    Args:
        wanted: places this rank wants of others, ``(H,)``, ascending, each once.
        asked: places of its own that each rank wants.
        num_nodes: N.
        ranks: the processes.
        kind: under which `Traffic` counts them: ``edges`` or ``ring``.

    Example:
        >>> none = torch.empty(0, dtype=torch.int64)
        >>> Rows(none, [none], 3, Ranks(), "edges").sent
        0
    """

    def __init__(self, wanted: Tensor, asked: Sequence[Tensor], num_nodes: int, ranks: Ranks, kind: str) -> None:
        first = bounds(num_nodes, ranks.size)[ranks.rank]
        self.wanted, self.ranks, self.kind = wanted, ranks, kind
        self.own = torch.cat([places - first for places in asked])  # rows that are sent, ``(S,)``
        self.to, self.of = [len(places) for places in asked], per_rank(wanted, num_nodes, ranks.size)

    @property
    def sent(self) -> int:
        """S, rows that this rank sends in one exchange; each has D numbers."""
        return len(self.own)

    def extend(self, x: Tensor) -> Tensor:
        """Return this rank's rows, then the wanted ones in the order of their places, ``(n, D)`` to ``(n + H, D)``."""
        result: Tensor = _Extend.apply(x, self)  # type: ignore[no-untyped-call]
        return result

    def index(self, places: Tensor, first: int, count: int) -> Tensor:
        """Return where places are found in this rank's ``count`` rows from ``first`` on with those wanted after
        them.
        """
        mine = (places >= first) & (places < first + count)
        return torch.where(mine, places - first, torch.searchsorted(self.wanted, places) + count)


def per_rank(places: Tensor, num_nodes: int, parts: int) -> list[int]:
    """Return how many of these places each rank holds.

    Example:
        >>> per_rank(torch.tensor([0, 2, 3]), 4, 2)
        [1, 2]
    """
    edges = torch.tensor(bounds(num_nodes, parts)[1:], device=places.device)
    return torch.bincount(torch.bucketize(places, edges, right=True), minlength=parts).tolist()


def ask(wanted: Tensor, num_nodes: int, ranks: Ranks) -> list[Tensor]:
    """Tell the others which of their places this rank wants, and return which of its own each of them does."""
    of = per_rank(wanted, num_nodes, ranks.size)
    one = [1] * ranks.size
    to = swap(torch.tensor(of, device=wanted.device), one, one, ranks, "plan").tolist()
    return list(swap(wanted, of, to, ranks, "plan").split(to))


class _Extend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Rows) -> Tensor:
        ctx.rows = rows
        return torch.cat([x, _swap_rows(x.index_select(0, rows.own), rows.to, rows.of, rows)])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rows = ctx.rows
        own, others = grads[0].tensor_split([len(grads[0]) - len(rows.wanted)])
        return own.index_add(0, rows.own, _swap_rows(others, rows.of, rows.to, rows)), None


def _swap_rows(x: Tensor, sent: list[int], received: list[int], rows: Rows) -> Tensor:
    width = x.shape[1]
    flat = swap(x.reshape(-1), [n * width for n in sent], [n * width for n in received], rows.ranks, rows.kind)
    return flat.view(sum(received), width)
