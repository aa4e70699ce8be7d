"""What is drawn is where the data is."""

from __future__ import annotations

import json
import math
import re

import pytest

from geco.pages import LineChart, Mark, Rule, Series

SIZE = 1000


def chart(**options: object) -> LineChart:
    line = Series("a<b", [1, 2, 4], [0.0, 5.0, 10.0], [0.0, 4.0, 8.0], [2.0, 6.0, 10.0], [Mark(2, 5.0, "chosen")])
    return LineChart("Scores", "epoch", "accuracy", [line], [Rule("guess", 2.5)], **options)  # type: ignore[arg-type]


def points(html: str, kind: str) -> list[tuple[float, float]]:
    found = re.search(rf'<{kind} (?:points|d)="M?([^"]+?)z?"', html)
    assert found is not None
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in found[1].split())]


def test_coordinates_are_those_of_the_data() -> None:
    made = chart()
    x, y = made.axes
    assert (x.low, x.high) == (1, 4)
    assert y.low < 0 < 10 < y.high
    span = y.high - y.low
    expected = [(SIZE * (a - 1) / 3, SIZE * (y.high - b) / span) for a, b in ((1, 0), (2, 5), (4, 10))]
    assert points(made.html(), "polyline") == [pytest.approx(p, abs=0.06) for p in expected]
    edge = [(1, 2), (2, 6), (4, 10), (4, 8), (2, 4), (1, 0)]
    around = [(SIZE * (a - 1) / 3, SIZE * (y.high - b) / span) for a, b in edge]
    assert points(made.html(), "path") == [pytest.approx(p, abs=0.06) for p in around]


def test_marks_levels_and_ticks_stand_at_their_shares() -> None:
    made = chart()
    y, html = made.axes[1], made.html()
    mark = re.search(r'<use href="#m0" x="([\d.]+)%" y="([\d.]+)%" class="mark"/></g>', html)
    assert mark is not None
    assert float(mark[1]) == pytest.approx(100 / 3, abs=0.01)
    assert float(mark[2]) == pytest.approx(100 * (1 - y.place(5.0)), abs=0.01)
    rule = re.search(r'y1="([\d.]+)%" y2="[\d.]+%" class="rule"', html)
    assert rule is not None
    assert float(rule[1]) == pytest.approx(100 * (1 - y.place(2.5)), abs=0.01)
    ticks = dict(re.findall(r'<span style="left:([\d.]+)%">(\d+)</span>', html))
    assert {float(place): int(name) for place, name in ticks.items()} == pytest.approx(
        {0: 1, 33.33: 2, 66.67: 3, 100: 4}
    )


def test_a_logarithmic_axis() -> None:
    made = LineChart("Loss", "epoch", "loss", [Series("a", [1, 10, 100], [0.01, 0.1, 1.0])], log_x=True, log_y=True)
    heights = [y for _, y in points(made.html(), "polyline")]
    assert [x for x, _ in points(made.html(), "polyline")] == pytest.approx([0, 500, 1000])
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)


def test_what_is_not_finite_leaves_a_gap() -> None:
    made = LineChart("Loss", "epoch", "loss", [Series("a", [1, 2, 3, 4], [1.0, math.nan, 2.0, math.inf])])
    assert made.html().count("<polyline") == 2
    assert "nan" not in made.html().lower().replace("name", "")
    assert "NaN" not in made.html()


def test_nothing_to_show_is_said() -> None:
    assert "nothing to show" in LineChart("Loss", "epoch", "loss", []).html()
    assert "nothing to show" in LineChart("Loss", "epoch", "loss", [Series("a", [1], [math.nan])]).html()


def test_the_numbers_for_pointing_are_those_of_the_data() -> None:
    facts = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', chart().html())[0])
    (line,) = facts["series"]
    assert (facts["at"], facts["ends"]) == ([1, 2, 4], [1, 4])
    assert (line["name"], line["y"], line["low"], line["high"]) == ("a<b", [0, 5, 10], [0, 4, 8], [2, 6, 10])
    assert line["marks"] == [[2, 5, "chosen"]]


def test_names_are_never_markup() -> None:
    html = chart().html()
    assert "a&lt;b" in html
    assert "a<b" not in html


def test_those_who_cannot_see_it_hear_what_it_shows() -> None:
    found = re.search(r'aria-label="(Scores[^"]+)"', chart().html())
    assert found is not None
    assert "a&lt;b: from 0 to 10, 10 at 4." in found[1]
    assert "guess: 2.5." in found[1]


def test_refuses_uneven_series() -> None:
    with pytest.raises(ValueError, match="series a: x, y and both edges of its band must be as long"):
        Series("a", [1, 2], [1.0])
