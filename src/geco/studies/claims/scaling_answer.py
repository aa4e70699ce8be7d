"""What the scaling study found, beside the paper's table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from geco.pages import Block, Cell, Heading, LineChart, Mark, Rule, Series, Table
from geco.pages.scale import number
from geco.studies.claims.study import Answer, Done

__all__ = ["PAPER", "answer", "overtakes"]

# Nodes: milliseconds of GECO and of FlashAttention on an A100 (paper, Appendix, "Extended Runtime Study").
PAPER = {
    512: (1.88, 0.27), 1024: (2.13, 0.32), 2048: (2.11, 0.31), 4096: (2.42, 0.32), 8192: (2.12, 0.51),
    16384: (2.13, 1.84), 32768: (2.63, 6.92), 65536: (3.73, 28.74), 131072: (6.21, 115.23), 262144: (15.74, 458.64),
    524288: (41.72, 1830.29), 1048576: (83.90, 7317.04), 2097152: (173.15, 29305.77),
}  # fmt: skip
KINDS = {"forward": "forward pass", "step": "forward and backward pass"}
ASKED = (65536, 131072, 2097152)  # nodes at which factors are named


@dataclass(frozen=True)
class Row:
    """Seconds of one kind at one size."""

    nodes: int
    geco: float
    paper: float  # with the paper's filter
    attention: float
    measured: bool  # attention; else it is extrapolated

    @property
    def factor(self) -> float:
        """How many times longer attention takes."""
        return self.attention / self.geco


def rows_of(done: Sequence[Done], kind: str) -> list[Row]:
    """Return the times of a kind by size, attention's beyond the last measured size by the square of the nodes."""
    found: list[Row] = []
    last = (1, math.nan)
    for unit in sorted(done, key=lambda unit: int(unit.facts["nodes"])):
        nodes, result = unit.facts["nodes"], unit.result
        measured = "attention" in result
        if measured:
            last = (nodes, result["attention"][kind])
        attention = last[1] * (nodes / last[0]) ** 2
        found.append(Row(nodes, result["geco"][kind], result["paper"][kind], attention, measured))
    return found


def overtakes(rows: Sequence[Row]) -> int | None:
    """Return the smallest size from which on GECO is faster at every size, None if it is not at the largest.

    Example:
        >>> overtakes([Row(1, 2.0, 2.0, 1.0, True), Row(2, 2.0, 2.0, 4.0, True), Row(4, 3.0, 3.0, 16.0, False)])
        2
    """
    found = None
    for row in reversed(rows):
        if row.factor <= 1:
            break
        found = row.nodes
    return found


def answer(done: Sequence[Done]) -> Answer:
    """Return what the times say."""
    if not done:
        return Answer("Nothing is measured yet.", [], [])
    rows = {kind: rows_of(done, kind) for kind in KINDS}
    words = "\n".join(_words(kind, rows[kind]) for kind in KINDS)
    last = max((row.nodes for row in rows["step"] if row.measured), default=0)
    beyond = "" if all(row.measured for row in rows["step"]) else "; every larger figure of it is extrapolated as N²"
    words += f"\nAttention was measured up to {last:,} nodes{beyond}."
    words += (
        " The paper (A100, FlashAttention) has the crossing between 16,384 and 32,768 nodes and 169 times at 2,097,152."
    )
    charts: list[Block] = [Heading("Time")]
    charts += [_chart(f"Time of a {name}", rows[kind]) for kind, name in KINDS.items()]
    charts += [Heading("How many times longer attention takes"), _factors(rows)]
    if any("peak" in result for unit in done for result in unit.result.values()):
        charts += [Heading("Memory"), _memory(done)]
    return Answer(words, charts, [_table(name, rows[kind]) for kind, name in KINDS.items()])


def _words(kind: str, rows: Sequence[Row]) -> str:
    since = overtakes(rows)
    sizes = [row.nodes for row in rows]
    if since is None:
        first = f"In a {KINDS[kind]} GECO does not overtake attention up to {sizes[-1]:,} nodes."
    elif since == sizes[0]:
        first = f"In a {KINDS[kind]} GECO is faster than attention at every size from {since:,} nodes on."
    else:
        before = sizes[sizes.index(since) - 1]
        first = f"In a {KINDS[kind]} GECO overtakes attention between {before:,} and {since:,} nodes."
    named = [row for row in rows if row.nodes in ASKED]
    factors = ", ".join(
        f"{number(float(f'{row.factor:.3g}'))} times at {row.nodes:,}{'' if row.measured else ' (extrapolated)'}"
        for row in named
    )
    return first + (f" Attention takes {factors}." if factors else "")


def _chart(title: str, rows: Sequence[Row]) -> LineChart:
    x = [float(row.nodes) for row in rows]
    known = [row for row in rows if row.measured]
    beyond = rows[max(0, len(known) - 1) :] if len(known) < len(rows) else []
    series = [
        _line("GECO", x, [row.geco for row in rows], 0),
        _line("GECO, the paper's filter", x, [row.paper for row in rows], 2),
        _line("attention", [float(row.nodes) for row in known], [row.attention for row in known], 1),
    ]
    if beyond:
        series.append(
            Series("attention, extrapolated", [float(r.nodes) for r in beyond], [r.attention for r in beyond], look=3)
        )
    sizes = [nodes for nodes in PAPER if x[0] <= nodes <= x[-1]]
    for name, column, look in (("paper: GECO on an A100", 0, 5), ("paper: FlashAttention on an A100", 1, 6)):
        series.append(Series(name, [float(n) for n in sizes], [PAPER[n][column] / 1000 for n in sizes], look=look))
    note = "Both axes in equal factors. Marks are measured here; lines without marks are extrapolated, or the paper's."
    return LineChart(title, "nodes", "seconds", [s for s in series if len(s.x)], log_x=True, log_y=True, note=note)


def _line(name: str, x: Sequence[float], y: Sequence[float], look: int) -> Series:
    return Series(name, x, y, marks=[Mark(a, b) for a, b in zip(x, y, strict=True)], look=look)


def _factors(rows: dict[str, list[Row]]) -> LineChart:
    series = []
    for look, (kind, name) in enumerate(KINDS.items()):
        x, y = [float(row.nodes) for row in rows[kind]], [row.factor for row in rows[kind]]
        marks = [Mark(float(row.nodes), row.factor) for row in rows[kind] if row.measured]
        series.append(Series(name, x, y, marks=marks, look=look))
    sizes = [nodes for nodes in PAPER if series[0].x[0] <= nodes <= series[0].x[-1]]
    series.append(Series("paper, A100", [float(n) for n in sizes], [PAPER[n][1] / PAPER[n][0] for n in sizes], look=5))
    note = "Above 1 GECO is faster. Marks: attention measured; without a mark it is extrapolated."
    rules = [Rule("equally fast", 1.0)]
    shown = [s for s in series if len(s.x)]
    return LineChart("Attention's time / GECO's", "nodes", "times", shown, rules, log_x=True, log_y=True, note=note)


def _memory(done: Sequence[Done]) -> LineChart:
    series = []
    for look, (key, name) in enumerate(
        (("geco", "GECO"), ("attention", "attention"), ("paper", "GECO, the paper's filter"))
    ):
        points = [(float(u.facts["nodes"]), u.result[key]["peak"]) for u in done if u.result.get(key, {}).get("peak")]
        if points:
            x, y = zip(*sorted(points), strict=True)
            series.append(_line(name, x, [value / 2**20 for value in y], look))
    note = "Peak above graph and features; on the left, what PyTorch itself loads. Fused attention has no N × N matrix."
    return LineChart("Memory", "nodes", "MiB", series, log_x=True, log_y=True, note=note)


def _table(name: str, rows: Sequence[Row]) -> Table:
    columns = [
        "nodes",
        "GECO, ms",
        "paper's filter, ms",
        "attention, ms",
        "times",
        "paper: GECO, ms",
        "paper: Flash, ms",
        "paper: times",
    ]
    cells: list[list[str | float | Cell]] = []
    for row in rows:
        ours: list[str | float | Cell] = [_ms(row.geco), _ms(row.paper), _ms(row.attention, row.measured)]
        theirs: list[str | float | Cell] = [Cell("–")] * 3
        if row.nodes in PAPER:
            geco, flash = PAPER[row.nodes]
            theirs = [geco, flash, Cell(f"{flash / geco:.2f}", flash / geco)]
        times = Cell(f"{row.factor:.3g}", row.factor, "" if row.measured else "extrapolated")
        cells.append([Cell(f"{row.nodes:,}", row.nodes), *ours, times, *theirs])
    note = "" if all(row.measured for row in rows) else "extrapolated: as N² from the largest graph that was measured."
    return Table(columns, cells, f"A {name}", note=note)


def _ms(seconds: float, measured: bool = True) -> Cell:
    more = "" if measured else "extrapolated"
    return Cell(number(float(f"{1000 * seconds:.4g}")), seconds, more)
