"""How much a compressed file may hold, counted while it is decompressed: headers are not believed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from geco.errors import DataError

__all__ = ["LimitedStream", "expanded_limit"]


def expanded_limit(size: int) -> int:
    """Return how many bytes a compressed file of ``size`` bytes may hold: 1 GiB and 200 times its size.

    Example:
        >>> expanded_limit(0) == 2**30
        True
    """
    return 2**30 + 200 * size


class LimitedStream(io.RawIOBase):
    """A stream that stops with a DataError after ``limit`` bytes.

    Example:
        >>> LimitedStream(io.BytesIO(b"abcd"), 3, Path("a.gz")).read(9)
        Traceback (most recent call last):
        geco.errors.DataError: a.gz holds more than 3 bytes...
    """

    def __init__(self, stream: Any, limit: int, path: Path) -> None:
        super().__init__()
        self._stream, self._left, self._limit, self._path = stream, limit, limit, path

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there are bytes."""
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise DataError(
                f"{self._path} holds more than {self._limit:,} bytes, far more than data of its size does; "
                "get it from its publisher again"
            )
        buffer[: len(data)] = data
        return len(data)
