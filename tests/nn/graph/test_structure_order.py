"""Orders from structure: each node once, a function of graph and colours alone, neighbours near each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from geco.nn.graph import structure_order as module
from geco.nn.graph.colour_refinement import Array, links, rank, refine
from geco.nn.graph.structure_order import structure_order

KINDS = ["sparse", "tree", "cycle", "parts", "empty"]


def drawn(kind: str, nodes: int, colours: int, seed: int) -> tuple[Array, Array]:
    """Return edges (2, M) and colours (N, 2) of a random graph."""
    rng = np.random.default_rng(seed)
    colour = rng.integers(0, colours, (nodes, 2))
    if kind == "tree":
        edges = np.array([[rng.integers(0, i), i] for i in range(1, nodes)], int).reshape(-1, 2).T
    elif kind == "cycle":
        edges = np.stack([np.arange(nodes), np.roll(np.arange(nodes), 1)])
    elif kind == "parts":
        edges = rng.integers(0, nodes, (2, nodes // 2))
    else:
        edges = rng.integers(0, nodes, (2, 0 if kind == "empty" else 2 * nodes))
    return edges, colour


def renumbered(edges: Array, colour: Array, seed: int) -> tuple[Array, Array, Array]:
    """Return the graph under other numbers, its edges in another order, and the new number of each node."""
    rng = np.random.default_rng(seed)
    new = rng.permutation(len(colour))
    moved = np.empty_like(colour)
    moved[new] = colour
    return new[edges][:, rng.permutation(edges.shape[1])][::-1], moved, new


graphs = st.builds(drawn, st.sampled_from(KINDS), st.integers(1, 14), st.integers(1, 4), st.integers(0, 10_000))


@pytest.mark.parametrize("small", [module.SMALL, 0])
@given(graph=graphs, seed=st.integers(0, 100))
def test_renumbering_renumbers_the_order_up_to_ties(small: int, graph: tuple[Array, Array], seed: int) -> None:
    edges, colour = graph
    moved, recoloured, new = renumbered(edges, colour, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALL", small)  # 0: the order of large graphs
        before, after = (structure_order(e, len(c), c).numpy() for e, c in ((edges, colour), (moved, recoloured)))
    assert sorted(before.tolist()) == list(range(len(colour)))
    fine = refine(links(edges, len(colour)), rank(colour)[0])
    old = np.argsort(new)[after]  # the nodes by their old numbers
    assert fine[before].tolist() == fine[old].tolist()
    if len(set(fine.tolist())) == len(fine):
        assert before.tolist() == old.tolist()


@given(st.integers(1, 20), st.integers(0, 1000))
def test_uncoloured_trees_look_the_same_under_any_numbers(nodes: int, seed: int) -> None:
    edges, colour = drawn("tree", nodes, 1, seed)
    moved, _, _ = renumbered(edges, colour, seed)
    before, after = structure_order(edges, nodes).numpy(), structure_order(moved, nodes).numpy()
    assert _places(edges, before) == _places(moved, after)


def test_large_graphs_keep_clusters_together() -> None:
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(150), 20))  # 3,000 nodes in groups of 20, shuffled
    members = [np.flatnonzero(group == g) for g in range(150)]
    inner = np.concatenate([rng.choice(m, (2, 80)) for m in members], axis=1)
    edges = np.concatenate([inner, rng.integers(0, 3000, (2, 1000))], axis=1)
    place = np.argsort(structure_order(edges, 3000).numpy())
    assert np.mean(np.abs(place[inner[0]] - place[inner[1]]) < 60) > 0.75  # at random 0.04


def _places(edges: Array, order: Array) -> list[list[int]]:
    place = np.argsort(order)
    return sorted(np.sort(place[edges], axis=0).T.tolist())


def test_a_path_is_walked_from_end_to_end_with_side_chains_on_the_way() -> None:
    # 0-1-2-3-4-5-6, and 7-8 beside 3: the end of the smaller colour is first, and 7-8 is done before the walk goes on
    edges = torch.tensor([[0, 1, 2, 3, 4, 5, 3, 7], [1, 2, 3, 4, 5, 6, 7, 8]])
    colours = torch.tensor([0, 1, 1, 1, 1, 1, 1, 1, 1])
    assert structure_order(edges, 9, colours).tolist() == [0, 1, 2, 3, 7, 8, 4, 5, 6]
    assert structure_order(edges, 9, 1 - colours).tolist() == [6, 5, 4, 3, 7, 8, 2, 1, 0]


def test_a_ring_on_the_way_is_finished_before_the_walk_goes_on() -> None:
    edges = torch.tensor([[0, 1, 2, 3, 1, 5, 6, 4, 7], [1, 2, 3, 4, 5, 6, 4, 7, 8]])  # 0, ring 1-2-3-4-6-5, tail 7-8
    order = structure_order(edges, 9, torch.tensor([0, 1, 1, 1, 1, 2, 2, 1, 1])).tolist()
    assert order == [0, 1, 2, 3, 4, 6, 5, 7, 8]


@given(st.integers(12, 60), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2**20))
def test_chains_of_alike_links_are_read_one_way(links: int, head: int, tail: int, seed: int) -> None:
    """However the ends are coloured: 1 2 3 1 2 3 ... never 3 2 1; the numbers of the nodes do not count."""
    colours = np.concatenate([[4 + head], np.tile([1, 2, 3], links), [4 + tail]])
    new = np.random.default_rng(seed).permutation(len(colours))
    edges = np.stack([new[:-1], new[1:]])
    order = structure_order(edges, len(colours), colours[new.argsort()]).numpy()
    assert colours[new.argsort()][order][1:4].tolist() == [1, 2, 3]


def test_what_was_trained_before_keeps_its_order() -> None:
    colours = np.concatenate([[5], np.tile([1, 2, 3], 20), [4]])
    edges = np.stack([np.arange(61), np.arange(1, 62)])
    assert structure_order(edges, 62, colours, version=1).tolist() == list(range(61, -1, -1))
    assert structure_order(edges, 62, colours).tolist() == list(range(62))
    with pytest.raises(ValueError, match="version must be 1 or 2, got 3"):
        structure_order(edges, 62, colours, version=3)


def test_random_colours_do_not_turn_a_path() -> None:
    rng = np.random.default_rng(0)
    for nodes in rng.integers(20, 200, 300):
        colours = np.append(0, rng.integers(1, 9, nodes - 1))  # the first node is marked
        order = structure_order(np.stack([np.arange(nodes - 1), np.arange(1, nodes)]), int(nodes), colours)
        assert int(order[0]) == 0


def test_components_come_by_size_then_by_colour() -> None:
    edges = torch.tensor([[0, 3], [1, 4]])
    order = structure_order(edges, 6, torch.tensor([5, 5, 1, 4, 4, 0]))
    assert [{3, 4}, {0, 1}] == [set(order[:2].tolist()), set(order[2:4].tolist())]
    assert order[4:].tolist() == [5, 2]


def test_earlier_columns_of_colours_count_first() -> None:
    edges, none = torch.tensor([[0, 1], [1, 2]]), torch.zeros(2, 0, dtype=torch.int64)
    assert structure_order(edges, 3, torch.tensor([[0, 9], [0, 0], [1, 0]])).tolist() == [0, 1, 2]
    assert structure_order(edges, 3, torch.tensor([[1, 0], [0, 0], [0, 9]])).tolist() == [2, 1, 0]
    assert structure_order(none, 1).tolist() == [0]
    assert structure_order(none, 0).tolist() == []


@pytest.mark.parametrize(
    ("edges", "colours", "match"),
    [
        (torch.zeros(3, 2, dtype=torch.int64), None, r"shape \(2, M\)"),
        (torch.zeros(2, 1), None, "whole numbers"),
        (torch.tensor([[0], [3]]), None, "0 to 2"),
        (torch.tensor([[0], [1]]), torch.zeros(3), "round them"),
        (torch.tensor([[0], [1]]), torch.zeros(2, dtype=torch.int64), r"\(3,\)"),
    ],
)
def test_wrong_input_is_refused(edges: torch.Tensor, colours: torch.Tensor | None, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        structure_order(edges, 3, colours)
