"""The processes that train together, as one object: a number, and what they tell each other. With one process none of
it does anything.

What is told is numbers, or JSON as bytes; nothing is pickled. All processes call the same methods in the same order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from geco.errors import ResourceError, UsageError
from geco.store import Entry

__all__ = ["ALONE", "TIMEOUT", "WorkerLost", "Workers", "check_timeout", "joined"]

TIMEOUT = 300.0  # seconds that a process waits for the others
LATE = ("timed out", "timeout", "failed to pass monitoredbarrier")  # the last with TORCH_DISTRIBUTED_DEBUG=DETAIL


class WorkerLost(ResourceError):
    """The other processes are gone, or did not answer in time."""


class Workers:
    """The processes that train together, seen from one of them.

    A copy belongs to no group: what is tried out with it is nobody's but this process's.

    Args:
        rank: number of this process.
        size: how many there are.
        timeout: seconds that it waits for the others.

    Example:
        >>> alone = Workers()
        >>> alone.first, alone.told({"score": 0.5}), alone.each("here"), alone.any(False)
        (True, {'score': 0.5}, ['here'], False)
    """

    def __init__(self, rank: int = 0, size: int = 1, timeout: float = TIMEOUT) -> None:
        self.rank, self.size, self.timeout = rank, size, timeout
        self.counted = True  # whether the rows at hand count: see `geco.nn.ops.shared_norm`

    def __deepcopy__(self, memo: dict[int, Any]) -> Workers:
        return Workers()

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and shows."""
        return self.rank == 0

    @property
    def key(self) -> tuple[int, ...]:
        """What dropout here depends on besides seed and step; the first process draws as one alone does."""
        return () if self.first else (0, self.rank)

    def gathered(self, values: Tensor) -> Tensor:
        """Return the numbers of every process, ``(n,)`` to ``(P, n)``."""
        if self.size == 1:
            return values.unsqueeze(0)
        found = [torch.empty_like(values) for _ in range(self.size)]
        with self._answers():
            dist.all_gather(found, values.contiguous())
        return torch.stack(found)

    def total(self, values: Tensor) -> Tensor:
        """Return the sum over all processes, bit by bit the same on each; ``values`` may be overwritten."""
        if self.size > 1:
            with self._answers():
                dist.all_reduce(values)
        return values

    def any(self, flag: bool) -> bool:
        """Tell whether it is so on any process."""
        return flag if self.size == 1 else bool(self.gathered(torch.tensor([int(flag)])).any())

    def part(self, rows: int) -> float:
        """Return what part of the rows of all processes so many of this one are; 1 with one process."""
        if self.size == 1:
            return 1.0
        own = rows * self.counted
        return own / max(1, int(self.total(torch.tensor([own]))))

    def each(self, value: Any) -> list[Any]:
        """Return a value in JSON's types of every process, in order."""
        if self.size == 1:
            return [value]
        own = _bytes(json.dumps(value).encode())
        sizes = self.gathered(torch.tensor([own.numel()])).view(-1).tolist()
        every = self.gathered(torch.cat([own, own.new_zeros(max(sizes) - own.numel())]))
        return [json.loads(row[:size].numpy().tobytes()) for row, size in zip(every, sizes, strict=True)]

    def told(self, value: Any) -> Any:
        """Return the value in JSON's types that the first process has."""
        if self.size == 1:
            return value
        own = _bytes(json.dumps(value).encode()) if self.first else torch.empty(0, dtype=torch.uint8)
        size = self._sent(torch.tensor([own.numel()]), 0)
        return json.loads(self._sent(own if self.first else own.new_empty(int(size)), 0).numpy().tobytes())

    def dealt(self, parts: list[Tensor]) -> list[Tensor]:
        """Return a list that was dealt out in turn, from the parts that each process has of it."""
        if self.size == 1:
            return parts
        kinds: list[list[tuple[str, list[int]]]] = self.each([_kind(part) for part in parts])
        hands = [self._arrays(parts if rank == self.rank else None, kinds[rank], rank) for rank in range(self.size)]
        count = sum(map(len, hands))
        return [hands[number % self.size][number // self.size] for number in range(count)]

    def entry(self, read: Callable[[], Entry | None]) -> Entry | None:
        """Return the entry that the first process reads; only it needs the file."""
        if self.size == 1:
            return read()
        found = read() if self.first else None
        arrays = found.arrays if found is not None else {}
        about, names, kinds = self.told(
            [None if found is None else found.about, [*arrays], [_kind(array) for array in arrays.values()]]
        )
        values = self._arrays(list(arrays.values()) if self.first else None, kinds, 0)
        return None if about is None else Entry(dict(zip(names, values, strict=True)), about)

    def _arrays(self, own: list[Tensor] | None, kinds: Iterable[tuple[str, list[int]]], source: int) -> list[Tensor]:
        """Return the arrays that one process has, sent as bytes at once; ``own`` on that one, None elsewhere."""
        shapes = [(getattr(torch, dtype), shape) for dtype, shape in kinds]
        sizes = [math.prod(shape) * dtype.itemsize for dtype, shape in shapes]
        if own is not None:
            sent = torch.cat([torch.empty(0, dtype=torch.uint8), *map(_raw, own)])
        else:
            sent = torch.empty(sum(sizes), dtype=torch.uint8)
        flat = self._sent(sent, source).split(sizes)
        return [part.clone().view(dtype).view(shape) for part, (dtype, shape) in zip(flat, shapes, strict=True)]

    def _sent(self, values: Tensor, source: int) -> Tensor:
        if values.numel():
            with self._answers():
                dist.broadcast(values, source)
        return values

    @contextmanager
    def _answers(self) -> Iterator[None]:
        """Turn what torch says when the others do not answer into one line."""
        try:
            yield
        except RuntimeError as error:
            why = str(error).strip().splitlines()[0]
            late = any(word in why.lower() for word in LATE)
            what = f"did not answer within {self.timeout:g} s" if late else f"can no longer be reached ({why})"
            raise WorkerLost(f"the other processes {what}") from error


ALONE = Workers()


@contextmanager
def joined(rank: int, size: int, timeout: float = TIMEOUT, meeting: str = "env://") -> Iterator[Workers]:
    """Give the processes that train together, as soon as all are there.

    Args:
        rank: number of this process.
        size: how many there are.
        timeout: seconds to wait for the others, now and later.
        meeting: where they find each other: ``file://`` and a path, or ``env://``, what torchrun says.
    """
    check_timeout(timeout)
    workers = Workers(rank, size, timeout)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    with workers._answers():
        wait = timedelta(seconds=timeout)
        dist.init_process_group(backend, init_method=meeting, rank=rank, world_size=size, timeout=wait)
    try:
        yield workers
    finally:
        dist.destroy_process_group()


def check_timeout(timeout: float) -> None:
    """Refuse a time that nobody can wait for."""
    if not timeout > 0 or not math.isfinite(timeout):
        raise UsageError(f"--timeout must be a number of seconds above 0, got {timeout:g}")


def _bytes(text: bytes) -> Tensor:
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


def _kind(value: Tensor) -> tuple[str, list[int]]:
    return str(value.dtype).removeprefix("torch."), [*value.shape]


def _raw(value: Tensor) -> Tensor:
    """Return the bytes of an array."""
    return value.detach().cpu().contiguous().view(-1).view(torch.uint8)
