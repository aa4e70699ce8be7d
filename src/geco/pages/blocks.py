"""What stands on a page besides tables and charts, and what holds several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from geco.pages.markup import element, text

__all__ = ["Block", "Facets", "Facts", "Folded", "Group", "Heading", "Preformatted", "Tabs", "Text"]


class Block(Protocol):
    """Anything that can stand on a page."""

    def html(self) -> str:
        """Return it as HTML."""
        ...


@dataclass(frozen=True)
class Heading:
    """Begins a section."""

    words: str
    level: int = 2

    def html(self) -> str:
        """Return it as HTML."""
        return element(f"h{self.level}", text(self.words))


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str

    def html(self) -> str:
        """Return it as HTML."""
        return element("p", text(self.words))


@dataclass(frozen=True)
class Preformatted:
    """Text as it is, such as a configuration."""

    words: str

    def html(self) -> str:
        """Return it as HTML."""
        return element("pre", text(self.words), tabindex=0)


@dataclass(frozen=True)
class Facts:
    r"""Names with what they stand for.

    Example:
        >>> Facts([("licence", "MIT")]).html()
        '<dl><dt>licence</dt><dd>MIT</dd></dl>'
    """

    pairs: Sequence[tuple[str, str]]

    def html(self) -> str:
        """Return it as HTML."""
        return element("dl", "".join(element("dt", text(a)) + element("dd", text(b)) for a, b in self.pairs))


@dataclass(frozen=True)
class Group:
    """Blocks one below the other, where one block is asked for."""

    blocks: Sequence[Block]

    def html(self) -> str:
        """Return it as HTML."""
        return _all(self.blocks)


@dataclass(frozen=True)
class Folded:
    """Blocks behind a line that opens them."""

    summary: str
    blocks: Sequence[Block]

    def html(self) -> str:
        """Return it as HTML."""
        return element("details", element("summary", text(self.summary)) + _all(self.blocks))


@dataclass(frozen=True)
class Tabs:
    """Blocks of which one is shown at a time; without scripts, all.

    Args:
        name: what is chosen, such as "Curve".
        tabs: name of each and what it shows.

    Example:
        >>> Tabs("Curve", [("loss", Text("falls")), ("rate", Text("too"))]).html().count('role="tabpanel"')
        2
    """

    name: str
    tabs: Sequence[tuple[str, Block]]

    def html(self) -> str:
        """Return it as HTML."""
        if len(self.tabs) == 1:
            return self.tabs[0][1].html()
        buttons = "".join(
            element("button", text(name), type="button", role="tab", aria_selected="false" if i else "true")
            for i, (name, _) in enumerate(self.tabs)
        )
        panels = "".join(
            element("div", block.html(), role="tabpanel", aria_label=f"{self.name}: {name}")
            for name, block in self.tabs
        )
        choice = element("div", buttons, role="tablist", aria_label=self.name)
        return element("div", choice + panels, class_="tabs")


@dataclass(frozen=True)
class Facets:
    """Small charts side by side, as many as fit."""

    blocks: Sequence[Block]

    def html(self) -> str:
        """Return it as HTML."""
        return element("div", _all(self.blocks), class_="facets")


def _all(blocks: Sequence[Block]) -> str:
    return "\n".join(block.html() for block in blocks)
