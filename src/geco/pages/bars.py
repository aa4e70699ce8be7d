"""Bars, one below the other, each with its number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from geco.pages.frame import figure
from geco.pages.markup import element, fixed, text
from geco.pages.scale import number, scale

__all__ = ["BarChart"]


@dataclass(frozen=True)
class BarChart:
    """Bars from 0; a thin line over a bar is its spread.

    Args:
        title: above it.
        x_name: what the bars measure.
        bars: name and length of each.
        spread: how far each may be off to either side, if that is known.
        note: below it.

    Example:
        >>> BarChart("Nodes by degree", "nodes", [("1", 3), ("2-3", 1)]).html().count('class="bar"')
        2
    """

    title: str
    x_name: str
    bars: Sequence[tuple[str, float]]
    spread: Sequence[float] = ()
    note: str = ""

    def html(self) -> str:
        """Return the chart: a table to those who hear it."""
        spread = list(self.spread) or [0.0] * len(self.bars)
        ends = [v + side * s for (_, v), s in zip(self.bars, spread, strict=True) for side in (-1, 1)]
        axis = scale([*ends, 0.0, *([] if any(ends) else [1.0])], zero=True)
        rows = []
        for (name, value), off in zip(self.bars, spread, strict=True):
            zero, end = sorted((axis.place(0.0), axis.place(value if math.isfinite(value) else 0.0)))
            place = f"left:{fixed(100 * zero, 2)}%;width:{fixed(100 * (end - zero), 3)}%"
            shapes = element("span", "", class_="bar", style=place, data_none=value == 0)
            if off:
                left, right = (100 * axis.place(value + side * off) for side in (-1, 1))
                shapes += element("span", "", class_="whisker", style=f"left:{left:.2f}%;width:{right - left:.2f}%")
            said = f"{number(value)} ± {number(off)}" if off else number(value)
            rows.append(
                element(
                    "tr",
                    element("th", text(name), scope="row")
                    + element("td", element("div", shapes, class_="track"), aria_hidden="true", class_="room")
                    + element("td", said, class_="number"),
                )
            )
        head = element("tr", "".join(element("th", text(name), scope="col") for name in ("", "", self.x_name)))
        head = head.replace('<th scope="col"></th>', "<td></td>")
        table = element("table", element("thead", head) + element("tbody", "".join(rows)))
        return figure("bars", self.title, self.note, table)
