from __future__ import annotations

import pytest
import torch

from geco.explain.attention import acting
from geco.nn.model import GECO
from tests.explain.networks import network, random_graph


def test_shares_are_those_of_the_matrix() -> None:
    net, data = network("geco", options={"permutation": "static", "filter": "paper"}), random_graph()
    assert isinstance(net.body, GECO)
    (first, second) = acting(net, net.body, data, 4, str, top=12)
    strength = net.body.attention(data.x, data.edge_index, layer=1).row(4).abs().mean(0)
    shares = {name: share for name, share, _ in second.rows}
    assert second.mean == pytest.approx(float(strength.mean()))
    for node in range(12):
        assert shares[str(node)] == pytest.approx(float(strength[node] / strength.mean() - 1), abs=1e-4)
    sizes = [abs(share) for _, share, _ in first.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert "%" in first.text("4")


def test_a_mean_is_said_to_be_one() -> None:
    net, data = network("geco", num_layers=1, options={"filter": "mean", "order": 1}), random_graph()
    assert isinstance(net.body, GECO)
    (only,) = acting(net, net.body, data, 4, str)
    assert only.most == pytest.approx(0, abs=1e-5)
    assert "all nodes act alike on node 4" in only.text("4")


def test_the_graph_number_decides_the_order() -> None:
    net, data = network("geco", options={"permutation": "static", "filter": "paper"}), random_graph()
    assert isinstance(net.body, GECO)
    plain = acting(net, net.body, data, 4, str)[0].rows
    data.graph_id = torch.tensor([5])
    assert acting(net, net.body, data, 4, str)[0].rows != plain
