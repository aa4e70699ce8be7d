from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.data import Data

from geco.explain.explain import explain, hops_from
from geco.explain.explanation import Explanation
from geco.explain.question import ask
from geco.nn.network.network import Network
from tests.explain.networks import Shift, info, network, path, random_graph


def on_path() -> Explanation:
    """Node 5 of a path of seven copies node 3, three times its 9."""
    return explain(ask(Shift(2), info(names=("height",)), path(7), node=5), "abcdefg".__getitem__)  # type: ignore[arg-type]


def test_the_node_that_is_copied_comes_first_with_what_is_left() -> None:
    found = on_path()
    assert (found.asked, found.quantity, found.value) == ("node f", "value of height", 27.0)
    first = found.nodes[0]
    assert (first.name, first.nodes, first.hops) == ("d", (3,), 2)
    assert first.without == pytest.approx(3 * sum(i * i for i in range(7)) / 7)
    assert first.change == pytest.approx(first.without - 27)
    assert all(effect.change == 0 for effect in found.nodes[1:])
    assert len(found.nodes) == found.total == 7


def test_the_edges_on_the_way_matter() -> None:
    found = on_path()
    assert {effect.name for effect in found.edges[:2]} == {"d - e", "e - f"}
    assert [effect.without for effect in found.edges[:2]] == [0.0, 0.0]
    assert all(effect.change == 0 for effect in found.edges[2:])
    assert len(found.edges) == 6


def test_what_is_near_and_what_is_far_adds_up_by_distance() -> None:
    data = path(7)
    near = {effect.name: effect for effect in on_path().parts}
    assert near["nodes 1 to 2 edges away"].change != 0
    assert near["its own features"].change == near["all nodes farther away"].change == 0
    far = explain(ask(Shift(3), info(), data, node=5))  # type: ignore[arg-type]
    assert {e.name for e in far.parts if e.change} == {"all nodes farther away"}


def test_edges_of_directed_graphs_and_self_loops_are_left_out_once() -> None:
    data = Data(x=torch.randn(3, 3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]]), num_nodes=3)
    found = explain(ask(network("gcn"), info("class", count=3), data, node=1))
    assert sorted(effect.nodes for effect in found.edges) == [(0, 1), (1, 2), (2, 2)]


def test_hops_without_a_path_are_minus_one() -> None:
    assert hops_from(torch.tensor([[0, 3], [1, 1]]), 5, 0).tolist() == [0, 1, -1, 2, -1]
    assert hops_from(torch.zeros(2, 0, dtype=torch.int64), 2, 1).tolist() == [-1, 0]


@pytest.mark.parametrize("size", [12, 900])
def test_a_node_and_its_own_features_are_the_same(size: int) -> None:
    found = explain(ask(network("geco"), info("class", count=3), random_graph(size), node=7))
    (alone,) = (effect for effect in found.nodes if effect.nodes == (7,))
    (own,) = (effect for effect in found.parts if effect.name == "its own features")
    assert (alone.without, alone.strength) == pytest.approx((own.without, own.strength), abs=1e-6)


def test_a_graph_is_explained_without_distances() -> None:
    torch.manual_seed(0)
    net, data = Network("geco", 3, "graph", 2, hidden_channels=8), random_graph()
    found = explain(ask(net, info("labels", "graph", 2, names=("toxic", "soluble")), data))
    assert found.asked == "the graph"
    assert found.quantity in ("probability of toxic", "probability of soluble")
    assert all(effect.hops is None for effect in found.nodes)
    assert not any(effect.kind == "nodes" for effect in found.parts)
    assert 0 < found.value < 1


def test_a_graph_of_one_node_without_edges() -> None:
    data = Data(x=torch.randn(1, 3), edge_index=torch.zeros(2, 0, dtype=torch.int64), num_nodes=1)
    found = explain(ask(network("geco"), info("class", count=3), data, node=0))
    assert len(found.nodes) == 1
    assert found.nodes[0].strength == pytest.approx(0, abs=1e-5)
    assert found.svg().startswith("<svg")


def test_certain_predictions_are_told_apart_by_their_log_odds() -> None:
    class Sure(Shift):
        def forward(self, data, features=None):  # type: ignore[no-untyped-def]
            x = self.features(data) if features is None else features
            batch = data.batch if "batch" in data else torch.zeros(len(x), dtype=torch.int64)
            total = torch.zeros(int(batch.max()) + 1, 1).index_add(0, batch, x)[batch]
            return torch.cat([total, -total], 1)

    found = explain(ask(Sure(1), info("class", count=2), path(9), node=0))  # type: ignore[arg-type]
    assert found.value == 1.0
    assert [effect.nodes[0] for effect in found.nodes[:2]] == [8, 7]  # farthest from the mean
    assert math.isfinite(found.nodes[0].strength)


def test_large_graphs_are_explained_by_candidates_without_edges() -> None:
    found = explain(ask(Shift(2), info(), path(3000), node=2000))  # type: ignore[arg-type]
    assert found.nodes[0].nodes == (1998,)
    assert len(found.nodes) == 41
    assert found.edges == ()
    assert "Of 3,000 nodes" in found.text()
