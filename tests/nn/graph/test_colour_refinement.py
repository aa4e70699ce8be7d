"""Colour refinement: splits what is different, never by numbering, and in the same way with a table and with hashes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geco.nn.graph import colour_refinement as module
from geco.nn.graph.colour_refinement import links, rank, refine


def test_links_are_undirected_without_loops_or_parallel_edges() -> None:
    graph = links(np.array([[2, 0, 1, 1, 0], [0, 1, 0, 1, 1]]), 4)
    assert graph.start.tolist() == [0, 2, 3, 4, 4]
    assert graph.index.tolist() == [1, 2, 0, 0]
    assert graph.table.tolist() == [[1, 2], [0, 4], [0, 4], [4, 4]]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2**62), st.booleans()), max_size=12))
def test_ranks_are_those_of_sorted_rows(rows: list[tuple[int, int, bool]]) -> None:
    columns = np.array([[int(v) for v in row] for row in rows], np.int64).reshape(len(rows), 3)
    distinct = sorted({tuple(row) for row in columns.tolist()})
    found, count = rank(columns)
    assert count == len(distinct)
    assert found.tolist() == [distinct.index(tuple(row)) for row in columns.tolist()]


def test_fewer_neighbours_come_first_and_given_colours_before_all() -> None:
    star = links(np.array([[0, 0, 0], [1, 2, 3]]), 4)
    assert refine(star, np.zeros(4, np.int64)).tolist() == [1, 0, 0, 0]
    assert refine(star, np.array([0, 1, 1, 0])).tolist() == [1, 2, 2, 0]


def test_rounds_bound_how_far_a_node_sees() -> None:
    path = links(np.array([np.arange(8), np.arange(1, 9)]), 9)
    assert len(set(refine(path, np.zeros(9, np.int64), 2).tolist())) == 3
    assert len(set(refine(path, np.zeros(9, np.int64)).tolist())) == 5


@pytest.mark.parametrize("seed", range(5))
def test_hashes_split_as_tables_do(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    graph, colour = links(rng.integers(0, 60, (2, 80)), 60), rng.integers(0, 3, 60)
    table = refine(graph, colour)
    monkeypatch.setattr(module, "TABLE", 0)
    hashed = refine(graph, colour)
    assert (
        len(set(zip(table.tolist(), hashed.tolist(), strict=True)))
        == len(set(table.tolist()))
        == len(set(hashed.tolist()))
    )
    assert (np.diff(colour[np.argsort(hashed, kind="stable")]) >= 0).all()


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_renumbering_renumbers_colours(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    edges, colour, new = rng.integers(0, nodes, (2, nodes)), rng.integers(0, 3, nodes), rng.permutation(nodes)
    moved = np.empty_like(colour)
    moved[new] = colour
    before, after = refine(links(edges, nodes), colour), refine(links(new[edges], nodes), moved)
    assert after[new].tolist() == before.tolist()
