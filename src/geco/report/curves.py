"""Lines over epochs as SVG, told apart by their dashes and names as well as by colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

__all__ = ["curves"]

Points = Sequence[tuple[float, float]]
WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT = 660, 300, 60, 30, 150  # px: of the drawing, and around the plot
LOOKS = [("#2f6fb2", ""), ("#c2571a", "6 3"), ("#3d8b40", "2 3"), ("#8a4fbf", "9 3 2 3"), ("#777", "1 5")]


def curves(series: Sequence[tuple[str, Points]], label: str) -> str:
    """Return lines through points as SVG, with axes.

    Args:
        series: name of each line and its points, in the order of their x.
        label: what is shown, for those who cannot see it.

    Example:
        >>> lines = [("valid", [(1, 0.5), (2, 0.75)]), ("test", [(1, 0.5), (2, 0.625)])]
        >>> curves(lines, "accuracy by epoch").count("<polyline")
        2
    """
    points = [(x, y) for _, line in series for x, y in line if math.isfinite(y)]
    if not points:
        return f"<p>{escape(label)}: nothing to show</p>"
    xs, ys = ticks([x for x, _ in points]), ticks([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - LEFT - RIGHT)
        return LEFT + across, (HEIGHT - BOTTOM) - (y - ys[0]) / (ys[-1] - ys[0]) * (HEIGHT - BOTTOM - 10)

    parts = _axes(xs, ys, place)
    for number, (name, line) in enumerate(series):
        colour, dashes = LOOKS[number % len(LOOKS)]
        drawn = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in line if math.isfinite(y))
        look = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}" fill="none"'
        parts.append(f'<polyline points="{drawn}" {look}/>')
        top = 20 + 20 * number
        parts.append(
            f'<line x1="{WIDTH - RIGHT + 15}" x2="{WIDTH - RIGHT + 45}" y1="{top - 4}" y2="{top - 4}" {look}/>'
        )
        parts.append(f'<text x="{WIDTH - RIGHT + 52}" y="{top}">{escape(name)}</text>')
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">\n' + "\n".join(parts) + "\n</svg>"


def _axes(xs: list[float], ys: list[float], place: Callable[[float, float], tuple[float, float]]) -> list[str]:
    parts = []
    for y in ys:
        (left, at), (right, _) = place(xs[0], y), place(xs[-1], y)
        parts.append(
            f'<line x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}" stroke="currentColor" stroke-opacity="0.2"/>'
        )
        parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{y:.10g}</text>')
    for x in xs:
        at, low = place(x, ys[0])
        parts.append(f'<text x="{at:.1f}" y="{low + 20:.1f}" text-anchor="middle">{x:.10g}</text>')
    return parts


def ticks(values: Sequence[float], most: int = 6) -> list[float]:
    """Return round numbers, evenly apart, that enclose the values.

    Example:
        >>> ticks([0.23, 0.61])
        [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
        >>> ticks([5.0])
        [5.0, 6.0]
    """
    low, high = min(values), max(values)
    if low == high:
        return [low, low + 1.0]
    exponent = math.floor(math.log10((high - low) / most))
    for step in (m * 10.0**e for e in (exponent, exponent + 1) for m in (1, 2, 5)):
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first < most:
            break
    return [round(n * step, 12) for n in range(first, last + 1)]
