"""A drawing of lines, dots and words, as SVG or, with Matplotlib, as PNG."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from html import escape

from geco.errors import UsageError

__all__ = ["Dot", "Drawing", "Line", "Words", "shade"]

FOR, AGAINST = (214, 96, 20), (32, 104, 184)  # orange and blue, which the colour-blind tell apart
INK, FAINT, PAPER = "#1d2330", "#9aa3b2", "#ffffff"
MARGIN, CAPTION, WIDTH_OF_LETTER = 46.0, 22.0, 6.4


@dataclass(frozen=True)
class Line:
    """From one point to another."""

    start: tuple[float, float]
    end: tuple[float, float]
    colour: str = FAINT
    width: float = 1.2
    dashed: bool = False


@dataclass(frozen=True)
class Dot:
    """A node; ``title`` is shown under the pointer."""

    at: tuple[float, float]
    radius: float
    colour: str
    title: str = ""
    ringed: bool = False


@dataclass(frozen=True)
class Words:
    """Centred at a point."""

    at: tuple[float, float]
    text: str
    size: float = 11.0
    colour: str = INK
    bold: bool = False


@dataclass
class Drawing:
    """Shapes in the order they are drawn, with a caption below.

    Example:
        >>> Drawing("a dot", dots=[Dot((0.0, 0.0), 5.0, "#000")]).svg().count("<circle")
        1
    """

    title: str
    lines: list[Line] = field(default_factory=list)
    dots: list[Dot] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)
    caption: list[str] = field(default_factory=list)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height, with room for the caption."""
        half = [len(w.text) * WIDTH_OF_LETTER * w.size / 22 for w in self.words]
        x = [v for w, h in zip(self.words, half, strict=True) for v in (w.at[0] - h, w.at[0] + h)]
        x += [v for dot in self.dots for v in (dot.at[0] - dot.radius, dot.at[0] + dot.radius)] or [0.0]
        y = [w.at[1] for w in self.words] + [dot.at[1] for dot in self.dots] or [0.0]
        wide = max([240.0, max(x) - min(x), *(len(line) * WIDTH_OF_LETTER for line in self.caption)])
        middle, room = (max(x) + min(x)) / 2, CAPTION * len(self.caption)
        left, top = middle - wide / 2 - MARGIN / 2, min(y) - MARGIN
        return left, top, wide + MARGIN, max(y) - min(y) + 2 * MARGIN + room

    @property
    def captions(self) -> list[Words]:
        """The lines of the caption where they stand."""
        left, top, width, height = self.box
        first = top + height - CAPTION * (len(self.caption) - 0.35)
        return [Words((left + width / 2, first + CAPTION * i), line, 12.0) for i, line in enumerate(self.caption)]

    def svg(self) -> str:
        """Return the drawing as SVG, on white."""
        left, top, width, height = self.box
        size = f'viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}" width="{width:.0f}" height="{height:.0f}"'
        style = 'font-family="system-ui, sans-serif" text-anchor="middle"'
        title = f"<title>{escape(self.title)}</title>"
        paper = f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{PAPER}" rx="8"/>'
        shapes = [_line(line) for line in self.lines] + [_dot(dot) for dot in self.dots]
        shapes += [_words(words) for words in (*self.words, *self.captions)]
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {style}>'
        return "\n".join([head, title, paper, *shapes, "</svg>", ""])

    def png(self) -> bytes:
        """Return the drawing as PNG of 200 dots an inch."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise UsageError('PNG pictures need Matplotlib; pip install "geco-graph[plot]", or write .svg') from error
        left, top, width, height = self.box
        figure = Figure(figsize=(width / 96, height / 96), facecolor=PAPER)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(left, left + width), ylim=(top + height, top))
        axes.axis("off")
        for line in self.lines:
            ends = zip(line.start, line.end, strict=True)
            axes.plot(*ends, color=line.colour, lw=0.75 * line.width, ls="--" if line.dashed else "-", zorder=1)
        for dot in self.dots:
            edge, wide = (INK, 2.0) if dot.ringed else (FAINT, 0.8)
            axes.scatter(*dot.at, (1.5 * dot.radius) ** 2, dot.colour, edgecolors=edge, linewidths=wide, zorder=2)
        for words in (*self.words, *self.captions):
            weight = "bold" if words.bold else "normal"
            axes.text(*words.at, words.text, size=0.75 * words.size, color=words.colour, weight=weight, ha="center")
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=200)
        return file.getvalue()


def shade(change: float, strength: float) -> str:
    """Return a colour: orange for what speaks for a prediction, blue against it, paler the weaker it is.

    Args:
        change: of the prediction without it.
        strength: from 0 to 1.

    Example:
        >>> shade(-0.5, 0.0), shade(-0.5, 1.0)
        ('#eef0f4', '#d66014')
    """
    full, pale = FOR if change < 0 else AGAINST, (238, 240, 244)
    share = min(1.0, max(0.0, strength)) ** 0.6
    return "#" + "".join(f"{round(p + share * (f - p)):02x}" for p, f in zip(pale, full, strict=True))


def _line(line: Line) -> str:
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    (a, b), (c, d) = line.start, line.end
    place = f'x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}"'
    return f'<line {place} stroke="{line.colour}" stroke-width="{line.width:.1f}"{dash}/>'


def _dot(dot: Dot) -> str:
    edge = f'stroke="{INK}" stroke-width="2.5"' if dot.ringed else f'stroke="{FAINT}" stroke-width="1"'
    place = f'cx="{dot.at[0]:.1f}" cy="{dot.at[1]:.1f}" r="{dot.radius:.1f}"'
    return f'<circle {place} fill="{dot.colour}" {edge}><title>{escape(dot.title)}</title></circle>'


def _words(words: Words) -> str:
    weight = ' font-weight="600"' if words.bold else ""
    halo = f'stroke="{PAPER}" stroke-width="3" paint-order="stroke"'
    place = f'x="{words.at[0]:.1f}" y="{words.at[1]:.1f}" font-size="{words.size:.0f}"'
    return f'<text {place} fill="{words.colour}" {halo}{weight}>{escape(words.text)}</text>'
