"""The same charts as figures for papers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from geco.errors import UsageError
from geco.pages import BarChart, LineChart, Mark, Points, Rule, Scatter, Series
from geco.pages.figures import COLOURS, figure, write_figure
from tests.pages.test_page import themes

LINE = LineChart(
    "Loss", "epoch", "loss", [Series("a", [1, 2], [1.0, 100.0], [0.5, 90.0], [2.0, 110.0], [Mark(2, 100.0)])],
    [Rule("guess", 50.0)], log_y=True,
)  # fmt: skip
DOTS = Scatter("Price", "true", "predicted", [Points("a", [1.0, 2.0], [1.5, 2.5])], equal=True)
BARS = BarChart("Degrees", "nodes", [("1", 3.0), ("2", 1.0)])


@pytest.fixture(autouse=True)
def _matplotlib() -> None:
    pytest.importorskip("matplotlib", reason="needs Matplotlib, of the extra plot")


def test_lines_hold_the_data() -> None:
    (axes,) = figure([LINE]).axes
    lines = {str(line.get_label()): line for line in axes.lines}
    assert list(lines["a"].get_ydata()) == [1.0, 100.0]
    assert list(lines["guess"].get_ydata()) == [50.0, 50.0]
    assert axes.get_yscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "loss")
    assert axes.get_ylim() == (LINE.axes[1].low, LINE.axes[1].high)
    assert len(axes.collections) == 1  # the band


def test_charts_of_each_kind_stand_side_by_side() -> None:
    whole = figure([LINE, DOTS, BARS])
    assert [axes.get_title("left") for axes in whole.axes] == ["Loss", "Price", "Degrees", ""]
    assert [bar.get_width() for bar in whole.axes[2].patches] == [3.0, 1.0]


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_files_are_the_same_every_time(ending: str, start: bytes, tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.{ending}" for n in (1, 2)]
    for path in paths:
        write_figure(figure([LINE]), path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(start)
    assert first == second


def test_colours_are_those_of_pages() -> None:
    assert [themes()[f"colour-{n}"][0] for n in range(len(COLOURS))] == list(COLOURS)


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r'needs Matplotlib: pip install "geco-graph\[plot\]"'):
        figure([LINE])
