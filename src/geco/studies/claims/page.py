"""A study as a page for people, and its tables as text for a terminal."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

from geco import __version__
from geco.pages import Block, Cell, Facts, Folded, Heading, Page, Preformatted, Table, Text
from geco.pages.scale import number
from geco.studies.claims.catalogue import question_of
from geco.studies.claims.record import StudyRecord
from geco.studies.claims.study import Answer, Plan
from geco.train.summary import period

__all__ = ["as_text", "mean_cell", "page_of", "spread_of"]


def page_of(name: str, plan: Plan, record: StudyRecord, answer: Answer) -> Page:
    """Return the page of a study: question, answer, charts, tables, what is missing, how it was made."""
    known = record.known
    page = Page(f"Study: {name}", known["commands"][-1], _about(known))
    page.add(
        Text(question_of(name)),
        Heading("Answer"),
        *map(Text, answer.words.splitlines()),
        *answer.charts,
        *answer.tables,
    )
    if known["left_out"]:
        rows = [[item["what"], item["why"]] for item in known["left_out"]]
        page.add(Heading("Left out"), Table(["what", "why"], rows, "Not studied here, and why"))
    return page.add(Heading("How it was made"), Text(plan.about), *_made(known))


def _about(known: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [("written", time.strftime("%Y-%m-%d %H:%M")), ("GECO", __version__), ("scale", known["scale"])]
    names = {"commit": "commit", "torch": "torch", "threads": "threads"}
    for key, name in names.items():
        values = sorted({str(unit[key]) for unit in known["units"].values() if key in unit})
        facts += [(name, ", ".join(values[:3]) + (" and others" if len(values) > 3 else ""))] if values else []
    loads = [unit["load"] for unit in known["units"].values() if "load" in unit]
    facts += [("load while it ran", f"{min(loads):g} to {max(loads):g}")] if loads else []
    machine = known["environment"]
    return [*facts, ("machine", f"{machine['machine']}, {machine['cores']} cores")]


def _made(known: dict[str, Any]) -> list[Block]:
    units = known["units"]
    took = period(sum(unit["seconds"] for unit in units.values()))
    facts = [("commands", "; ".join(known["commands"])), ("units", str(len(units))), ("time of all units", took)]
    rows = [[key, unit["seconds"], unit["date"], unit["commit"]] for key, unit in units.items()]
    blocks: list[Block] = [Facts(facts)]
    if units:
        first, unit = next(iter(units.items()))
        blocks += [
            Folded("All units", [Table(["unit", "seconds", "date", "commit"], rows)]),
            Folded(f"Settings of {first}", [Preformatted(json.dumps(unit["settings"], indent=1))]),
        ]
    return blocks


def spread_of(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the sample standard deviation; 0 for one value.

    Example:
        >>> spread_of([0.5, 0.7])
        (0.6, 0.1414...)
    """
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def mean_cell(values: Sequence[float], digits: int = 4) -> Cell:
    """Return mean ± sample standard deviation and how many there are.

    Example:
        >>> mean_cell([0.5, 0.7])
        Cell(text='0.6000', value=0.6, more='± 0.1414 (2)', mark='')
    """
    if not values:
        return Cell("–")
    mean, spread = spread_of(values)
    more = f"± {spread:.{digits}f} ({len(values)})" if len(values) > 1 else "(1)"
    return Cell(f"{mean:.{digits}f}", mean, more)


def as_text(table: Table) -> list[list[str]]:
    """Return the rows of a table as text, the header first.

    Example:
        >>> as_text(Table(["who", "score"], [["geco", mean_cell([0.5, 0.7])]]))
        [['who', 'score'], ['geco', '0.6000 ± 0.1414 (2)']]
    """
    return [list(table.columns), *([_text(cell) for cell in row] for row in table.rows)]


def _text(cell: str | float | Cell) -> str:
    if isinstance(cell, Cell):
        star = " *" if cell.mark == "best" else ""
        return f"{cell.text} {cell.more}".strip() + star
    return cell if isinstance(cell, str) else number(cell)
