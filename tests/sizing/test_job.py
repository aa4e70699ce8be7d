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
    assert [Job(10, 21, workers=p).own_edges for p in (1, 2, 20)] == [21, 11, 2]


def test_nodes_of_others_are_cut_edges_but_no_more_than_there_are() -> None:
    assert Job(1000, 4000, workers=4, cut=0.1).remote == 100
    assert Job(1000, 40000, workers=4).remote == 750
    assert Job(1000, 40000, workers=4, cut=0.0).remote == 0
    assert Job(1000, 40000).remote == 0


def test_the_papers_filter_has_all_edges_and_fetches_none() -> None:
    literal = Job(1000, 4000, workers=4, filter="paper")
    assert (literal.own_edges, literal.remote) == (4000, 0)
    assert Job(1000, 4000, filter="paper").exchanged is False
