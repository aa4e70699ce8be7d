"""Amounts as people write them: ``80GB`` of memory, ``200Gb`` a second on a wire, ``10T`` operations a second."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from geco.errors import UsageError

__all__ = ["bandwidth", "bytes_in_words", "memory", "seconds_in_words", "speed"]

AMOUNT = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)(/s)?\s*")
PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
BINARY = {f"{name}i": 1024.0**power for power, name in enumerate("KMGTP", 1)}
TIMES = (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))


def memory(text: str, flag: str = "--memory") -> float:
    """Return bytes.

    Example:
        >>> memory("80GB"), memory("16 GiB")
        (80000000000.0, 17179869184.0)
    """
    return _amount(text, flag, {"B": 1.0}, "such as 80GB (10^9 bytes) or 16GiB (2^30)", rate=False)


def bandwidth(text: str, flag: str = "--bandwidth") -> float:
    """Return bytes a second.

    Example:
        >>> bandwidth("200Gb"), bandwidth("25GB/s")
        (25000000000.0, 25000000000.0)
    """
    units = {"b": 1 / 8, "bit": 1 / 8, "bps": 1 / 8, "B": 1.0}
    return _amount(text, flag, units, "such as 200Gb (bits a second) or 25GB (bytes a second)")


def speed(text: str, flag: str = "--speed") -> float:
    """Return floating-point operations a second.

    Example:
        >>> speed("10T"), speed("20 GFLOPS")
        (10000000000000.0, 20000000000.0)
    """
    return _amount(text, flag, {"": 1.0, "FLOPS": 1.0, "FLOP": 1.0}, "such as 10T or 20GFLOPS")


def _amount(text: str, flag: str, units: Mapping[str, float], example: str, rate: bool = True) -> float:
    match = AMOUNT.fullmatch(text)
    known = {p + u: factor * scale for p, factor in (PREFIXES | BINARY).items() for u, scale in units.items()}
    if match is None or match[2] not in known or (match[3] and not rate):
        raise UsageError(f"{flag} must be a number with a unit, {example}; got {text!r}")
    try:
        value = float(match[1]) * known[match[2]]
    except ValueError as error:
        raise UsageError(f"{flag}: {match[1]!r} is no number; write {example}") from error
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{flag} must be above 0 and finite, got {text!r}")
    return value


def bytes_in_words(count: float) -> str:
    """Return an amount of bytes in the unit that suits it, by powers of ten.

    Example:
        >>> [bytes_in_words(count) for count in (0, 1234, 56.7e9)]
        ['0 B', '1.23 kB', '56.7 GB']
    """
    for name in ("P", "T", "G", "M", "k"):
        if count >= 0.9995 * PREFIXES[name]:
            return f"{count / PREFIXES[name]:.3g} {name}B"
    return f"{count:.0f} B"


def seconds_in_words(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Example:
        >>> [seconds_in_words(seconds) for seconds in (0.0, 0.25, 90, 7200)]
        ['0 s', '250 ms', '1.5 min', '2 h']
    """
    name, size = next(((name, size) for name, size in TIMES if seconds >= size), ("s", 1.0))
    return f"{seconds / size:.3g} {name}"
