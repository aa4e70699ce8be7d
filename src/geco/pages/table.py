"""Tables whose numbers line up and whose columns sort."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from geco.pages.frame import key
from geco.pages.markup import element, text
from geco.pages.scale import number

__all__ = ["Cell", "Table"]


@dataclass(frozen=True)
class Cell:
    """What stands in a table, and what it is sorted by.

    Args:
        text: what is read.
        value: what it is sorted by and lined up as; words if not given.
        more: fainter text behind it, such as a spread.
        mark: ``best`` of its column, or ``near`` the best.
    """

    text: str
    value: float | None = None
    more: str = ""
    mark: Literal["", "best", "near"] = ""


@dataclass(frozen=True)
class Table:
    """A table; its first column names the rows.

    Args:
        columns: their names.
        rows: cells; plain words and plain numbers are good enough.
        caption: what it shows.
        series: name of the series that each row stands for, if it does: the row fades where that is hidden.
        looks: number of the look of each row's series; -1 for a row that is none.
        note: below it: what the marks mean.

    Example:
        >>> table = Table(["run", "accuracy"], [["gcn", 0.5], ["geco", Cell("0.75", 0.75, "± 0.01", "best")]])
        >>> table.html().count("<td")
        2
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | Cell]]
    caption: str = ""
    series: Sequence[str] = ()
    looks: Sequence[int] = ()
    note: str = ""

    def html(self) -> str:
        """Return the table in a frame that scrolls sideways where it must."""
        rows = [[_cell(cell) for cell in row] for row in self.rows]
        if any(len(row) != len(self.columns) for row in rows):
            raise ValueError(f"each row of the table {self.caption!r} needs {len(self.columns)} cells")
        numeric = [
            any(row[i].value is not None for row in rows) and all(row[i].value is not None or not row[i].text.strip("–")
            for row in rows) for i in range(len(self.columns))
        ]  # fmt: skip
        sort = len(rows) > 1
        head = "".join(_head(name, right, sort) for name, right in zip(self.columns, numeric, strict=True))
        body = "".join(self._row(number_, row, numeric) for number_, row in enumerate(rows))
        caption = element("caption", text(self.caption)) if self.caption else ""
        table = element("table", caption + element("thead", element("tr", head)) + element("tbody", body))
        region = element(
            "div",
            table,
            class_="wide",
            tabindex=0,
            role="region",
            aria_label=self.caption or self.columns[0] or "table",
        )
        note = element("p", text(self.note), class_="note") if self.note else ""
        return element("div", region + note, class_="table")

    def _row(self, number_: int, row: Sequence[Cell], numeric: Sequence[bool]) -> str:
        sign = key(self.looks[number_]) if self.looks and self.looks[number_] >= 0 else ""
        first = element("th", sign + _content(row[0]), scope="row", data_value=_value(row[0]))
        rest = "".join(
            element("td", _content(cell), class_=" ".join(filter(None, ("number" if right else "", cell.mark))) or None,
                    data_value=_value(cell))
            for cell, right in zip(row[1:], numeric[1:], strict=True)
        )  # fmt: skip
        return element("tr", first + rest, data_series=self.series[number_] or None if self.series else None)


def _cell(given: str | float | Cell) -> Cell:
    if isinstance(given, Cell):
        return given
    return Cell(given) if isinstance(given, str) else Cell(number(given), float(given))


def _value(cell: Cell) -> float | None:
    return cell.value if cell.value is not None and math.isfinite(cell.value) else None


def _content(cell: Cell) -> str:
    said = {"best": " (best)", "near": " (within a standard deviation of the best)", "": ""}[cell.mark]
    more = element("span", " " + text(cell.more), class_="more") if cell.more else ""
    return text(cell.text) + more + (element("span", said, class_="unseen") if said else "")


def _head(name: str, right: bool, sort: bool) -> str:
    kind = "number" if right else None
    if not name:
        return element("td", "", class_=kind)
    inner = element("button", text(name), type="button") if sort else text(name)
    return element("th", inner, scope="col", class_=kind, aria_sort="none" if sort else None)
