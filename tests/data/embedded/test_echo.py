"""On echo paths the label is the colour that many steps towards the mark, and nothing simpler tells it."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from geco.data import load
from geco.data.embedded.echo import echo
from geco.errors import UsageError
from geco.train.build import build
from geco.train.config import Config, ModelConfig


def walk(graph: Data) -> list[int]:
    """Return the nodes from the marked end on, following edges."""
    neighbours: dict[int, list[int]] = {node: [] for node in range(graph.num_nodes)}
    for source, target in graph.edge_index.t().tolist():
        neighbours[source].append(target)
    (here,) = (graph.x[:, 0] == 0).nonzero().view(-1).tolist()
    found = [here]
    while ahead := [node for node in neighbours[here] if node not in found[-2:]]:
        (here,) = ahead  # one way only: it is a path, and it starts at its end
        found.append(here)
    return found


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 100), st.integers(2, 12), st.integers(0, 5))
def test_label_is_the_colour_so_many_steps_towards_the_mark(distance: int, colours: int, seed: int) -> None:
    for graph in itertools.islice(echo(distance, 10, colours, seed), 3):
        path = walk(graph)
        assert sorted(path) == list(range(graph.num_nodes))
        colour, label = graph.x[path, 1], graph.y[path]
        assert torch.equal(label[distance:], colour[:-distance])
        assert (label[:distance] == -1).all()
        assert 2 * int((label >= 0).sum()) >= graph.num_nodes
        counts = torch.bincount(colour, minlength=colours)
        assert counts.max() - counts.min() <= 1


def test_graphs_are_paths_with_one_marked_end() -> None:
    dataset = echo(16, graphs=50)
    assert dataset.info.categories == (2, 8)
    for graph in dataset:
        degree = torch.bincount(graph.edge_index[0])
        assert sorted(degree.tolist()) == [1, 1, *[2] * (graph.num_nodes - 2)]
        assert graph.num_edges == 2 * (graph.num_nodes - 1)
        assert graph.is_undirected()
        assert graph.is_coalesced()
        assert (graph.x[:, 0] == 0).sum() == 1
        assert degree[graph.x[:, 0] == 0] == 1
        assert 80 <= graph.num_nodes <= 200
    assert len(dataset.sizes.unique()) > 20


@pytest.mark.parametrize(("distance", "low", "high"), [(16, 80, 200), (64, 128, 200), (200, 400, 600)])
def test_sizes_leave_half_of_the_nodes_an_answer(distance: int, low: int, high: int) -> None:
    sizes = echo(distance, graphs=200).sizes
    assert low <= sizes.min() < low + 15
    assert high - 15 < sizes.max() <= high


def right(guess: Tensor, label: Tensor) -> float:
    return float((guess == label)[label >= 0].float().mean())


@pytest.mark.parametrize("distance", [16, 64])
def test_simple_guesses_are_at_chance(distance: int) -> None:
    every = echo(distance, graphs=400).batch(range(400))
    colour, label = every.x[:, 1], every.y
    bag = torch.zeros(400, 8).index_add_(0, every.batch, torch.eye(8)[colour])
    first = colour[every.x[:, 0] == 0]  # of the marked node, which is known to whoever reaches all
    number = torch.roll(colour, distance)  # as if the file's order were the path's
    for guess in (bag.argmax(1)[every.batch], first[every.batch], colour, number, torch.zeros_like(label)):
        assert abs(right(guess, label) - 1 / 8) < 0.02


def test_colours_within_three_hops_say_nothing_of_the_label() -> None:
    together = torch.zeros(7, 8, 8)  # place from three steps back to three ahead, its colour, the label
    for graph in echo(16, graphs=100):
        path = walk(graph)
        colour, label = graph.x[path, 1], graph.y[path]
        for k, step in enumerate(range(-3, 4)):
            inner = torch.arange(16, len(path) - 3)
            together[k].index_put_((colour[inner + step], label[inner]), torch.ones(len(inner)), accumulate=True)
    expected = together.sum((1, 2), keepdim=True) / 64
    assert ((together - expected).abs() < 5.5 * expected.sqrt()).all()


def test_nodes_without_an_answer_are_left_out_by_the_engine() -> None:
    from geco.train.tasks import loss

    dataset = echo(16, graphs=10)
    data = dataset.batch([0, 1])
    network = build(Config(model=ModelConfig("mlp", 8, 1)), dataset)
    output = torch.randn(data.num_nodes, 8)
    other = torch.where((data.y < 0).unsqueeze(1), torch.randn(data.num_nodes, 8), output)
    first, second = (loss(out, data, None, dataset.info, network.head, False) for out in (output, other))
    assert torch.equal(first, second)


def test_a_function_of_the_seed() -> None:
    assert echo(16, 20, seed=1).fingerprint == echo(16, 20, seed=1).fingerprint != echo(16, 20, seed=2).fingerprint
    few, many = echo(16, 20), echo(16, 30)
    assert torch.equal(few[7].x, many[7].x)  # a graph depends on its number, not on how many there are
    split = many.split()
    assert (len(split.train), len(split.valid), len(split.test)) == (24, 3, 3)


def test_embedded_by_name() -> None:
    assert load("echo").fingerprint == echo(16).fingerprint
    assert load("echo-64").fingerprint == echo(64).fingerprint


@pytest.mark.parametrize("wrong", [{"distance": 0}, {"distance": 5, "colours": 1}, {"distance": 5, "graphs": 9}])
def test_wrong_arguments_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="or more"):
        echo(**wrong)
