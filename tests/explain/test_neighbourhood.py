from __future__ import annotations

import torch
from torch_geometric.data import Data

from geco.explain.explain import explain
from geco.explain.explanation import Explanation
from geco.explain.neighbourhood import NAMED, neighbourhood
from geco.explain.question import ask
from tests.explain.networks import Shift, info, network, path


def drawn(found: Explanation) -> dict[str, str]:
    """The colour of each node that is drawn, by its name."""
    return {dot.title.split(":")[0]: dot.colour for dot in neighbourhood(found).dots}


def test_a_far_node_that_matters_is_drawn_with_its_distance() -> None:
    found = explain(ask(Shift(9), info(), path(30), node=20))  # type: ignore[arg-type]
    picture = neighbourhood(found)
    assert set(drawn(found)) == {"11", "18", "19", "20", "21", "22"}
    assert "7 edges" in [words.text for words in picture.words]
    assert sum(line.dashed for line in picture.lines) == 1
    assert next(dot.title for dot in picture.dots if dot.ringed).startswith("20:")
    colours = drawn(found)
    assert colours["11"] != colours["19"] == colours["21"]


def test_of_many_neighbours_the_strongest_are_drawn() -> None:
    hub = torch.stack([torch.zeros(200, dtype=torch.int64), torch.arange(1, 201)])
    data = Data(x=torch.randn(201, 3), edge_index=torch.cat([hub, hub.flip(0)], 1), num_nodes=201)
    found = explain(ask(network("gcn", num_layers=1), info("class", count=3), data, node=0))
    picture = neighbourhood(found)
    assert len(picture.dots) == NAMED
    assert f"{201 - NAMED} more neighbours" in picture.caption[0]
    assert found.nodes[0].name in drawn(found)


def test_a_node_without_neighbours() -> None:
    data = Data(x=torch.randn(4, 3), edge_index=torch.tensor([[1, 2], [2, 1]]), num_nodes=4)
    found = explain(ask(network("geco"), info("class", count=3), data, node=0))
    assert "0" in drawn(found)
    assert "no path" in [words.text for words in neighbourhood(found).words]
