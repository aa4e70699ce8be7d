"""Pages are sound HTML, stand alone and can be read by all."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest

from geco.pages import (
    BarChart,
    Block,
    Cell,
    ConfusionMatrix,
    Facets,
    Facts,
    Folded,
    Group,
    Heading,
    LineChart,
    Page,
    Points,
    Preformatted,
    Scatter,
    Series,
    Table,
    Tabs,
    Text,
)  # fmt: skip
from geco.pages.frame import COLOURS, DASHES, look

BAD = '<script>x</script><!--"&'
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Reader(HTMLParser):
    """Takes a page apart and refuses what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.places: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.places += [
            v or "" for k, v in attributes if k in ("src", "href", "data", "srcset", "action", "xlink:href")
        ]
        self.ids += [v or "" for k, v in attributes if k == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def everything(name: str) -> Page:
    """Return a page with one of each block, called by the same name."""
    line = LineChart(name, name, name, [Series(name, [1, 2], [1.0, 2.0])], note=name)
    dots = Scatter(name, name, name, [Points(name, [1.0], [2.0], [name]), Points("other", [2.0], [2.0])])
    blocks: list[Block] = [
        Heading(name), Text(name), Facts([(name, name)]), Folded(name, [Preformatted(name)]),
        Table([name, "x"], [[name, 1.0], [name, Cell(name, 2.0, name, "best")]], name, [name, name], [0, 1], name),
        Tabs(name, [(name, line), ("b", dots)]), Facets([BarChart(name, name, [(name, 1), ("b", 0)], [0.5, 0])]),
        Group([ConfusionMatrix(name, [name, "b"], [[1, 2], [0, 0]], name)]),
    ]  # fmt: skip
    return Page(name, name, [(name, name)], refresh=5).add(*blocks)


def test_a_page_is_sound_and_text_is_never_markup() -> None:
    plain, bad = (Reader(everything(name).html()) for name in ("plain", BAD))
    assert plain.seen == bad.seen
    assert len(bad.ids) == len(set(bad.ids))


def test_nothing_is_fetched() -> None:
    text = everything("plain").html()
    assert all(place.startswith("#m") for place in Reader(text).places)
    assert not re.search(r"url\(|@import|https?:|//[a-z]+\.", re.sub(r"http://www\.w3\.org/2000/svg", "", text))
    assert "default-src 'none'" in text


def test_only_the_script_of_the_kit_may_run() -> None:
    text = everything("plain").html()
    assert re.search(r"script-src 'sha256-[\w+/=]{44}'", text)
    assert not re.search(r"\son\w+=", text)


def test_writing_replaces_the_page(tmp_path: Path) -> None:
    for title in ("one", "two"):
        Page(title).write(tmp_path / "page.html")
    assert "<h1>two</h1>" in (tmp_path / "page.html").read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_series_differ_by_more_than_colour() -> None:
    assert len({look(number) for number in range(COLOURS * DASHES)}) == COLOURS * DASHES
    assert len({look(number).split()[1] for number in range(DASHES)}) == DASHES


def brightness(colour: str) -> float:
    """Return WCAG's relative luminance of #rgb or #rrggbb."""
    wide = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(wide[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def themes() -> dict[str, tuple[str, str]]:
    style = files("geco.pages").joinpath("page.css").read_text("utf-8")
    return {name: (a, b) for name, a, b in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", style)}


@pytest.mark.parametrize(("name", "theme"), list(product(themes(), (0, 1))))
def test_colours_stand_out_from_the_page(name: str, theme: int) -> None:
    if name in ("back", "soft", "line"):
        return
    wanted = 4.5 if name in ("text", "faint", "accent") else 3.0
    for ground in ("back", "soft") if wanted > 4 else ("back",):
        ends = sorted(brightness(themes()[key][theme]) for key in (name, ground))
        assert (ends[1] + 0.05) / (ends[0] + 0.05) >= wanted, f"{name} on {ground}"
