from __future__ import annotations

from typing import Any

import pytest

from geco.errors import UsageError
from geco.sizing.job import Job


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": 1}, {"edges": -1}, {"features": 0}, {"hidden": 0}, {"layers": 0}, {"workers": 0}, {"order": 0},
        {"targets": 0}, {"support": 0}, {"dropout": 1.0}, {"dropout": float("nan")}, {"cut": 1.1},
        {"cut": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_out_of_range_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"^--{next(iter(wrong))} "):
        Job(**{"nodes": 100, "edges": 100, **wrong})


def test_shares_are_of_the_worker_that_has_most() -> None:
    assert [Job(10, 21, workers=p).rows for p in (1, 3, 4, 20)] == [10, 4, 3, 1]
    assert [Job(10, 21, workers=p, cut=0.0).own_edges for p in (1, 2, 20)] == [21, 11, 2]


def test_nodes_of_others_are_cut_edges_but_no_more_than_there_are() -> None:
    assert Job(1000, 4000, workers=4, cut=0.1).wanted == 100
    assert Job(1000, 40000, workers=4).wanted == 750
    assert Job(1000, 40000, workers=4, cut=0.0).wanted == 0
    assert Job(1000, 40000).wanted == 0


def test_auto_takes_what_sends_less() -> None:
    """By channels a worker sends 2 · 250 · 3 / 4 = 375 rows."""
    few, many = Job(1000, 4000, workers=4, cut=0.375), Job(1000, 4000, workers=4, cut=0.376)
    assert (few.by_channels, few.own_edges, few.remote) == (False, 1000, 375)
    assert (many.by_channels, many.own_edges, many.remote) == (True, 4000, 0)


def test_the_other_way_can_be_asked_for() -> None:
    few = Job(1000, 4000, workers=4, cut=0.1, propagation="channels")
    many = Job(1000, 4000, workers=4, propagation="halo")
    assert (few.by_channels, many.by_channels, many.remote) == (True, False, 750)
    assert not Job(1000, 4000, propagation="channels").by_channels


def test_only_the_papers_filter_is_literal() -> None:
    assert Job(1000, 4000, filter="paper", workers=2).literal
    assert not Job(1000, 4000, filter="windows", workers=2).literal
    assert not Job(1000, 4000, filter="paper").literal
