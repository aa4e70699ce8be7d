"""Numbers that may mean something else by how they are written: dots that part thousands, zeros that lead a code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from geco.data.user.tables import Table

__all__ = ["number_doubts"]

LOOK = 1000  # records that show how a column is written
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
CODE = re.compile(r"0\d+")


def number_doubts(table: Table, names: Collection[str]) -> Iterator[str]:
    r"""Yield a warning for each column of numbers whose first values leave a doubt.

    Args:
        table: whose columns.
        names: of the columns that become features.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from geco.data.user.tables import read_table
        >>> path = Path(tempfile.mkdtemp()) / "nodes.csv"
        >>> _ = path.write_text("id;zip\n1;04109\n2;10115\n")
        >>> [line.partition("column ")[2] for line in number_doubts(read_table(path), ["zip"])]
        ["zip: '04109' is read as a number; if it is a code, leave it out: --ignore zip"]
    """
    if table.path.suffix == ".parquet":
        return
    places = {name: n for n, name in enumerate(table.frame.columns) if name in names}
    records = list(islice(table.dialect.records(table.path), 1, 1 + LOOK))
    for name, place in places.items():
        field = table.field(name)
        if field.kind != "number":
            continue
        cells = [cells[place].strip() if place < len(cells) else "" for _, cells in records]
        coded = next((row for row, cell in enumerate(cells) if CODE.fullmatch(cell)), None)
        if coded is not None:
            advice = f"if it is a code, leave it out: --ignore {name}"
            yield f"warning: {field.where(coded)}: {cells[coded]!r} is read as a number; {advice}"
        dotted = [row for row, cell in enumerate(cells) if "." in cell]
        if table.dialect.separator == ";" and dotted and all(THOUSANDS.fullmatch(cells[row]) for row in dotted):
            first = cells[dotted[0]]
            yield (
                f"warning: {field.where(dotted[0])}: {first} is read as {field.parsed[dotted[0]]:g}, the dot as a "
                "decimal point, though each has three digits after it; if they part thousands, leave them out"
            )
