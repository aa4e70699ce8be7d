from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from geco.errors import UsageError
from geco.explain.explanation import check_file, save
from geco.explain.page import page
from tests.explain.test_explain import on_path


def test_the_text_says_what_stands_out() -> None:
    text = repr(on_path())
    assert text.startswith("node f, value of height: 27\n\nWithout node d the value of height rises from 27 to 39.")
    assert len(on_path().text(2).splitlines()) == len(on_path().text(3).splitlines()) - 1


def test_of_probabilities_the_text_and_the_page_show_what_they_are_sorted_by() -> None:
    found = on_path()
    assert "in log-odds" not in found.text()
    of_a_class = replace(found, quantity="probability of class tall")
    heads = [line for line in of_a_class.text().splitlines() if line.startswith("without")]
    assert heads
    assert all(line.endswith("in log-odds") for line in heads)
    assert [row[-1] for row in map(of_a_class.numbers, of_a_class.nodes)] == [f"{e.strength:.3g}" for e in found.nodes]
    assert "in log-odds" in page([of_a_class]).html()


def test_the_table_has_a_row_for_everything() -> None:
    found = on_path()
    table = found.table
    assert list(table.columns) == ["kind", "name", "hops", "layer", "without", "change", "strength"]
    assert len(table) == len(found.nodes) + len(found.edges) + len(found.parts)
    assert table.iloc[0].to_dict()["name"] == "d"


def test_files_hold_the_same(tmp_path: Path) -> None:
    found = on_path()
    for name in ("a.csv", "a.json", "a.html", "a.svg"):
        assert found.save(tmp_path / name) == tmp_path / name
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["asked"], rows[0]["name"], float(rows[0]["without"])) == ("node f", "d", 39.0)
    assert len(rows) == len(found.table)
    (read,) = json.loads((tmp_path / "a.json").read_text())
    assert read["nodes"][0]["name"] == "d"
    assert read["value"] == 27
    page = (tmp_path / "a.html").read_text()
    assert "<svg" in page
    assert "Without node d" in page
    ElementTree.fromstring((tmp_path / "a.svg").read_text())


def test_several_go_into_one_table_or_page(tmp_path: Path) -> None:
    save([on_path(), on_path()], tmp_path / "b.json")
    assert len(json.loads((tmp_path / "b.json").read_text())) == 2
    save([on_path(), on_path()], tmp_path / "b.html", "geco explain x")
    assert (tmp_path / "b.html").read_text().count("Without node d") == 2
    with pytest.raises(UsageError, match="one picture"):
        save([on_path(), on_path()], tmp_path / "b.svg")
    assert not (tmp_path / "b.svg").exists()


@pytest.mark.parametrize("name", ["a.txt", "a", "missing/a.csv"])
def test_files_that_cannot_be_written_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        check_file(tmp_path / name)
