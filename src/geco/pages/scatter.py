"""Points: what was predicted against what is true, or any two numbers of many things."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from geco.pages.frame import SIZE, canvas, figure, framed, legend, look
from geco.pages.markup import data, element, fixed
from geco.pages.scale import Scale, number, scale

__all__ = ["Points", "Scatter"]


@dataclass(frozen=True)
class Points:
    """Points of one name.

    Args:
        name: in the legend.
        x: of each point.
        y: of each point.
        labels: of each point, if they have any.
        look: number of its colour; its place in the chart if not given.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    labels: Sequence[str] = ()
    look: int | None = None


@dataclass(frozen=True)
class Scatter:
    """Points in a plane.

    Args:
        title: above it.
        x_name: of the axis along.
        y_name: of the axis up.
        points: groups of them.
        equal: both axes have the same ends, and a line shows where x equals y.
        log_x: equal factors along, not equal steps.
        log_y: the same upwards.
        note: below it.

    Example:
        >>> Scatter("Solubility", "true", "predicted", [Points("gcn", [0, 1], [0, 2])], equal=True).axes[0].high > 2
        True
    """

    title: str
    x_name: str
    y_name: str
    points: Sequence[Points]
    equal: bool = False
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    axes: tuple[Scale, Scale] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        x, y = [v for p in self.points for v in p.x], [v for p in self.points for v in p.y]
        both = [*x, *y] if self.equal else []
        axes = (scale(both or x, self.log_x, pad=0.04, most=5), scale(both or y, self.log_y, pad=0.04, most=5))
        object.__setattr__(self, "axes", axes)

    def html(self) -> str:
        """Return the chart."""
        shapes = element("path", d=f"M0,{SIZE}L{SIZE},0", class_="equal") if self.equal else ""
        looks = [i if p.look is None else p.look for i, p in enumerate(self.points)]
        for group, number_ in zip(self.points, looks, strict=True):
            dots = element("path", d="".join(self._dots(group)), class_="dots")
            shapes += element("g", dots, class_=f"series {look(number_)}", data_series=group.name)
        body = framed(*self.axes, (self.x_name, self.y_name), canvas(shapes), self._label())
        names = [(p.name, i) for p, i in zip(self.points, looks, strict=True)]
        switches = legend(names, line=False) if len(names) > 1 else ""
        return figure("scatter", self.title, self.note, switches + body + self._data(looks))

    def _dots(self, group: Points) -> list[str]:
        x, y = self.axes
        known = [(a, b) for a, b in zip(group.x, group.y, strict=True) if math.isfinite(a) and math.isfinite(b)]
        return [f"M{fixed(SIZE * x.place(a))} {fixed(SIZE - SIZE * y.place(b))}h0" for a, b in known]

    def _label(self) -> str:
        parts = [f"{self.title}: {self.y_name} against {self.x_name}."]
        for p in self.points:
            spans = [f"{name} from {number(min(v))} to {number(max(v))}" for name, v in (("x", p.x), ("y", p.y)) if v]
            parts.append(f"{p.name}: {len(p.x)} points, {', '.join(spans)}.")
        return " ".join(parts)

    def _data(self, looks: Sequence[int]) -> str:
        ends = [(axis.low, axis.high, axis.log) for axis in self.axes]
        groups = [
            {"name": p.name, "look": i, "x": p.x, "y": p.y, "labels": p.labels}
            for p, i in zip(self.points, looks, strict=True)
        ]
        return data({"x": self.x_name, "y": self.y_name, "ends": ends, "series": groups})
