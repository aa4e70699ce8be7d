"""Lines with bands, marks and level lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from geco.pages.frame import MARKS, SIZE, canvas, figure, framed, legend, look
from geco.pages.markup import data, element, fixed, text
from geco.pages.scale import Scale, number, scale

__all__ = ["LineChart", "Mark", "Rule", "Series"]

Coordinates = Sequence[float]


@dataclass(frozen=True)
class Mark:
    """A point that stands out, such as the epoch that was chosen."""

    x: float
    y: float
    label: str = ""


@dataclass(frozen=True)
class Rule:
    """A level to compare with, such as what the majority class scores."""

    name: str
    y: float


@dataclass(frozen=True)
class Series:
    """A line.

    Args:
        name: in the legend; series of one name are hidden together all over a page.
        x: in growing order.
        y: values; those that are not finite leave a gap.
        low: lower edge of the band, if there is one.
        high: upper edge of the band.
        marks: points that stand out.
        counts: of what each value is the mean; said where it is less than elsewhere.
        look: number of its colour, dashes and mark; its place in the chart if not given.
    """

    name: str
    x: Coordinates
    y: Coordinates
    low: Coordinates = ()
    high: Coordinates = ()
    marks: Sequence[Mark] = ()
    counts: Sequence[int] = ()
    look: int | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.x), len(self.y), *(len(e) for e in (self.low, self.high, self.counts) if len(e))}
        if len(lengths) > 1 or bool(len(self.low)) != bool(len(self.high)):
            raise ValueError(f"series {self.name}: x, y and both edges of its band must be as long, got {lengths}")

    @property
    def values(self) -> Iterator[float]:
        """All heights it reaches."""
        yield from (*self.y, *self.low, *self.high, *(mark.y for mark in self.marks))


@dataclass(frozen=True)
class LineChart:
    """Lines over a common axis.

    Args:
        title: above it.
        x_name: of the axis along.
        y_name: of the axis up.
        series: the lines.
        rules: levels to compare with.
        log_x: equal factors along, not equal steps; values are above 0.
        log_y: the same upwards.
        note: below it: what lines, bands and marks are.

    Example:
        >>> gcn = Series("gcn", [1, 2], [0.5, 0.75], low=[0.25, 0.5], high=[0.75, 1.0])
        >>> LineChart("Accuracy", "epoch", "accuracy", [gcn]).html().count("<polyline")
        1
    """

    title: str
    x_name: str
    y_name: str
    series: Sequence[Series]
    rules: Sequence[Rule] = ()
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    axes: tuple[Scale, Scale] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        x = scale((v for s in self.series for v in s.x), self.log_x)
        heights = [v for s in self.series for v in s.values] + [rule.y for rule in self.rules]
        object.__setattr__(self, "axes", (x, scale(heights, self.log_y, pad=0.04)))

    def html(self) -> str:
        """Return the chart."""
        if not any(math.isfinite(v) for s in self.series for v in s.y):
            return figure("lines", self.title, "There is nothing to show yet.", "")
        looks = [i if s.look is None else s.look for i, s in enumerate(self.series)]
        drawing = canvas("".join(self._shapes(s, i) for s, i in zip(self.series, looks, strict=True)))
        drawing += "".join(self._marks(s, i) for s, i in zip(self.series, looks, strict=True))
        drawing += "".join(element("line", x1="0%", x2="100%", y1=h, y2=h, class_="rule") for h in self._levels)
        over = "".join(
            element("span", text(rule.name), class_="rule-name", style=f"top:{height}")
            for rule, height in zip(self.rules, self._levels, strict=True)
        )
        body = framed(*self.axes, (self.x_name, self.y_name), drawing, self._label(), over)
        names = [(s.name, i) for s, i in zip(self.series, looks, strict=True)]
        return figure("lines", self.title, self.note, legend(names) + body + self._data(looks))

    @property
    def _levels(self) -> list[str]:
        return [fixed(100 - 100 * self.axes[1].place(rule.y), 2) + "%" for rule in self.rules]

    def _place(self, x: float, y: float) -> str:
        return f"{fixed(SIZE * self.axes[0].place(x))},{fixed(SIZE - SIZE * self.axes[1].place(y))}"

    def _shapes(self, series: Series, number: int) -> str:
        band = ""
        if len(series.low):
            whole = [i for i in range(len(series.x)) if math.isfinite(series.low[i]) and math.isfinite(series.high[i])]
            there = [self._place(series.x[i], series.high[i]) for i in whole]
            back = [self._place(series.x[i], series.low[i]) for i in reversed(whole)]
            band = element("path", d=f"M{' '.join([*there, *back])}z", class_="band") if whole else ""
        lines = "".join(
            element("polyline", points=" ".join(self._place(x, y) for x, y in part), class_="line")
            for part in _unbroken(zip(series.x, series.y, strict=True))
        )
        return element("g", band + lines, class_=f"series {look(number)}", data_series=series.name)

    def _marks(self, series: Series, number: int) -> str:
        x, y = self.axes
        marks = "".join(
            element(
                "use", href=f"#m{number % MARKS}", x=f"{fixed(100 * x.place(m.x), 2)}%",
                y=f"{fixed(100 - 100 * y.place(m.y), 2)}%", class_="mark",
            )
            for m in series.marks
            if math.isfinite(m.y)
        )  # fmt: skip
        return element("g", marks, class_=f"series {look(number)}", data_series=series.name) if marks else ""

    def _label(self) -> str:
        parts = [f"{self.title}: {self.y_name} over {self.x_name}."]
        for s in self.series:
            known = [(x, y) for x, y in zip(s.x, s.y, strict=True) if math.isfinite(y)]
            if known:
                low, high = (number(f(y for _, y in known)) for f in (min, max))
                parts.append(f"{s.name}: from {low} to {high}, {number(known[-1][1])} at {number(known[-1][0])}.")
        return " ".join(parts + [f"{rule.name}: {number(rule.y)}." for rule in self.rules])

    def _data(self, looks: Sequence[int]) -> str:
        """Return the numbers for those who point at the chart; x once if all series share it."""
        shared = list(self.series[0].x) if len({tuple(s.x) for s in self.series}) == 1 else None
        ends = (self.axes[0].low, self.axes[0].high)
        lines = []
        for s, number_ in zip(self.series, looks, strict=True):
            most = max(s.counts, default=0)
            fewer = {str(i): n for i, n in enumerate(s.counts) if n < most}
            marks = [[m.x, m.y, m.label] for m in s.marks]
            line = {"name": s.name, "look": number_, "x": None if shared else s.x, "y": s.y, "low": s.low}
            line |= {"high": s.high, "marks": marks, "fewer": fewer}
            lines.append(
                {key: value for key, value in line.items() if value is not None and value != {} and value != ()}
            )
        return data(
            {"x": self.x_name, "y": self.y_name, "ends": ends, "log": self.log_x, "at": shared, "series": lines}
        )


def _unbroken(points: Iterable[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    """Return the stretches of points without a gap."""
    parts: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if math.isfinite(y):
            parts[-1].append((x, y))
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]
