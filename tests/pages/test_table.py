from __future__ import annotations

import re

import pytest

from geco.pages import Cell, Table


def test_columns_of_numbers_line_up_and_sort_by_value() -> None:
    table = Table(["run", "score", "what"], [["a", Cell("0.50", 0.5, "± 0.1"), "x"], ["b", Cell("–"), "y"]]).html()
    assert re.findall(r'<th scope="col"( class="number")?', table) == ["", ' class="number"', ""]
    assert '<td class="number" data-value="0.5">0.50<span class="more"> ± 0.1</span></td>' in table
    assert '<td class="number">–</td>' in table


def test_marks_are_also_said() -> None:
    table = Table(["run", "score"], [["a", Cell("1", 1.0, mark="best")], ["b", Cell("0.9", 0.9, mark="near")]]).html()
    assert re.findall(r'class="number (\w+)"[^>]*>[\d.]+<span class="unseen"> \(([\w ]+)\)', table) == [
        ("best", "best"), ("near", "within a standard deviation of the best"),
    ]  # fmt: skip


def test_what_cannot_be_sorted_has_no_buttons() -> None:
    assert "<button" not in Table(["a", "b"], [["x", 1.0]]).html()
    assert Table(["a", "b"], [["x", 1.0], ["y", 2.0]]).html().count("<button") == 2


def test_refuses_rows_of_another_length() -> None:
    with pytest.raises(ValueError, match="each row of the table 'scores' needs 2 cells"):
        Table(["a", "b"], [["x"]], "scores").html()
