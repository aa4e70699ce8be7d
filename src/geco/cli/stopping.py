"""What a command does when it is asked to stop: the step is finished and saved first."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence

from geco.machine import STOPS

__all__ = ["asked_to_stop"]


@contextlib.contextmanager
def asked_to_stop(
    numbers: Sequence[int] = STOPS,
    answer: bytes = b"stopping after this step; once more to stop at once\n",
    patient: bool = False,
) -> Iterator[Callable[[], bool]]:
    """Turn the first request to stop into a flag that the loop asks for; a second one ends at once, or, ``patient``,
    changes nothing.
    """
    seen: list[int] = []
    owner = os.getpid()

    def note(number: int, _frame: object) -> None:
        if os.getpid() != owner:  # a process that makes batches: it ends when the owner does
            return
        if seen and patient:  # several may be sent the same request, by whoever started this process too
            return
        if seen and number == signal.SIGINT:
            raise KeyboardInterrupt
        if seen:
            sys.exit(128 + signal.SIGTERM)
        seen.append(number)
        os.write(
            2, b"\r\x1b[K" + answer if answer and os.isatty(2) else answer
        )  # over the live line; print is not safe

    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
