from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geco.pages.scale import number, scale

values = st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda v: round(v, 6))


@given(st.lists(values, min_size=1))
def test_an_axis_holds_all_values_and_its_ticks_are_even(given_: list[float]) -> None:
    axis = scale(given_, pad=0.04)
    slack = 1e-9 * max(1.0, abs(axis.low), abs(axis.high))
    assert axis.low <= min(given_) + slack
    assert axis.high >= max(given_) - slack
    assert all(-1e-9 <= axis.place(v) <= 1 + 1e-9 for v in given_)
    at = [v for v, _ in axis.ticks]
    assert 1 <= len(at) <= 6
    gaps = [b - a for a, b in pairwise(at)]
    assert not gaps or max(gaps) - min(gaps) <= 1e-6 * max(gaps)
    assert len({name for _, name in axis.ticks}) == len(at), "no two ticks are written alike"


@given(st.lists(st.floats(1e-12, 1e12), min_size=1))
def test_a_logarithmic_axis_holds_all_values(given_: list[float]) -> None:
    axis = scale(given_, log=True, pad=0.04)
    assert all(-1e-9 <= axis.place(v) <= 1 + 1e-9 for v in given_)
    assert all(-1e-6 <= axis.place(v) <= 1 + 1e-6 for v, _ in axis.ticks)


def test_equal_factors_are_equally_far_apart() -> None:
    axis = scale([0.01, 100], log=True)
    places = [axis.place(v) for v in (0.01, 0.1, 1, 10, 100)]
    assert places == pytest.approx([0, 0.25, 0.5, 0.75, 1])


def test_a_logarithmic_axis_refuses_what_it_cannot_show() -> None:
    with pytest.raises(ValueError, match=r"needs values above 0, got 0; use log=False"):
        scale([0.0, 1.0], log=True)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (0.001, "0.001"), (-0.25, "-0.25"), (1e-4, "10⁻⁴"), (2.5e7, "2.5×10⁷"), (12345, "12,345"),
     (math.inf, "∞"), (math.nan, "not a number")],
)  # fmt: skip
def test_numbers_as_people_write_them(value: float, said: str) -> None:
    assert number(value) == said
