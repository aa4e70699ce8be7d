"""Random graphs are exact; the copy tasks cannot be solved by message passing of fewer layers than the distance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv
from torch_geometric.utils import to_scipy_sparse_matrix

from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import _pairs, erdos_renyi, ring_copy, tree_copy
from geco.errors import UsageError

Copies = Callable[..., GraphDataset]
TASKS: list[tuple[Copies, int]] = [(ring_copy, 2), (ring_copy, 5), (tree_copy, 1), (tree_copy, 4)]


@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 5))
def test_random_graphs_are_simple_and_symmetric(nodes: int, density: float, seed: int) -> None:
    graph = erdos_renyi(nodes, density=density, seed=seed)[0]
    assert graph.num_nodes == nodes
    assert graph.x.shape == (nodes, 8)
    assert graph.edge_index.dtype == torch.int64
    assert not graph.has_self_loops()
    if graph.num_edges:
        assert graph.is_undirected()
        assert graph.is_coalesced()


@pytest.mark.parametrize("nodes", [1, 2, 3, 17])
def test_density_zero_and_one(nodes: int) -> None:
    assert erdos_renyi(nodes, density=0).num_edges == 0
    assert erdos_renyi(nodes, density=1.0).num_edges == nodes * (nodes - 1)


@pytest.mark.parametrize("density", [0.02, 0.3, 0.9])
def test_each_pair_is_equally_likely(density: float) -> None:
    rng, trials, nodes = np.random.default_rng(0), 2000, 6
    found = np.zeros((nodes, nodes))
    together = np.zeros(2)  # both of two pairs, neither
    for _ in range(trials):
        low, high = _pairs(nodes, density, rng)
        found[low, high] += 1
        names = set(zip(low.tolist(), high.tolist(), strict=True))
        both = ((0, 1) in names) + ((0, 2) in names)
        together += both == 2, both == 0
    counts = found[np.triu_indices(nodes, 1)]
    spread = (trials * density * (1 - density)) ** 0.5
    assert np.abs(counts - trials * density).max() < 4.5 * spread
    for count, p in zip(together, (density**2, (1 - density) ** 2), strict=True):
        assert abs(count - trials * p) < 4.5 * (trials * p * (1 - p)) ** 0.5
    assert found[np.tril_indices(nodes)].sum() == 0


def test_mean_degree() -> None:
    dataset = erdos_renyi(200_000, degree=7.5, features=1)
    pairs = 200_000 * 7.5 / 2
    assert abs(dataset.num_edges / 2 - pairs) < 4.5 * pairs**0.5
    degree = torch.bincount(dataset.arrays["edge/edge_index"][0].long(), minlength=200_000).float()
    assert abs(float(degree.var()) - 7.5) < 0.15  # Poisson, so variance and mean agree


def test_pairs_of_more_nodes_than_any_graph_has() -> None:
    nodes = 3_000_000_000
    low, high = _pairs(nodes, 1e-15, np.random.default_rng(0))
    assert 4000 < len(low) < 5000
    assert (low >= 0).all()
    assert (low < high).all()
    assert (high < nodes).all()
    assert abs(np.mean(high / nodes) - 2 / 3) < 0.02
    assert abs(np.mean(low / high) - 1 / 2) < 0.02


def test_random_graphs_are_a_function_of_the_seed() -> None:
    def make(seed: int) -> str:
        return erdos_renyi(30, degree=3, graphs=4, seed=seed).fingerprint

    assert make(1) == make(1) != make(2)
    several = erdos_renyi(30, degree=3, graphs=5, classes=3)
    assert several.info.level == "graph"
    assert several.arrays["graph/y"].shape == (5,)
    assert len(several.split().train) == 3
    assert not torch.equal(several[0].x, several[1].x)
    one = erdos_renyi(30, degree=3, classes=3)
    assert one.info.level == "node"
    assert one.arrays["node/y"].shape == (30,)
    assert len(one.split().train) == 18


@pytest.mark.parametrize(
    "wrong", [{}, {"degree": 1, "density": 0.1}, {"degree": 10}, {"density": 1.5}, {"density": -0.1}]
)
def test_wrong_random_graphs_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="density"):
        erdos_renyi(10, **wrong)  # type: ignore[arg-type]


def source_and_target(graph: Data, keys: int) -> tuple[int, int]:
    source, target = graph.x[:, keys].nonzero().view(-1).tolist(), graph.x[:, keys + 1].nonzero().view(-1).tolist()
    assert len(source) == len(target) == 1
    return source[0], target[0]


@pytest.mark.parametrize("distractors", [False, True])
@pytest.mark.parametrize(("make", "distance"), TASKS)
def test_target_is_as_far_as_said(make: Copies, distance: int, distractors: bool) -> None:
    dataset = make(distance, graphs=40, keys=3, distractors=distractors)
    for graph in dataset:
        source, target = source_and_target(graph, 3)
        assert graph.is_undirected()
        assert graph.is_coalesced()
        assert not graph.has_self_loops()
        adjacency = to_scipy_sparse_matrix(graph.edge_index, num_nodes=graph.num_nodes).tocsr()
        steps = shortest_path(adjacency, unweighted=True)
        assert steps[source, target] == distance
        assert np.isfinite(steps).all()
        assert int(graph.y[target]) == int(graph.x[source, :3].argmax())
        assert (graph.y >= 0).sum() == 1
        assert graph.y.min() == -1
        carriers = torch.ones(graph.num_nodes) if distractors else torch.eye(graph.num_nodes)[source]
        assert torch.equal(graph.x[:, :3].sum(1), carriers)
    assert len(dataset.sizes.unique()) > 1


@pytest.mark.parametrize("make", [ring_copy, tree_copy])
def test_shape_is_a_ring_or_a_binary_tree(make: Copies) -> None:
    for graph in make(5, graphs=20):
        degrees = torch.bincount(graph.edge_index[0])
        if make is ring_copy:
            assert set(degrees.tolist()) == {2}
            assert 10 <= graph.num_nodes <= 13
        else:
            source, target = source_and_target(graph, 4)
            assert graph.num_edges == 2 * (graph.num_nodes - 1)
            assert degrees.max() == 3
            assert degrees[source] == 2
            assert degrees[target] == 1
            assert 58 <= graph.num_nodes <= 63


@pytest.mark.parametrize(("make", "distance"), TASKS)
@pytest.mark.parametrize("keys", [2, 5])
def test_chance_is_one_in_keys(make: Copies, distance: int, keys: int) -> None:
    dataset = make(distance, graphs=200, keys=keys)
    y, split = dataset.arrays["node/y"].long(), dataset.split()
    answers = y[y >= 0]
    assert torch.bincount(answers, minlength=keys).tolist() == [200 // keys] * keys
    for part, count in ((split.train, 160), (split.valid, 20), (split.test, 20)):
        assert len(part) == count
        assert (torch.bincount(answers[part]) - count / keys).abs().max() <= 1
    # no use in the number of the node or the size of the graph, nor in the most frequent key
    places = torch.cat([(graph.y >= 0).nonzero().view(-1) / graph.num_nodes for graph in dataset])
    assert abs(float(torch.corrcoef(torch.stack([places, answers.float()]))[0, 1])) < 0.3
    assert abs(float(torch.corrcoef(torch.stack([dataset.sizes.float(), answers.float()]))[0, 1])) < 0.3


@pytest.mark.parametrize(("make", "distance"), [(ring_copy, 12), (tree_copy, 7)])
def test_with_distractors_a_bag_of_features_hardly_tells(make: Copies, distance: int) -> None:
    every = make(distance, graphs=400, distractors=True).batch(range(400))
    bag = torch.zeros(400, 4).index_add_(0, every.batch, every.x[:, :4])
    assert (bag.argmax(1) == every.y[every.y >= 0]).float().mean() < 0.45


def logits(conv: str, layers: int, graph: Data) -> tuple[Tensor, Tensor]:
    """Return what a network with random weights gives at each node, and its input, to be differentiated."""
    width = graph.num_features

    def layer() -> torch.nn.Module:
        if conv == "gin":
            return GINConv(torch.nn.Linear(width, width)).double()
        return {"gcn": GCNConv, "gat": GATConv, "sage": SAGEConv}[conv](width, width).double()

    x = graph.x.double().requires_grad_()
    h = x
    for _ in range(layers):
        h = layer()(h, graph.edge_index).tanh()
    return h, x


@pytest.mark.parametrize("conv", ["gcn", "gin", "gat", "sage"])
@pytest.mark.parametrize(("make", "distance"), TASKS)
def test_fewer_layers_cannot_see_the_key(make: Copies, distance: int, conv: str) -> None:
    for graph in (make(distance, graphs=12)[i] for i in range(3)):
        source, target = source_and_target(graph, 4)
        for layers in range(1, distance + 1):
            h, x = logits(conv, layers, graph)
            (gradient,) = torch.autograd.grad(h[target].sum(), x)
            assert bool(gradient[source].any()) == (layers == distance)


@pytest.mark.parametrize("make", [ring_copy, tree_copy])
def test_copy_tasks_are_a_function_of_the_seed(make: Copies) -> None:
    assert make(3, graphs=10, seed=1).fingerprint == make(3, graphs=10, seed=1).fingerprint
    assert make(3, graphs=10, seed=1).fingerprint != make(3, graphs=10, seed=2).fingerprint


def test_wrong_copy_tasks_are_refused() -> None:
    for make in (
        lambda: ring_copy(1),
        lambda: tree_copy(0),
        lambda: ring_copy(3, keys=1),
        lambda: tree_copy(3, graphs=5),
    ):
        with pytest.raises(UsageError, match="or more"):
            make()
