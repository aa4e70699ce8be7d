r"""What processes say to each other in a training of one graph: sums over all, and node shards for channel shards.

Between its halves a layer has rows of nodes, ``(n, D)`` on each of P ranks, or columns of channels, ``(N, d)``. One
`all_to_all_single` on a flat buffer turns one into the other, whatever N, D and P. All functions are differentiable,
and their backward is such an exchange too: every rank has to call them, in the same order, also with no rows.

Shapes: N nodes, n of them on this rank, D channels, d of them on this rank, G groups of channels, P ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from geco.errors import UsageError

__all__ = ["Ranks", "Traffic", "bounds", "gathered", "splits", "swap", "to_channels", "to_nodes", "total"]


@dataclass
class Traffic:
    """Counts what one rank sends to others. Made and kept by who wants to know.

    Args:
        elements: numbers sent, by kind: ``sum``, ``edges`` and ``ring`` (halos of both), ``channels`` (shards of them)
            or ``plan`` (who sends what, once).
        bytes: their size.

    Example:
        >>> traffic = Traffic()
        >>> traffic.add("sum", 10, 4)
        >>> traffic.total, traffic.bytes
        (10, 40)
    """

    elements: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    @property
    def total(self) -> int:
        """Numbers sent, of all kinds."""
        return self.elements.total()

    def add(self, kind: str, count: int, size: int) -> None:
        """Count so many numbers of so many bytes each."""
        self.elements[kind] += count
        self.bytes += count * size


@dataclass(frozen=True, eq=False)
class Ranks:
    """The processes that share a graph, as one of them sees them; without a group one process by itself.

    Args:
        rank: of this process.
        size: P.
        group: of `torch.distributed`; None for all processes.
        traffic: counts what is sent, if given.

    Example:
        >>> Ranks().size
        1
    """

    rank: int = 0
    size: int = 1
    group: dist.ProcessGroup | None = None
    traffic: Traffic | None = None

    @classmethod
    def of(cls, group: dist.ProcessGroup | None = None, traffic: Traffic | None = None) -> Ranks:
        """Return the processes of a group of `torch.distributed`, which must be initialised."""
        if not (dist.is_available() and dist.is_initialized()):
            raise UsageError(
                "torch.distributed is not initialised; start with torchrun and call init_process_group first, or use "
                "Ranks() for one process"
            )
        return cls(dist.get_rank(group), dist.get_world_size(group), group, traffic)

    def known(self, x: Tensor) -> Tensor:
        """Return the sum of whole numbers over all ranks, without a gradient; not counted as traffic."""
        if self.size > 1:
            dist.all_reduce(x, group=self.group)
        return x

    def count(self, kind: str, elements: int, like: Tensor) -> None:
        """Count numbers that are sent to others."""
        if self.traffic is not None and elements:
            self.traffic.add(kind, elements, like.element_size())


def splits(n: int, parts: int) -> list[int]:
    """Return how many of n things each of so many parts holds, the first ones one more where it does not divide.

    Example:
        >>> splits(7, 3), splits(2, 3)
        ([3, 2, 2], [1, 1, 0])
    """
    share, more = divmod(n, parts)
    return [share + (part < more) for part in range(parts)]


def bounds(n: int, parts: int) -> list[int]:
    """Return where each part begins, and where the last one ends.

    Example:
        >>> bounds(7, 3)
        [0, 3, 5, 7]
    """
    return [*accumulate(splits(n, parts), initial=0)]


def swap(flat: Tensor, sent: Sequence[int], received: Sequence[int], ranks: Ranks, kind: str) -> Tensor:
    """Send each rank its piece of a flat tensor and return theirs, one after the other. Not differentiable.

    Args:
        flat: the pieces, ``(sum of sent,)``.
        sent: numbers for each rank.
        received: numbers from each rank.
        ranks: the processes.
        kind: under which `Traffic` counts it.

    Example:
        >>> swap(torch.arange(3), [3], [3], Ranks(), "edges")
        tensor([0, 1, 2])
    """
    assert len(sent) == len(received) == ranks.size
    assert sum(sent) == flat.numel()
    if ranks.size == 1:
        return flat
    ranks.count(kind, sum(sent) - sent[ranks.rank], flat)
    arrived = flat.new_empty(sum(received))
    dist.all_to_all_single(arrived, flat.contiguous(), list(received), list(sent), group=ranks.group)
    return arrived


def gathered(values: Tensor, ranks: Ranks) -> Tensor:
    """Return the numbers of every rank, ``(n,)`` to ``(P, n)``. Not differentiable.

    Example:
        >>> gathered(torch.ones(2), Ranks())
        tensor([[1., 1.]])
    """
    if ranks.size == 1:
        return values.unsqueeze(0)
    ranks.count("sum", values.numel() * (ranks.size - 1), values)
    every = [torch.empty_like(values) for _ in range(ranks.size)]
    dist.all_gather(every, values.contiguous(), group=ranks.group)
    return torch.stack(every)


def total(x: Tensor, ranks: Ranks) -> Tensor:
    """Return the sum of a tensor over all ranks. The gradient is the sum of theirs.

    Example:
        >>> total(torch.ones(2), Ranks())
        tensor([1., 1.])
    """
    result: Tensor = _Total.apply(x, ranks)  # type: ignore[no-untyped-call]
    return result


def to_channels(x: Tensor, num_nodes: int, ranks: Ranks) -> Tensor:
    """Give up nodes for channels, ``(n, G, D)`` to ``(N, G, d)``; each rank has its `splits` of both.

    Example:
        >>> to_channels(torch.ones(5, 2, 3), 5, Ranks()).shape
        torch.Size([5, 2, 3])
    """
    result: Tensor = _ToChannels.apply(x, num_nodes, ranks)  # type: ignore[no-untyped-call]
    return result


def to_nodes(x: Tensor, channels: int, ranks: Ranks) -> Tensor:
    """Give up channels for nodes, ``(N, G, d)`` to ``(n, G, D)``: undo `to_channels`.

    Example:
        >>> to_nodes(torch.ones(5, 2, 3), 3, Ranks()).shape
        torch.Size([5, 2, 3])
    """
    result: Tensor = _ToNodes.apply(x, channels, ranks)  # type: ignore[no-untyped-call]
    return result


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        y = x.clone(memory_format=torch.contiguous_format)
        if ranks.size > 1:
            # in rings of messages each rank sends its share of a sum twice, to all but itself
            ranks.count("sum", -(-2 * y.numel() * (ranks.size - 1) // ranks.size), y)
            dist.all_reduce(y, group=ranks.group)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return total(grads[0], ctx.ranks), None


class _ToChannels(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, num_nodes: int, ranks: Ranks) -> Tensor:
        ctx.channels, ctx.ranks = x.shape[2], ranks
        nodes, channels = splits(num_nodes, ranks.size), splits(x.shape[2], ranks.size)
        flat = torch.cat([piece.reshape(-1) for piece in x.split(channels, 2)])
        shapes = [(n, x.shape[1], channels[ranks.rank]) for n in nodes]
        return torch.cat(_pieces(flat, [len(x) * x.shape[1] * c for c in channels], shapes, ranks))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return to_nodes(grads[0], ctx.channels, ctx.ranks), None, None


class _ToNodes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, channels: int, ranks: Ranks) -> Tensor:
        ctx.num_nodes, ctx.ranks = len(x), ranks
        nodes = splits(len(x), ranks.size)
        shapes = [(nodes[ranks.rank], x.shape[1], c) for c in splits(channels, ranks.size)]
        return torch.cat(_pieces(x.reshape(-1), [n * x.shape[1] * x.shape[2] for n in nodes], shapes, ranks), 2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return to_channels(grads[0], ctx.num_nodes, ctx.ranks), None, None


def _pieces(flat: Tensor, sent: list[int], shapes: list[tuple[int, int, int]], ranks: Ranks) -> list[Tensor]:
    """Send each rank its piece and return theirs in their shapes."""
    received = [a * b * c for a, b, c in shapes]
    arrived = swap(flat, sent, received, ranks, "channels")
    return [piece.view(shape) for piece, shape in zip(arrived.split(received), shapes, strict=True)]
