"""What people see in a terminal: one way to print a line, a table, progress and the log."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, TypeVar

__all__ = ["print_line", "print_table", "progress", "progress_bytes", "progress_reading", "show_log", "table"]

T = TypeVar("T")
PATIENCE = 0.5  # seconds of reading without a bar


def print_line(line: str) -> None:
    """Print a line about the work, beside the results on standard error; above a bar, if there is one."""
    bars = sys.modules.get("tqdm")
    if bars is not None and sys.stderr.isatty():
        bars.tqdm.write(line, file=sys.stderr)
    else:
        print(line, file=sys.stderr, flush=True)


class _Lines(logging.Handler):
    """What is logged, as plain lines."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line."""
        print_line(self.format(record))


@contextlib.contextmanager
def show_log() -> Iterator[None]:
    """Show what the library logs, once however often it is asked for; for commands, also as a decorator.

    Example:
        >>> with contextlib.redirect_stderr(sys.stdout), show_log():
        ...     logging.getLogger("geco.data").info("downloading it")
        downloading it
    """
    logger, handler = logging.getLogger("geco"), _Lines()
    if any(isinstance(known, _Lines) for known in logger.handlers):
        yield
        return
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def progress(items: Iterable[T], label: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Yield the items and show how far it is, on a terminal only.

    Example:
        >>> list(progress([1, 2], "counting"))
        [1, 2]
    """
    from tqdm import tqdm

    yield from tqdm(items, label, total, unit=f" {unit}", disable=None, leave=False, mininterval=0.3)


def progress_bytes(chunks: Iterable[bytes], label: str, total: int | None = None, start: int = 0) -> Iterator[bytes]:
    """Yield the chunks and show how many bytes of the total are here, on a terminal only; ``start`` of them were here
    before.

    Example:
        >>> list(progress_bytes([b"ab", b"c"], "reading", total=3))
        [b'ab', b'c']
    """
    from tqdm import tqdm

    with tqdm(
        desc=label, total=total, initial=start, unit="B", unit_scale=True, disable=None, leave=False, mininterval=0.3
    ) as bar:
        for chunk in chunks:
            yield chunk
            bar.update(len(chunk))


@contextlib.contextmanager
def progress_reading(stream: IO[bytes], label: str, total: int) -> Iterator[IO[bytes]]:
    """Give a stream of ``total`` bytes; on a terminal only, reading it shows how far it is, if it takes a while.

    Example:
        >>> with progress_reading(io.BytesIO(b"abc"), "reading", total=3) as stream:
        ...     stream.read()
        b'abc'
    """
    from tqdm import tqdm

    options: dict[str, Any] = {"unit": "B", "unit_scale": True, "disable": None, "leave": False, "delay": PATIENCE}
    with tqdm(desc=label, total=total, **options) as bar:
        yield stream if bar.disable else io.BufferedReader(_Counted(stream, bar.update), 2**20)


class _Counted(io.RawIOBase):
    """A stream that reports how much was read."""

    def __init__(self, stream: IO[bytes], tell: Callable[[int], Any]) -> None:
        super().__init__()
        self._stream, self._tell = stream, tell

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there are bytes."""
        data = self._stream.read(len(buffer))
        self._tell(len(data))
        buffer[: len(data)] = data
        return len(data)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text with columns aligned, the first row as a heading.

    Example:
        >>> print(table([["name", "size"], ["a", "10"]]))
        name  size
        ----  ----
        a       10
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in [rows[0], ["-" * width for width in widths], *rows[1:]]:
        numbers = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *numbers[1:]]).rstrip())
    return "\n".join(lines)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows as `table` lays them out."""
    print(table(rows))
