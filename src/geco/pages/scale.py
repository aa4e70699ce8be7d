"""Axes: where a value stands between the ends of an axis, and which values are written at it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Scale", "number", "scale", "ticks"]

POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``, in equal steps or equal factors."""

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]  # values and what is written at them

    def place(self, value: float) -> float:
        """Return where a value stands, 0 at ``low`` and 1 at ``high``.

        Example:
            >>> scale([0, 10]).place(5), scale([1, 100], log=True).place(10)
            (0.5, 0.5)
        """
        low, high, at = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        return (at - low) / (high - low)


def scale(values: Iterable[float], log: bool = False, pad: float = 0.0, zero: bool = False, most: int = 6) -> Scale:
    """Return the axis of values; those that are not finite do not count.

    Args:
        values: all of them above 0 if ``log``.
        log: equal factors instead of equal steps.
        pad: how much room is left at both ends, as a share of the axis.
        zero: begin at 0, as bars do.
        most: ticks.

    Example:
        >>> [name for _, name in scale([0.23, 0.61]).ticks]
        ['0.3', '0.4', '0.5', '0.6']
        >>> [name for _, name in scale([0.00002, 3], log=True).ticks]
        ['10⁻⁴', '0.001', '0.01', '0.1', '1']
    """
    found = [v for v in values if math.isfinite(v)] or [0.1 if log else 0.0, 1.0]
    low, high = min(found), max(found)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    if log and low <= 0:
        raise ValueError(f"a logarithmic axis needs values above 0, got {low:g}; use log=False")
    low, high = _apart(low, high, log)
    if log:
        room = (math.log10(high) - math.log10(low)) * pad
        low, high = low / 10**room, high * 10**room
        at = _decades(low, high, most)
        return Scale(low, high, True, tuple((v, number(v)) for v in at))
    room = (high - low) * pad
    low, high = low - (0 if zero and low == 0 else room), high + room
    return Scale(low, high, False, tuple(ticks(low, high, most)))


def _apart(low: float, high: float, log: bool) -> tuple[float, float]:
    """Return ends that differ by more than rounding."""
    if log:
        return (low, high) if high > low * 1.0001 else (low / 2, high * 2)
    width = max(abs(low), abs(high))
    return (low, high) if high - low > 1e-9 * width else (low - (0.1 * width or 0.5), high + (0.1 * width or 0.5))


def ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Return round numbers within an interval, evenly apart, and how they are written."""
    exponent = math.floor(math.log10((high - low) / most))
    steps = ((m, e) for e in (exponent, exponent + 1) for m in (1, 2, 5))
    for multiple, power in steps:
        step = multiple * 10.0**power
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    values = [count * multiple * 10.0**power if power >= 0 else count * multiple / 10.0**-power
              for count in range(first, last + 1)]  # fmt: skip
    plain = power >= -5 and max(abs(low), abs(high)) < 1e6
    return [(v, f"{v:,.{max(0, -power)}f}" if plain else number(v)) for v in values]


def _decades(low: float, high: float, most: int) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for multiples in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):
        found = [m * 10.0**e for e in range(first, last + 1) for m in multiples]
        inside: Sequence[float] = [v for v in found if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
        if len(inside) <= most:
            break
    every = math.ceil(len(inside) / most) if inside else 1
    return list(inside[(len(inside) - 1) % every :: every]) if len(inside) > 1 else [low, high]


def number(value: float) -> str:
    """Return a number in up to four digits, as people write it.

    Example:
        >>> number(0.25), number(123456), number(0.00002), number(0)
        ('0.25', '123,456', '2×10⁻⁵', '0')
    """
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "not a number"
    digits, _, power = f"{value:.3e}".partition("e")
    digits = digits.rstrip("0").rstrip(".")
    power = str(int(power)).translate(POWERS)
    return f"10{power}" if digits == "1" else f"{digits}×10{power}"
