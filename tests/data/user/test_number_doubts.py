"""Numbers that may mean something else by the way they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from geco.data.user.number_doubts import number_doubts
from geco.data.user.tables import read_table


def doubts(folder: Path, text: str, *names: str) -> list[str]:
    path = folder / "nodes.csv"
    path.write_text(text)
    return list(number_doubts(read_table(path), names))


def test_zeros_that_lead_are_told_with_the_cell_and_the_way_out(tmp_path: Path) -> None:
    found = doubts(tmp_path, "id,zip,age\na,10115,3\nb,04109,0\n", "zip", "age")
    assert found == [
        f"warning: {tmp_path}/nodes.csv, line 3, column zip: '04109' is read as a number; if it is a code, leave it "
        "out: --ignore zip"
    ]


def test_dots_before_three_digits_are_told_where_semicolons_part_columns(tmp_path: Path) -> None:
    (line,) = doubts(tmp_path, "id;price\na;950\nb;1.234\nc;12.000\n", "price")
    assert "line 3, column price: 1.234 is read as 1.234, the dot as a decimal point" in line


@pytest.mark.parametrize(
    "text",
    [
        "id;x\na;0.125\nb;1.234\n",  # a zero parts no thousands
        "id;x\na;1.5\nb;1.234\n",
        "id;x\na;1.234,5\nb;1.234\n",  # a decimal comma says what the dots are
        "id,x\na,1.234\nb,2.345\n",  # commas part columns
        "id;x\na;1\nb;0\nc;-5\n",
        "id;x\na;words 1.234\nb;other\n",
    ],
)
def test_what_is_clear_is_not_told(tmp_path: Path, text: str) -> None:
    assert doubts(tmp_path, text, "x") == []
