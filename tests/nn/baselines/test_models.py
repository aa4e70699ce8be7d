"""Baselines are PyG's networks, only quicker."""

from __future__ import annotations

import json
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import SGFormer

from geco.names import BASELINES
from geco.nn.baselines.transformers import HyenaStack
from geco.nn.functional import compact
from geco.nn.gps.hyena import HyenaFilter
from geco.nn.graph.permutation import Permutation, shuffled
from geco.nn.graph.rings import rings_of
from geco.nn.network.network import Network

ORDERS: tuple[Permutation, ...] = ("natural", "static", "dynamic")


def test_sgformer_is_pygs_on_one_graph() -> None:
    torch.manual_seed(0)
    theirs = SGFormer(5, 8, 8, 1, 1, 0.0, 2, 0.0).eval()
    torch.manual_seed(0)
    ours = resolve_name(BASELINES["sgformer"])(5, 8, 2, 0.0, 1).eval()
    ours.local.load_state_dict(theirs.graph_conv.state_dict())  # its convolutions are drawn later
    x, edges, batch = torch.randn(10, 5), torch.randint(10, (2, 30)), torch.zeros(10, dtype=torch.int64)
    wanted = (theirs.trans_conv(x, batch) + theirs.graph_conv(x, edges)) / 2
    torch.testing.assert_close(ours(x, edges), wanted)


def test_heads_of_the_performer_share_the_width() -> None:
    performer = resolve_name(BASELINES["gps-performer"])(5, 32, 1, 0.0, 4).layers[0].attn
    assert performer.q.out_features == 32
    assert performer.fast_attn.projection_matrix.shape[1] == 8


@pytest.mark.parametrize("body", ["geco", "hybrid", *BASELINES])
def test_sparse_features_give_the_numbers_and_gradients_of_dense_ones(body: str) -> None:
    torch.manual_seed(0)
    dtype = torch.float32 if body == "sgformer" else torch.float64  # PyG's attention makes float32 on its way
    x = torch.randn(20, 1500, dtype=dtype) * (torch.rand(20, 1500) < 0.02)
    network, edges = Network(body, 1500, "node", 3, hidden_channels=8).to(dtype), torch.randint(20, (2, 60))
    network.embed = lambda data, features: data.x  # type: ignore[method-assign]  # which makes float32

    def results(features: Tensor) -> list[Tensor]:
        torch.manual_seed(1)
        output = network(Data(x=features, edge_index=edges))
        return [output, *torch.autograd.grad(output.square().sum(), network.parameters(), allow_unused=True)]

    assert compact(x).layout == torch.sparse_csr
    for found, wanted in zip(results(compact(x)), results(x), strict=True):
        torch.testing.assert_close(found, wanted)


def test_hyena_takes_nodes_in_the_order_it_is_told() -> None:
    x, edges = torch.randn(30, 5), torch.randint(30, (2, 60))
    torch.manual_seed(0)
    natural, *others = (HyenaStack(5, 8, 2, 0.0, 1, permutation=p, seed=3) for p in ORDERS)
    for other in others:
        other.load_state_dict(natural.state_dict())
    static, dynamic = others
    order = shuffled(rings_of(30, None, x.device), 3).permutation
    assert order is not None
    assert torch.allclose(static(x, edges)[order], natural(x[order], edges), atol=1e-5)
    first = dynamic.train()(x, edges)
    dynamic.set_epoch(1)
    assert not torch.allclose(dynamic(x, edges), first, atol=1e-3)
    assert torch.equal(dynamic.eval()(x, edges), dynamic(x, edges))  # the mean of orders that training never sees


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ("hyena", {}),
        ("hybrid", {"mixer": "hyena", "local": "gcn"}),
        ("hybrid", {"mixer": "hyena", "local": "gcn", "mixer_kwargs": {"order": 3, "filter_kwargs": {"width": 16}}}),
        ("hybrid", {"mixer": "cascade", "local": "gcn", "mixer_kwargs": {"context": "hyena"}}),
    ],
)
def test_saved_networks_keep_their_hyena(body: str, options: dict[str, Any], tmp_path: Path) -> None:
    """A network says how long its filters are; one that does not is of before, when all had 1,024 places."""
    data = Data(x=torch.randn(30, 5), edge_index=torch.randint(30, (2, 60)))
    network = Network(body, 5, "node", 3, hidden_channels=8, options=options).eval()
    filters = [m for m in network.modules() if isinstance(m, HyenaFilter)]
    assert [(m.length, m.interleaved) for m in filters] == [(None, True)] * 2
    network.save_pretrained(tmp_path)
    assert torch.equal(Network.from_pretrained(tmp_path)(data), network(data))
    path = tmp_path / "config.json"
    table = json.loads(path.read_text())
    config = {**table["config"], "options": options}
    config["hidden"], config["layers"] = config.pop("hidden_channels"), config.pop("num_layers")
    path.write_text(json.dumps({**table, "config": config, "format": 1}))
    old = Network.from_pretrained(tmp_path)
    assert [(m.length, m.interleaved) for m in old.modules() if isinstance(m, HyenaFilter)] == [(1024, False)] * 2
    assert not torch.equal(old(data), network(data))
