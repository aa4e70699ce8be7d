"""Pairs without a link are exactly those that are left when links are taken away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geco.data.nonlinks import DIRECTED, TWO_SIDED, UNDIRECTED, NonLinks

KINDS = (UNDIRECTED, DIRECTED, TWO_SIDED)


def drawn(nodes: int, count: int, seed: int, kind: str) -> np.ndarray:
    """Return links of different nodes; two-sided ones from the first half of the nodes to the second."""
    ends = np.random.default_rng(seed).integers(0, nodes, (2, count))
    if kind == TWO_SIDED:
        ends = np.stack([ends[0] % (nodes // 2), nodes // 2 + ends[1] % (nodes - nodes // 2)])
    return ends[:, ends[0] != ends[1]]


def by_definition(links: np.ndarray, nodes: int, kind: str) -> list[tuple[int, int]]:
    taken = set(zip(*links.tolist(), strict=True))
    sources, targets = (set(side.tolist()) if kind == TWO_SIDED else set(range(nodes)) for side in links)
    if kind == UNDIRECTED:
        taken |= {(v, u) for u, v in taken}
    return [(u, v) for u in sorted(sources) for v in sorted(targets) if u != v and (u, v) not in taken]


@given(st.sampled_from(KINDS), st.integers(2, 9), st.integers(0, 40), st.integers(0, 1000))
def test_all_of_them_and_no_others(kind: str, nodes: int, count: int, seed: int) -> None:
    links = drawn(nodes, count, seed, kind)
    none = NonLinks(links, nodes, kind)
    wanted = by_definition(links, nodes, kind)
    assert none.count == len(wanted)
    assert list(zip(*none.pairs(np.arange(none.count)).tolist(), strict=True)) == wanted


@given(st.sampled_from(KINDS), st.integers(3, 9), st.integers(1, 20), st.integers(0, 1000))
def test_rivals_are_nodes_without_a_link(kind: str, nodes: int, count: int, seed: int) -> None:
    links = drawn(nodes, count, seed, kind)
    none = NonLinks(links, nodes, kind)
    if none.count == 0 or not links.size:
        return
    wanted = by_definition(links, nodes, kind)
    found, there = none.rivals(links[0], 30, seed)
    for source, row, any_there in zip(links[0].tolist(), found.tolist(), there.tolist(), strict=True):
        left = {v for u, v in wanted if u == source}
        assert any_there == bool(left)
        assert set(row) <= left or not any_there


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_evenly_and_by_the_seed_alone(kind: str) -> None:
    links = drawn(6, 5, 1, kind)
    none = NonLinks(links, 6, kind)
    pairs = none.draw(none.count * 500, 3, 4)
    counts = np.unique(pairs.numpy(), axis=1, return_counts=True)[1]
    assert len(counts) == none.count
    assert abs(counts - 500).max() < 120  # five deviations
    assert pairs.equal(none.draw(none.count * 500, 3, 4))
    assert not pairs.equal(none.draw(none.count * 500, 3, 5))


def test_many_nodes_take_no_table_of_pairs() -> None:
    links = drawn(2_000_000, 1000, 0, UNDIRECTED)
    none = NonLinks(links, 2_000_000, UNDIRECTED)
    assert none.count > 3e12
    pairs = none.draw(1000, 0)
    assert int(pairs.max()) > 1_900_000
    assert not set(zip(*pairs.tolist(), strict=True)) & set(zip(*links.tolist(), strict=True))
