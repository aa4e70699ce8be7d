"""The charts of a page as Matplotlib figures, and as PNG, SVG or PDF files, for papers.

Colours, dashes and marks are those of the page. No backend is chosen and no figure is kept: what is returned is all.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geco.errors import UsageError
from geco.pages.bars import BarChart
from geco.pages.lines import LineChart
from geco.pages.scale import Scale
from geco.pages.scatter import Scatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "Chart", "figure", "write_figure"]

Chart = LineChart | Scatter | BarChart
FORMATS = (".png", ".svg", ".pdf")
COLOURS = ("#0072b2", "#d55e00", "#00875f", "#b0568c", "#a87400", "#4a4f55", "#2a8fc4")  # those of page.css on white
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.7)), (0, (1.2, 1.4)), (0, (5, 1.7, 1.2, 1.7)), (0, (8, 2.3)))
MARKS = ("o", "s", "^", "D", "P", "v")
STYLE = {
    "font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "axes.grid": True, "axes.grid.axis": "y", "axes.axisbelow": True, "grid.color": "#dfe2e6", "grid.linewidth": 0.6,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "lines.linewidth": 1.3, "legend.frameon": False,
    "legend.fontsize": 8, "svg.fonttype": "none", "svg.hashsalt": "geco", "pdf.fonttype": 42,
}  # fmt: skip


def figure(charts: Sequence[Chart], width: float = 3.4) -> Figure:
    """Return charts side by side, at most two in a row; needs Matplotlib (``pip install "geco-graph[plot]"``).

    Args:
        charts: at least one.
        width: of each in inches; 3.4 is a column of most papers.
    """
    matplotlib = _matplotlib()
    if not charts:
        raise UsageError("there is no chart to draw; name at least one curve")
    columns = min(2, len(charts))
    rows = math.ceil(len(charts) / columns)
    with matplotlib.rc_context(STYLE):
        whole: Figure = matplotlib.figure.Figure(figsize=(width * columns, 2.6 * rows), layout="constrained", dpi=200)
        grid = list(whole.subplots(rows, columns, squeeze=False).flat)
        for chart, axes in zip(charts, grid, strict=False):
            _draw(chart, axes)
        for axes in grid[len(charts) :]:
            axes.set_axis_off()
        if isinstance(charts[0], LineChart):
            grid[0].legend()
    return whole


def write_figure(whole: Figure, path: Path) -> None:
    """Write a figure as its name ends: .png, .svg or .pdf; the same figure gives the same bytes."""
    from geco.store import write_file

    matplotlib, data = _matplotlib(), io.BytesIO()
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix, {})
    with matplotlib.rc_context(STYLE):
        whole.savefig(data, format=path.suffix[1:], metadata=dated)
    write_file(path, data.getvalue())


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise UsageError('drawing figures needs Matplotlib: pip install "geco-graph[plot]"') from error
    return matplotlib


def _draw(chart: Chart, axes: Axes) -> None:
    axes.set_title(chart.title, loc="left")
    if isinstance(chart, BarChart):
        return _bars(chart, axes)
    axes.set_xlabel(chart.x_name)
    axes.set_ylabel(chart.y_name)
    if isinstance(chart, LineChart):
        _lines(chart, axes)
    else:
        _points(chart, axes)
    for scale, log, name in zip(chart.axes, (chart.log_x, chart.log_y), "xy", strict=True):
        _axis(axes, scale, log, name)


def _axis(axes: Axes, scale: Scale, log: bool, name: str) -> None:
    if log:
        getattr(axes, f"set_{name}scale")("log")
        getattr(axes, f"{name}axis").set_minor_locator(_matplotlib().ticker.NullLocator())
    getattr(axes, f"set_{name}lim")(scale.low, scale.high)
    getattr(axes, f"set_{name}ticks")([value for value, _ in scale.ticks], [text for _, text in scale.ticks])


def _lines(chart: LineChart, axes: Axes) -> None:
    for number, s in enumerate(chart.series):
        look = number if s.look is None else s.look
        colour = COLOURS[look % len(COLOURS)]
        axes.plot(s.x, s.y, color=colour, linestyle=DASHES[look % len(DASHES)], label=s.name)
        if len(s.low):
            axes.fill_between(s.x, s.low, s.high, color=colour, alpha=0.15, linewidth=0)
        for mark in s.marks:
            style: dict[str, Any] = {"color": colour, "marker": MARKS[look % len(MARKS)], "markeredgecolor": "white"}
            axes.plot([mark.x], [mark.y], markersize=5, linestyle="none", markeredgewidth=0.5, **style)
    for rule in chart.rules:
        axes.axhline(rule.y, color="#1a1d21", linewidth=0.8, linestyle=":", label=rule.name)


def _points(chart: Scatter, axes: Axes) -> None:
    if chart.equal:
        ends = [chart.axes[0].low, chart.axes[0].high]
        axes.plot(ends, ends, color="#59616b", linewidth=0.8, linestyle="--")
    for number, group in enumerate(chart.points):
        look = number if group.look is None else group.look
        axes.scatter(
            group.x, group.y, s=9, alpha=0.55, color=COLOURS[look % len(COLOURS)], linewidths=0, label=group.name
        )
    if len(chart.points) > 1:
        axes.legend()


def _bars(chart: BarChart, axes: Axes) -> None:
    names, values = [name for name, _ in chart.bars], [value for _, value in chart.bars]
    axes.barh(range(len(names)), values, xerr=list(chart.spread) or None, color=COLOURS[0], height=0.7)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(chart.x_name)
    axes.grid(axis="y", visible=False)
