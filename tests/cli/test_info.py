from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from geco.cli import describe
from geco.cli.info import histogram
from geco.cli.main import main
from geco.data import load_dataset
from geco.data.dataset import GraphDataset
from tests.cli.conftest import Run

DATA = os.environ.get("GECO_DATA", "")


def test_info_counts_and_compares(run: Run, drawn: GraphDataset) -> None:
    text = run("data", "info", "cora")
    assert re.search(r"^nodes per graph +50 +2,708 +NO$", text, re.MULTILINE)
    assert re.search(r"^graphs +4 +1 +NO$", text, re.MULTILINE)
    assert re.search(rf"^edges, each direction counted +{drawn.num_edges:,}$", text, re.MULTILINE)
    assert "accuracy, higher is better" in text
    assert "█" in text
    assert max(map(len, text.splitlines())) <= 80


def test_info_of_a_set_without_publication(run: Run, drawn: GraphDataset) -> None:
    text = run("data", "info", "digits")
    assert "published" not in text
    assert "Nodes by degree" in text


class Reader(HTMLParser):
    """Collects tags and what they would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.fetched += [value or "" for name, value in attributes if name in ("src", "href", "data", "xlink:href")]
        if tag not in ("meta", "rect", "!doctype"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_stands_alone(run: Run, drawn: GraphDataset, tmp_path: Path) -> None:
    run("data", "info", "cora", "--html", str(tmp_path / "cora.html"))
    text = (tmp_path / "cora.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert not reader.fetched
    assert "url(" not in text
    assert not {"link", "img", "iframe"} & set(reader.seen)
    assert reader.seen.count("script") == 1
    assert reader.seen.count("figure") == 1
    assert "2,708" in text
    assert "color-scheme: light dark" in text


def test_page_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(load_dataset, "load", lambda *_, **__: pytest.fail("loaded"))
    with pytest.raises(SystemExit) as end:
        main(["data", "info", "cora", "--html", str(tmp_path / "absent" / "page.html")])
    assert end.value.code == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "published", "equal"),
    [
        (150.94, 150.9, True),
        (150.96, 150.9, True),
        (151.01, 150.9, False),
        (150.84, 150.9, False),
        (61.09, 61.0, True),
        (7, 7, True),
        (8, 7, False),
    ],
)
def test_equal_as_tables_round(value: float, published: float, equal: bool) -> None:
    assert describe._equal(value, published) == equal


def test_histogram_is_as_wide_as_asked() -> None:
    items = [("0", 0), ("1", 1), ("2-3", 7_000_000), ("1,048,576-2,097,151", 3_500_000)]
    for width in (60, 80, 120):
        lines = histogram(items, width)
        assert {len(line) for line in lines} == {width}
        full, half = (line.count("█") for line in lines[2:])
        assert abs(full - 2 * half) <= 1
        assert "▏" not in lines[0]
        assert "▏" in lines[1]  # few, but not none


def test_info_of_an_embedded_set(run: Run) -> None:
    pytest.importorskip("sklearn")
    assert re.search(r"^nodes +1,797$", run("data", "info", "digits"), re.MULTILINE)


ON_DISK = ("cora", "pubmed", "amazon-photo", "amazon-computers", "coauthor-cs", "tolokers", "flickr-structure")


@pytest.mark.real
@pytest.mark.parametrize("name", ON_DISK)
def test_info_equals_the_publication(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("GECO_DATA", DATA)
    text = run("data", "info", name, "--offline")
    assert len(re.findall(r" yes$", text, re.MULTILINE)) >= 4
    assert not re.findall(r" NO$", text, re.MULTILINE)
