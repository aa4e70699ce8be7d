"""What is seen of a training while it runs: one live line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

from geco.console import print_line

__all__ = ["Meter", "left", "live_line"]

Clock = Callable[[], float]
RECENT = 0.2  # weight of the newest epoch in the mean of what epochs take


class Meter:
    """Progress of a training: loss, validation, the best so far and the seconds left.

    On a terminal it is one line that never wraps and is gone at the end. Elsewhere lines come after 15 seconds, 30, 60
    and so on, at least every ten minutes: a log stays short.

    Args:
        label: what is trained.
        total: epochs.
        start: epochs done before.
        pace: seconds of an epoch as far as they are known, such as from before it was stopped.

    Example:
        >>> with Meter("seed 0", total=2) as meter:
        ...     meter.show({"epoch": 2, "loss": 0.5})
    """

    FIRST, LAST = 15.0, 600.0  # seconds between two lines where there is no terminal
    BLINK = 0.2  # seconds between two live lines within an epoch

    def __init__(
        self, label: str, total: int, start: int = 0, pace: float | None = None, clock: Clock = time.monotonic
    ) -> None:
        from tqdm import tqdm

        self.label, self.total, self.done, self.pace, self.clock = label, total, float(start), pace, clock
        self.line: Mapping[str, Any] = {}
        self.counted, self.since = float(start), clock()  # where the newest epoch began, and when
        self.told, self.wait = clock(), self.FIRST
        self.bar = tqdm(bar_format="{desc}", disable=None, leave=False, mininterval=0)
        if not self.bar.disable:
            self._draw()

    def pulse(self, done: float) -> None:
        """Show how far it is within an epoch.

        Args:
            done: epochs, with the share of the one that runs.
        """
        self.done = done
        if not self.bar.disable and self.clock() - self.told > self.BLINK:
            self._draw()

    def show(self, line: Mapping[str, Any], done: float | None = None) -> None:
        """Show the values of an evaluation.

        Args:
            line: ``epoch``, scores and the loss, and ``best`` with the best evaluation so far.
            done: epochs of all that is trained, where the line is of one of several.
        """
        self.line, self.done = line, float(line["epoch"] if done is None else done)
        self._learn()
        if not self.bar.disable:
            self._draw()
        elif self.clock() - self.told > self.wait:
            self.told, self.wait = self.clock(), min(2 * self.wait, self.LAST)
            print_line(live_line(self.label, self.done, self.total, self.line, self.left, width=200))

    @property
    def left(self) -> float | None:
        """Seconds to the end, if an epoch was timed yet."""
        return None if self.pace is None else max(0.0, self.pace * (self.total - self.done))

    def _learn(self) -> None:
        """Take what the epochs since the last evaluation took into the mean."""
        epochs, now = self.done - self.counted, self.clock()
        if epochs <= 0:
            return
        took = (now - self.since) / epochs
        self.pace = took if self.pace is None else self.pace + (1 - (1 - RECENT) ** epochs) * (took - self.pace)
        self.counted, self.since = self.done, now

    def _draw(self) -> None:
        self.told = self.clock()
        width = shutil.get_terminal_size().columns - 1  # a full line would wrap
        self.bar.set_description_str(live_line(self.label, self.done, self.total, self.line, self.left, width))

    def __enter__(self) -> Meter:
        """Start."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        self.bar.close()


def live_line(label: str, done: float, total: int, line: Mapping[str, Any], seconds: float | None, width: int) -> str:
    """Return as much of a training's state as fits into a width, the most important first.

    Example:
        >>> line = {"epoch": 3, "loss": 0.25, "valid": 0.5, "best": {"epoch": 2, "valid": 0.75}}
        >>> live_line("seed 0", 3, 10, line, 65, width=90)
        'seed 0  epoch 3/10  1:05 left  loss 0.2500  valid 0.5000  best 0.7500 at 2'
        >>> live_line("seed 0", 3, 10, line, 65, width=40)
        'epoch 3/10  1:05 left  valid 0.5000'
    """
    share = f" ({done % 1:.0%} of the next)" if done % 1 else ""
    best = line.get("best")
    parts = {  # in the order in which they stand; the number is how soon one is left out
        label: 5,
        f"epoch {int(done)}/{total}": 9,
        share.strip(): 2,
        f"{left(seconds)} left" if seconds is not None else "": 8,
        f"loss {line['loss']:.4f}" if "loss" in line else "": 4,
        f"valid {line['valid']:.4f}" if "valid" in line else "": 7,
        f"best {best['valid']:.4f} at {best['epoch']}" if best else "": 6,
        f"test {line['test']:.4f}" if "test" in line else "": 1,
    }
    kept = [part for part in parts if part]
    for part in sorted(kept, key=lambda part: parts[part]):
        if len("  ".join(kept)) <= width:
            break
        kept.remove(part)
    return "  ".join(kept)[: max(0, width)]


def left(seconds: float) -> str:
    """Return a time as a clock shows it, days apart.

    Example:
        >>> left(5), left(65), left(3700), left(200000)
        ('0:05', '1:05', '1:01:40', '2 d 7 h')
    """
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
