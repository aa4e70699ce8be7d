"""What all charts share: caption, legend, axes and grid around a drawing that fits any width.

The drawing is one SVG of a fixed height whose shapes stand at shares of the width: text and strokes keep their size
from a phone to paper. Coordinates inside run from 0 to 1,000 in both directions.
"""

from __future__ import annotations

from collections.abc import Sequence

from geco.pages.markup import element, fixed, text
from geco.pages.scale import Scale

__all__ = ["COLOURS", "DASHES", "MARKS", "SIZE", "canvas", "figure", "framed", "key", "legend", "look", "symbols"]

SIZE = 1000
COLOURS, DASHES, MARKS = 7, 5, 6  # how many there are of each, as page.css and `symbols` have them
SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.6 -3.6h7.2v7.2h-7.2z",
    "M0 -4.8L4.6 3.4h-9.2z",
    "M0 -5L5 0L0 5L-5 0z",
    "M-1.5 -4.8h3v3.3h3.3v3h-3.3v3.3h-3v-3.3h-3.3v-3h3.3z",
    "M0 4.8L4.6 -3.4h-9.2z",
)


def look(number: int) -> str:
    """Return the classes of a series: its colour and its dashes, which together repeat after 35."""
    return f"c{number % COLOURS} d{number % DASHES}"


def symbols() -> str:
    """Return the marks of a page, which charts refer to."""
    marks = "".join(element("path", id=f"m{i}", d=shape) for i, shape in enumerate(SHAPES))
    return element("svg", element("defs", marks), width=0, height=0, class_="symbols", aria_hidden="true")


def key(number: int, line: bool = True) -> str:
    """Return the small drawing that stands for a series."""
    shapes = element("line", x1=0, x2=26, y1=6, y2=6, class_="line") if line else ""
    shapes += element("use", href=f"#m{number % MARKS}", x=13, y=6, class_="mark")
    return element("svg", shapes, class_=f"key {look(number)}", width=26, height=12, aria_hidden="true")


def legend(names: Sequence[tuple[str, int]], line: bool = True) -> str:
    """Return the names of series as switches that hide them."""
    items = "".join(
        element(
            "li",
            element("button", key(number, line) + text(name), type="button", aria_pressed="true", data_series=name),
        )
        for name, number in names
    )
    return element("ul", items, class_="legend", aria_label="Series; press one to hide or show it")


def canvas(shapes: str) -> str:
    """Return shapes in coordinates of 0 to 1,000, stretched over the whole drawing."""
    return element("svg", shapes, viewBox=f"0 0 {SIZE} {SIZE}", preserveAspectRatio="none", class_="canvas")


def framed(x: Scale, y: Scale, names: tuple[str, str], drawing: str, label: str, over: str = "") -> str:
    """Return a drawing between its axes.

    Args:
        x: axis.
        y: axis.
        names: of the axes.
        drawing: SVG.
        label: what it shows, for those who cannot see it.
        over: HTML laid over the drawing.
    """
    lines = "".join(
        element("line", x1="0%", x2="100%", y1=_share(1 - y.place(v)), y2=_share(1 - y.place(v)), class_="grid")
        for v, _ in y.ticks
    ) + "".join(
        element("line", x1=_share(x.place(v)), x2=_share(x.place(v)), y1="100%", y2="100%", class_="tick")
        for v, _ in x.ticks
    )
    longest = max((name for _, name in y.ticks), key=len, default="")
    up = "".join(element("span", name, style=f"top:{_share(1 - y.place(v))}") for v, name in y.ticks)
    along = "".join(element("span", name, style=f"left:{_share(x.place(v))}") for v, name in x.ticks)
    svg = element("svg", lines + drawing, class_="drawing", role="img", aria_label=label)
    return element(
        "div",
        element("div", text(names[1]), class_="y-name")
        + element("div", element("span", longest, class_="sizer") + up, class_="y-axis", aria_hidden="true")
        + element("div", svg + over, class_="plot")
        + element("div", along, class_="x-axis", aria_hidden="true")
        + element("div", text(names[0]), class_="x-name"),
        class_="frame",
    )


def figure(kind: str, title: str, note: str, content: str) -> str:
    """Return a chart with its title above and a note below."""
    below = element("p", text(note), class_="note") if note else ""
    return element(
        "figure", element("figcaption", text(title)) + content + below, class_=f"chart {kind}", data_kind=kind
    )


def _share(value: float) -> str:
    return fixed(100 * value, 2) + "%"
