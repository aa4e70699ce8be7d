"""What processes do in tests of launching them; they import it by its name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from geco.distributed.launch import Place
from geco.distributed.runtime import joined
from geco.errors import DataError, Interrupted

TIMEOUT = 3.0


def explain(error: BaseException) -> tuple[str, int]:
    return str(error), getattr(error, "exit_code", 6 if isinstance(error, MemoryError) else 1)


def meet(fault: str, place: Place) -> None:
    """Meet the others, with a fault of rank 1 at the first attempt."""
    with joined(place.rank, place.size, TIMEOUT, place.meeting) as workers:
        workers.each("here")
        if workers.rank == 1 and not place.attempt:
            _fail(fault)
        assert workers.each(place.rank) == [*range(place.size)]


def _fail(fault: str) -> None:
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "hangs":
        os.kill(os.getpid(), signal.SIGSTOP)
    if fault == "leaves":
        os._exit(7)
    if fault == "memory":
        raise MemoryError("no memory for 5 GB")
    if fault == "data":
        raise DataError("mine is damaged")


def save(folder: Path, place: Place) -> None:
    """Work until asked to stop, then save, the first process for longer than the others."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    (folder / f"begun-{place.rank}").touch()
    while not asked:
        time.sleep(0.05)
    time.sleep(1.0 if place.rank == 0 else 0.0)
    (folder / f"saved-{place.rank}").touch()
    raise Interrupted(f"saved by rank {place.rank}")
