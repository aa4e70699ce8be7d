from __future__ import annotations

import pytest
import torch

from geco.explain.parts import without_parts
from geco.explain.question import ask
from tests.explain.networks import info, network, random_graph

CLASSES = info("class", count=3)


def left(body: str, **options: object) -> dict[tuple[str, int | None], float]:
    question = ask(network(body, **options), CLASSES, random_graph(), node=2)
    return {(name, layer): value for name, layer, value in without_parts(question)}


def test_without_local_propagation_is_the_graph_without_edges() -> None:
    net, data = network("geco"), random_graph()
    question = ask(net, CLASSES, data, node=2)
    empty = data.clone()
    empty.edge_index = data.edge_index[:, :0]
    with torch.no_grad():
        expected = question.evidence(net(empty)[2][None])
    found = {(name, layer): value for name, layer, value in without_parts(question)}
    assert found["local propagation", None] == pytest.approx(float(expected), abs=1e-4)


def test_without_global_context_only_the_neighbourhood_matters() -> None:
    net, data = network("geco", num_layers=1), random_graph()
    question = ask(net, CLASSES, data, node=2)
    near = {2, *data.edge_index[0, data.edge_index[1] == 2].tolist()}
    far = [node for node in range(12) if node not in near]
    changed = data.clone()
    changed.x = data.x.clone()
    changed.x[far] += 5.0
    other = ask(net, CLASSES, changed, node=2, target=question.target)
    one, two = ({name: v for name, _, v in without_parts(q)} for q in (question, other))
    assert one["global context"] == pytest.approx(two["global context"], abs=1e-5)
    assert abs(one["local propagation"] - two["local propagation"]) > 1e-3  # the mean still reaches them


def test_a_fresh_filter_is_its_mean() -> None:
    net, data = network("geco", options={"filter": "waves"}), random_graph()
    question = ask(net, CLASSES, data, node=2)
    found = {(name, layer): value for name, layer, value in without_parts(question)}
    whole = question.evidence(question.outputs(question.features[None])).detach()
    assert found["global context beyond its mean", None] == pytest.approx(float(whole), abs=1e-4)


def test_layers_are_cut_one_by_one() -> None:
    found = left("geco", num_layers=3)
    assert [layer for name, layer in found if name == "local propagation"] == [None, 1, 2, 3]
    assert found["local propagation", 1] != found["local propagation", 2]
    assert {layer for _, layer in left("geco", num_layers=1)} == {None}


def test_hybrids_are_split_into_local_and_mixer() -> None:
    found = left("hybrid", options={"local": "gcn", "mixer": "attention"})
    assert {name for name, _ in found} == {"local GNN", "global mixer"}
    lone = left("hybrid", options={"local": "gcn", "mixer": "none"})
    assert {name for name, _ in lone} == {"local GNN"}


def test_a_mixer_that_is_silent_hears_no_far_node() -> None:
    net, data = network("hybrid", num_layers=1, options={"local": "gatedgcn", "mixer": "attention"}), random_graph()
    question = ask(net, CLASSES, data, node=2)
    near = {2, *data.edge_index[0, data.edge_index[1] == 2].tolist()}
    changed = data.clone()
    changed.x = data.x.clone()
    changed.x[[node for node in range(12) if node not in near]] += 5.0
    other = ask(net, CLASSES, changed, node=2, target=question.target)
    one, two = ({name: v for name, _, v in without_parts(q)} for q in (question, other))
    assert one["global mixer"] == pytest.approx(two["global mixer"], abs=1e-5)


def test_networks_without_such_parts_have_none_and_stay_as_they_were() -> None:
    assert left("gcn") == {}
    net = network("geco")
    before = {name: value.clone() for name, value in net.state_dict().items()}
    list(without_parts(ask(net, CLASSES, random_graph(), node=2)))
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert before.keys() == net.state_dict().keys()
