from __future__ import annotations

import math
import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from geco.report.curves import HEIGHT, WIDTH, curves, ticks

values = st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda v: round(v, 6))


@given(st.lists(values, min_size=1))
def test_ticks_enclose_evenly(given_: list[float]) -> None:
    found = ticks(given_)
    assert found[0] <= min(given_) + 1e-9 * abs(found[0])
    assert found[-1] >= max(given_) - 1e-9 * abs(found[-1])
    assert 2 <= len(found) <= 7
    gaps = [b - a for a, b in pairwise(found)]
    assert max(gaps) - min(gaps) <= 1e-6 * max(gaps) + 1e-9 * max(map(abs, found))


@given(st.lists(st.tuples(st.integers(0, 1000), values), min_size=1, max_size=20))
def test_points_stay_inside(points: list[tuple[int, float]]) -> None:
    drawing = curves([("a<b", [*points, (1, math.nan)])], "scores")
    line = re.search(r'<polyline points="([^"]+)"', drawing)
    assert line is not None
    places = [tuple(map(float, pair.split(","))) for pair in line.group(1).split()]
    assert len(places) == len(points)
    assert all(0 <= x <= WIDTH and -1 <= y <= HEIGHT for x, y in places)
    assert "a&lt;b" in drawing


def test_higher_is_further_up() -> None:
    drawing = curves([("a", [(1, 0.1), (2, 0.9)])], "scores")
    (_, low), (_, high) = re.findall(r"([\d.]+),([\d.]+)", drawing.split('points="')[1].split('"')[0])
    assert float(high) < float(low)


def test_nothing_to_show() -> None:
    assert "nothing to show" in curves([("a", [(1, math.nan)])], "scores")
