"""Which class was taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geco.pages.frame import figure
from geco.pages.markup import element, fixed, text

__all__ = ["ConfusionMatrix"]


@dataclass(frozen=True)
class ConfusionMatrix:
    """Counts by true class (rows) and predicted class (columns), shaded by the share of their row.

    Args:
        title: above it.
        classes: their names.
        counts: ``(C, C)``, row by row.
        note: below it.

    Example:
        >>> ConfusionMatrix("Test", ["cat", "dog"], [[3, 1], [0, 4]]).html().count('scope="row"')
        2
    """

    title: str
    classes: Sequence[str]
    counts: Sequence[Sequence[int]]
    note: str = ""

    def html(self) -> str:
        """Return the table."""
        names = "".join(element("th", text(name), scope="col") for name in self.classes)
        head = element("tr", element("td", "true ↓ predicted →", class_="corner") + names)
        head += ""
        rows = "".join(
            element("tr", element("th", text(name), scope="row") + "".join(_cells(row, at)))
            for at, (name, row) in enumerate(zip(self.classes, self.counts, strict=True))
        )
        table = element("table", element("thead", head) + element("tbody", rows), class_="matrix")
        wide = element("div", table, class_="wide", tabindex=0, role="region", aria_label=self.title)
        return figure("confusion", self.title, self.note, wide)


def _cells(row: Sequence[int], at: int) -> list[str]:
    total = sum(row) or 1
    cells = []
    for column, count in enumerate(row):
        kind = ("hit" if column == at else "miss") + (" deep" if count / total > 0.5 else "")
        style = f"--share:{fixed(100 * count / total, 0)}%" if count else None
        cells.append(element("td", f"{count:,}" if count else "·", class_=kind if count else "none", style=style))
    return cells
