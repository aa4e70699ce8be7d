"""Findingss as a page: for each a picture, what stands out, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geco import __version__
from geco.explain.findings import Effect, Findings
from geco.explain.pictures import svg
from geco.pages import Block, Cell, Folded, Heading, Page, Table, Text
from geco.pages.frame import figure
from geco.pages.markup import element

__all__ = ["blocks", "page"]

MEANING = (
    "Left is the prediction when a node has the features of other nodes of its graph in its place (the mean over "
    "them), when an edge is not there, or when a part of the network is silent. It says what this network uses, not "
    "what is so in the world; nodes that stand in for one another can each look as if they gave nothing."
)


@dataclass(frozen=True)
class _Picture:
    """A drawing that shrinks to the width there is."""

    title: str
    svg: str

    def html(self) -> str:
        """Return it as HTML."""
        drawing = self.svg.replace("<svg ", '<svg style="max-width:100%;height:auto;border-radius:8px" ', 1)
        return figure("picture", self.title, "", element("div", drawing, style="text-align:center"))


def page(found: Sequence[Findings], command: str = "") -> Page:
    """Return a page with explanations one below the other.

    Args:
        found: one or more.
        command: what made it.
    """
    title = found[0].asked if len(found) == 1 else f"{len(found)} predictions explained"
    whole = Page(f"Why: {title}" if len(found) == 1 else title, command, [("geco", __version__)]).add(Text(MEANING))
    for one in found:
        whole.add(*blocks(one))
    return whole


def blocks(found: Findings, top: int = 20) -> list[Block]:
    """Return what stands of an explanation on a page.

    Args:
        found: the explanation.
        top: nodes and edges of the tables.
    """
    title = f"{found.asked}, {found.quantity}: {found.value:.4g}"
    far = any(effect.hops is not None for effect in found.nodes)
    shown: list[Block] = [
        Heading(title),
        *(Text(line) for line in found.said()),
        _Picture("What each node gives", svg(found)),
    ]
    shown.append(_table(found, "Without a node", found.nodes[:top], far))
    if found.parts:
        shown.append(_table(found, "Without a part of the network, or nodes by their distance", found.parts, False))
    if any(effect.strength for effect in found.edges):
        shown.append(Folded("Without an edge", [_table(found, "Without an edge", found.edges[:top], False)]))
    return shown


def _table(found: Findings, caption: str, effects: Sequence[Effect], far: bool) -> Table:
    rows: list[list[str | float | Cell]] = []
    for effect in effects:
        name = effect.name if effect.layer is None else f"{effect.name}, layer {effect.layer} only"
        hops = [_hops(effect)] if far else []
        values = zip(found.numbers(effect), (effect.without, effect.change, effect.strength), strict=False)
        rows.append([name, *hops, *(Cell(text, value) for text, value in values)])
    return Table(["without", *(["edges away"] if far else []), *found.columns], rows, caption)


def _hops(effect: Effect) -> Cell:
    return Cell("no path", 1e9) if effect.hops is None or effect.hops < 0 else Cell(str(effect.hops), effect.hops)
