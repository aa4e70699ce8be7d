from __future__ import annotations

import pytest
import torch

from geco.explain.occlusion import candidates, estimate, stand_ins, without_edges, without_nodes
from geco.explain.question import ask
from tests.explain.networks import Shift, info, network, path, random_graph


def test_without_a_node_is_what_stand_ins_give_one_by_one() -> None:
    net, data = network("geco", options={"permutation": "static"}), random_graph()
    question = ask(net, info("class", count=3), data, node=2)
    vectors, share = stand_ins(question.features)
    found = without_nodes(question, torch.eye(12, dtype=torch.bool))
    value = float(question.value(question.base))
    for node in (0, 2, 7):
        expected = 0.0
        for vector, part in zip(vectors, share, strict=True):
            x = data.x.clone()
            x[node] = vector
            with torch.no_grad():
                expected += float(part * net(data, x)[2].softmax(0)[question.target])
        assert value + float(found.change[node]) == pytest.approx(expected, abs=1e-5)


def test_on_a_path_only_the_node_that_is_copied_matters() -> None:
    data = path(7)  # features 0, 1, 4, 9, 16, 25, 36
    question = ask(Shift(2), info(), data, node=5)  # type: ignore[arg-type]
    found = without_nodes(question, torch.eye(7, dtype=torch.bool), most=7)
    expected = torch.zeros(7, dtype=torch.float64)
    expected[3] = 3 * data.x.double().mean() - 27  # every kind of node stands in as often as it occurs
    torch.testing.assert_close(found.change, expected)
    assert (found.change == 0).tolist() == [True] * 3 + [False] + [True] * 3


def test_without_an_edge_is_the_graph_without_it() -> None:
    net, data = network("gcn"), random_graph()
    question, edges = ask(net, info("class", count=3), data, node=2), data.edge_index.shape[1]
    lacking = torch.eye(edges, dtype=torch.bool)[:5]
    found = without_edges(question, lacking)
    value = float(question.value(question.base))
    for number in range(5):
        changed = data.clone()
        changed.edge_index = data.edge_index[:, ~lacking[number]]
        with torch.no_grad():
            expected = net(changed)[2].softmax(0)[question.target]
        assert value + float(found.change[number]) == pytest.approx(float(expected), abs=1e-5)


def test_kinds_stand_in_as_often_as_they_occur() -> None:
    vectors, share = stand_ins(torch.tensor([[1.0], [2.0], [1.0], [1.0]]))
    assert vectors.flatten().tolist() == [1.0, 2.0]
    assert share.tolist() == [0.75, 0.25]
    many = torch.arange(50.0)[:, None]
    drawn, share = stand_ins(many)
    assert torch.equal(drawn, stand_ins(many)[0])
    assert float(share.sum()) == 1.0
    assert len(drawn) == 4


@pytest.mark.parametrize("steps", [1, 5])
def test_the_estimate_of_a_linear_network_is_exact(steps: int) -> None:
    data = path(7)
    question = ask(Shift(2), info(), data, node=5)  # type: ignore[arg-type]
    expected = torch.zeros(7)
    expected[3] = 3 * (9 - data.x.mean())
    torch.testing.assert_close(estimate(question, steps), expected)


def test_of_a_large_graph_those_that_gradients_name_are_candidates() -> None:
    question = ask(Shift(2), info(), path(100), node=50)  # type: ignore[arg-type]
    chosen = candidates(question, most=10_000).tolist()
    assert len(chosen) == 25
    assert 48 in chosen
    assert candidates(question).tolist() == list(range(100))
