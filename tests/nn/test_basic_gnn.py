"""GECO called as PyG's BasicGNN is: the grid of its own tests, and what its forward takes."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.nn import BatchNorm, GraphNorm, InstanceNorm, LayerNorm
from torch_geometric.nn.models import GCN

from geco import GECO
from geco.nn import GECOConv, GECOLayer, GPSLayer
from tests.conftest import random_edges, relative_error

ACTS = [None, "relu", torch.relu_, F.elu, nn.LeakyReLU()]
NORMS = [None, "batch_norm", "layer_norm", BatchNorm(16), GraphNorm(16), InstanceNorm(16), LayerNorm(16)]
JKS = [None, "last", "cat", "max", "lstm"]


def named(given: Any) -> str:
    """Return a name without an address, the same in every process."""
    return str(given) if isinstance(given, str | None) else getattr(given, "__name__", type(given).__name__)


X, EDGES = torch.randn(3, 8), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


@pytest.mark.parametrize("act", ACTS, ids=named)
@pytest.mark.parametrize("norm", NORMS, ids=named)
def test_the_grid(act: Any, norm: Any) -> None:
    """As PyG's test_basic_gnn.py has it, with more norms: 700 cases."""
    for out, dropout, jk in product([None, 8], [0.0, 0.5], JKS):
        model = GECO(8, 16, num_layers=3, out_channels=out, dropout=dropout, act=act, norm=norm, jk=jk)
        shown = "" if out is None else ", out_channels=8"
        assert str(model) == f"GECO(8, 16, num_layers=3{shown}, order=2, permutation=natural)"
        assert model(X, EDGES).shape == (3, 16 if out is None else 8)


@pytest.mark.parametrize("out", [None, 8])
@pytest.mark.parametrize("jk", JKS)
def test_one_layer(out: int | None, jk: str | None) -> None:
    model = GECO(8, 16, num_layers=1, out_channels=out, jk=jk)
    assert model(X, EDGES).shape == (3, out or 16)
    assert (model.in_channels, model.hidden_channels, model.out_channels) == (8, 16, out or 16)


@pytest.mark.parametrize("jk", JKS)
def test_a_linear_map_after_jk_as_in_pyg(jk: str | None) -> None:
    ours, theirs = GECO(8, 16, 3, jk=jk), GCN(8, 16, 3, jk=jk)
    assert (ours.head is None) == (not hasattr(theirs, "lin"))
    if ours.head is not None:
        assert ours.head.weight.shape == theirs.lin.weight.shape


def test_a_module_is_copied_per_norm_and_shared_as_act() -> None:
    norm, act = GraphNorm(16), nn.PReLU()
    model = GECO(8, 16, 2, norm=norm, act=act)
    norms = [module for module in model.modules() if isinstance(module, GraphNorm)]
    assert len({id(module) for module in [norm, *norms]}) == 5
    assert [module for module in model.modules() if isinstance(module, nn.PReLU)] == [act]
    model(X, EDGES).sum().backward()
    assert act.weight.grad is not None
    assert all(module.weight.grad is not None for module in norms)


def test_options_of_act_and_norm(tmp_path: Path) -> None:
    assert GECO(8, 16, 1, act=nn.ELU, norm=BatchNorm)(X, EDGES).shape == (3, 16)
    model = GECO(8, 16, 1, act="leaky_relu", act_kwargs={"negative_slope": 0.3}, norm="graph_norm",
                 norm_kwargs={"eps": 0.1}).eval()  # fmt: skip
    assert "negative_slope=0.3" in str(list(model.modules()))
    assert model.layers[0].norm1.eps == 0.1
    model.save_pretrained(tmp_path)
    assert torch.equal(GECO.from_pretrained(tmp_path)(X, EDGES), model(X, EDGES))
    assert GECO(8, 16, 1, act_first=False)(X, EDGES).shape == (3, 16)
    with pytest.raises(ValueError, match="act_first has no meaning"):
        GECO(8, 16, 1, act_first=True)


@pytest.mark.parametrize("norm", ["graph_norm", "instance_norm", LayerNorm(8, mode="graph"), "layer_norm"])
@pytest.mark.parametrize("permutation", ["natural", "dynamic"])
def test_norms_keep_the_graphs_of_a_batch_apart(norm: Any, permutation: Any) -> None:
    model = GECO(5, 8, 2, 3, norm=norm, permutation=permutation, eval_orders=2).eval()
    graphs = [(torch.randn(n, 5), random_edges(n, seed=n)) for n in (4, 20, 7)]
    x = torch.cat([g[0] for g in graphs])
    edges = torch.cat([g[1] + start for g, start in zip(graphs, (0, 4, 24), strict=True)], 1)
    batch = torch.tensor([0] * 4 + [1] * 20 + [3] * 7)  # graph 2 is empty
    mixed = batch[torch.randperm(31)]  # nodes of all graphs among each other
    where = torch.argsort(mixed, stable=True)
    found = model(torch.empty_like(x).index_copy(0, where, x), where[edges], mixed, batch_size=4)
    for number, (alone, own) in zip((0, 1, 3), graphs, strict=True):
        wanted = model(alone, own)
        assert relative_error(model(x, edges, batch)[batch == number], wanted) < 1e-5
        assert relative_error(found[mixed == number], wanted) < 1e-5
    assert model.supports_norm_batch is (norm != "layer_norm")


@pytest.mark.parametrize("make", [GECOLayer, GPSLayer])
@pytest.mark.parametrize("norm", ["graph_norm", GraphNorm(8), GraphNorm])
def test_norms_of_layers(make: Any, norm: Any) -> None:
    layer, batch = make(8, norm=norm, act=None).eval(), torch.tensor([0, 0, 0, 1, 1, 1], dtype=torch.int32)
    x, edges = torch.randn(6, 8), torch.tensor([[0, 1, 3], [1, 2, 5]])
    both = layer(x, edges, batch)
    assert torch.allclose(both[:3], layer(x[:3], edges[:, :2]), atol=1e-5)
    layer.reset_parameters()


@pytest.mark.parametrize("local", ["gatedgcn", "gine", "pna"])
@pytest.mark.parametrize("act", [*ACTS, nn.ELU], ids=named)
def test_acts_of_local_layers(local: str, act: Any) -> None:
    degrees = {"degrees": [1, 1, 1]} if local == "pna" else {}
    layer = GPSLayer(8, local=local, act=act, local_kwargs=degrees)
    edge_attr = torch.randn(4, 8) if local != "pna" else None
    assert layer(torch.randn(3, 8), EDGES, edge_attr=edge_attr).shape == (3, 8)


def test_norms_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="Could not resolve 'nonsense'"):
        GECO(8, 16, 1, norm="nonsense")
    with pytest.raises(ValueError, match="norm must be a name, a class, a module or None, got 3"):
        GECO(8, 16, 1, norm=3)  # type: ignore[arg-type]


def test_what_forward_takes() -> None:
    model, weight = GECO(8, 16, 1).eval(), torch.rand(4)
    assert model.supports_edge_weight
    assert not model.supports_edge_attr
    assert not hasattr(model, "inference")
    wanted = model(X, EDGES, edge_weight=weight)
    found = model(X, EDGES, edge_weight=weight, edge_attr=None, batch=torch.zeros(3, dtype=torch.long), batch_size=1,
                  num_sampled_nodes_per_hop=None, num_sampled_edges_per_hop=None)  # fmt: skip
    assert torch.allclose(found, wanted, atol=1e-6)
    for name, given, word in [
        ("edge_attr", torch.rand(4, 2), "as edge_weight, or use a hybrid"),
        ("num_sampled_nodes_per_hop", [3], "mixes all nodes"),
        ("num_sampled_edges_per_hop", [4], "mixes all nodes"),
    ]:
        with pytest.raises(ValueError, match=word):
            model(X, EDGES, **{name: given})
    with pytest.raises(ValueError, match="weights of edges go in as edge_weight="):
        model(X, EDGES, weight)  # PyG's place for weights is ours for the batch


@pytest.mark.parametrize("pair", [(64, 64), (64, 128), (16, 32), (8, 8), (-1, 64)])
def test_pygs_two_widths_are_refused(pair: tuple[int, int]) -> None:
    for make in (GECOConv, GECOLayer) if pair[0] > 0 else (GECOConv,):
        with pytest.raises(ValueError, match=rf"{make.__name__}\({pair[0]}\)$"):
            make(*pair)
    if pair[0] > 0:
        with pytest.raises(ValueError, match=rf"GPSLayer\({pair[0]}\)$"):
            GPSLayer(*pair)  # type: ignore[arg-type]
