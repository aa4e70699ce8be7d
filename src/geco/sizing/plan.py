"""What a training takes of each worker, whether that fits, and how many workers would do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from geco.sizing import traffic, work
from geco.sizing.job import Job
from geco.sizing.memory import memory

__all__ = ["Machine", "Plan", "fewest"]

MOST = 2**16  # workers that are tried


@dataclass(frozen=True)
class Machine:
    """One worker: a GPU, or a process on a CPU.

    Args:
        memory: bytes.
        bandwidth: bytes a second that it can send while it receives as many.
        speed: floating-point operations a second that it sustains.
    """

    memory: float
    bandwidth: float
    speed: float


@dataclass(frozen=True)
class Plan:
    """A job on such workers.

    Example:
        >>> plan = Plan(Job(nodes=10**6, edges=10**7, workers=2), Machine(16e9, 1e9, 1e10))
        >>> plan.fits, round(plan.sending, 2) < round(plan.computing, 2)
        (True, True)
    """

    job: Job
    machine: Machine

    @property
    def needed(self) -> float:
        """Bytes of a worker at its peak."""
        return sum(memory(self.job).values())

    @property
    def fits(self) -> bool:
        """Whether a worker has that much."""
        return self.needed <= self.machine.memory

    @property
    def sent(self) -> float:
        """Bytes that a worker sends in an epoch."""
        return sum(traffic.epoch(self.job).values())

    @property
    def operations(self) -> float:
        """Floating-point operations of a worker in an epoch."""
        return sum(work.epoch(self.job).values())

    @property
    def sending(self) -> float:
        """Seconds of an epoch that a worker sends."""
        return self.sent / self.machine.bandwidth

    @property
    def computing(self) -> float:
        """Seconds of an epoch that a worker computes."""
        return self.operations / self.machine.speed


def fewest(job: Job, bytes_each: float) -> int | None:
    """Return the smallest number of workers whose memory holds the job, None if up to `MOST` do not.

    Powers of two are tried up to one that does, then what lies between; parts that each worker has whole do not shrink.

    Example:
        >>> job = Job(nodes=10**7, edges=10**8, features=100)
        >>> fewest(job, 1e12), fewest(job, 20e9), fewest(job, 1e6)
        (1, 4, None)
    """

    def fits(workers: int) -> bool:
        return sum(memory(replace(job, workers=workers)).values()) <= bytes_each

    high = 1
    while not fits(high):
        if high >= MOST:
            return None
        high *= 2
    low = high // 2  # does not fit, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
