"""Encodings by name, as flags and configurations write them: ``lap-pe``, or with its size ``lap-pe:10``."""

from __future__ import annotations

from pkgutil import resolve_name

from geco.data.encodings.base import Encoding
from geco.names import ENCODINGS, encoding

__all__ = ["parse"]


def parse(text: str) -> Encoding:
    """Return the encoding of a name and, after a colon, its size.

    What the size counts, and the usual one, are the class's.

    Example:
        >>> parse("lap-pe:4").width, parse("rwse").width
        (4, 16)
    """
    name, size = encoding(text)
    made: Encoding = resolve_name(ENCODINGS[name])(*(() if size is None else (size,)))
    return made
