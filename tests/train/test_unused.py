"""Weights and features of edges change what a network gives exactly where it is said to use them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch_geometric.nn import GATConv, GCNConv

from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import erdos_renyi
from geco.names import BASELINES, LOCALS, MIXERS
from geco.nn.baselines.sparse_convs import SparseGATConv, SparseGCNConv
from geco.nn.network.network import Network
from geco.train.build import build
from geco.train.config import Config, ModelConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.unused import unused_fields
from tests.conftest import random_edges, relative_error

WEIGHT, FEATURES = "edge_weight", "edge_attr"
USED = {  # of all networks by name; no other uses either
    "geco": [WEIGHT],
    "gcn": [WEIGHT],
    "gcn-pyg": [WEIGHT],
    "gat": [FEATURES],
    "gatedgcn": [FEATURES],
    "gps": [WEIGHT],
    "gps-performer": [WEIGHT],
    "sgformer": [WEIGHT],
    "polynormer": [WEIGHT],
}
LOCAL = {"gatedgcn": [FEATURES], "gine": [FEATURES], "gcn": [WEIGHT], "gat": [FEATURES], "pna": [FEATURES], "none": []}
NAMES = [("geco", "", ""), *((name, "", "") for name in BASELINES)]
NAMES += [("hybrid", local, mixer) for local in (*LOCALS, "none") for mixer in (*MIXERS, "none")][:-1]


def rich() -> GraphDataset:
    """Return a graph whose edges have a weight and two features."""
    graph = erdos_renyi(40, degree=3, features=3)
    draw = torch.Generator().manual_seed(1)
    weighted = graph.attach(f"edge/{WEIGHT}", torch.rand(graph.num_edges, generator=draw) + 0.5)
    return weighted.attach(f"edge/{FEATURES}", torch.rand(graph.num_edges, 2, generator=draw))


def config(name: str, local: str = "", mixer: str = "", **model: object) -> Config:
    parts = {"local": local, "mixer": mixer} if local else {}
    return Config(model=ModelConfig(name, hidden=8, heads=2, **parts, **model))  # type: ignore[arg-type]


def listens(network: Network, dataset: GraphDataset, field: str) -> bool:
    """Tell whether another field of the edges gives another output."""
    network.eval().set_epoch(9, 10)  # Polynormer's last third
    data = dataset[0]
    before = network(data)
    data[field] = data[field].flip(0)
    return not torch.equal(before, network(data))


@pytest.mark.parametrize(("name", "local", "mixer"), NAMES)
def test_who_uses_what(name: str, local: str, mixer: str) -> None:
    dataset = rich()
    network = build(config(name, local, mixer), dataset)
    wanted = (
        USED.get(name, [])
        + LOCAL.get(local, [])
        + {"geco": [WEIGHT], "cascade": [WEIGHT], "exphormer": [FEATURES]}.get(mixer, [])
    )
    for field in (WEIGHT, FEATURES):
        assert listens(network, dataset, field) == (field in wanted), field
    assert unused_fields(network, dataset) == [field for field in (WEIGHT, FEATURES) if field not in wanted]
    network.train()(dataset[0]).square().sum().backward()
    used = [network.edges] if network.edges is not None else []
    assert all(weight.grad is not None and bool(weight.grad.any()) for part in used for weight in part.parameters())


@pytest.mark.parametrize("name", ["mlp", "sage"])
def test_averages_along_the_edges_are_weighted(name: str) -> None:
    network = build(config(name, diffusion=2), rich())
    assert listens(network, rich(), WEIGHT)
    assert unused_fields(network, rich()) == [FEATURES]


@pytest.mark.parametrize(("name", "local", "mixer"), NAMES)
def test_networks_saved_before_use_what_they_used(name: str, local: str, mixer: str, tmp_path: Path) -> None:
    network = build(config(name, local, mixer, edges="partly"), rich())
    old = {key: value for key, value in network.config.items() if key != "edge_data"}
    again = Network(**Network.upgraded(old, 4))
    again.load_state_dict(network.state_dict())
    uses = [WEIGHT] * (name == "geco") + [FEATURES] * (local in ("gatedgcn", "gine"))
    for field in (WEIGHT, FEATURES):
        assert listens(again, rich(), field) == (field in uses)
    assert unused_fields(again, rich()) == [field for field in (WEIGHT, FEATURES) if field not in uses]


def test_runs_begun_before_go_on_as_they_were(tmp_path: Path) -> None:
    begun = replace(config("gcn", edges="partly"), train=TrainConfig(epochs=2, save_every=1))
    Trainer(begun, rich(), tmp_path / "run").fit()
    file = tmp_path / "run" / "config.toml"
    file.write_text(file.read_text().replace('edges = "partly"\n', ""))
    again = replace(begun, train=TrainConfig(epochs=3, save_every=1))
    assert Trainer(again, rich(), tmp_path / "run", resume=True).fit()["unused"] == [WEIGHT, FEATURES]


@pytest.mark.parametrize("loops", [False, True])
def test_a_weighted_gcn_is_that_of_pyg(loops: bool) -> None:
    edges = random_edges(30).unique(dim=1)  # with loops; PyG takes one of several, we their mean
    edges = edges if loops else edges[:, edges[0] != edges[1]]
    x, weight = torch.randn(30, 5, dtype=torch.float64), torch.rand(edges.shape[1], dtype=torch.float64) + 0.1
    conv = SparseGCNConv(5, 8).double()
    weight.requires_grad_()
    found, wanted = conv(x, edges, weight), GCNConv.forward(conv, x, edges, weight)
    assert relative_error(found, wanted) < 1e-12
    ours, theirs = (torch.autograd.grad(out.square().sum(), weight)[0] for out in (found, wanted))
    assert relative_error(ours, theirs) < 1e-12
    ones = torch.ones(edges.shape[1], dtype=torch.float64)
    assert relative_error(conv(x, edges, ones), conv(x, edges)) < 1e-12


def test_a_gcn_refuses_weights_it_has_no_root_of() -> None:
    with pytest.raises(
        ValueError, match=r"edge weights into node 1 and its self loop add up to -1; .*make weights pos"
    ):
        SparseGCNConv(2, 2)(torch.ones(3, 2), torch.tensor([[0], [1]]), torch.tensor([-2.0]))


def test_gat_with_features_is_that_of_pyg() -> None:
    edges, x = random_edges(30), torch.randn(30, 5)
    conv, features = SparseGATConv(5, 4, heads=2, edge_dim=3), torch.randn(edges.shape[1], 3)
    assert torch.equal(conv(x, edges, features), GATConv.forward(conv, x, edges, features))
