from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from geco.nn.gps.local import LOCALS, GatedGCN, LocalConv, degree_histogram, make_local
from geco.nn.resolve import call
from tests.conftest import random_edges, relative_error
from tests.nn.contract import assert_contract, joined, toy

D = 8
MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "gatedgcn": ("gatedgcn", {}),
    "gine": ("gine", {}),
    "gcn": ("gcn", {}),
    "gat": ("gat", {}),
    "gat-edges": ("gat", {"edge_dim": D}),
    "pna": ("pna", {"degrees": [1, 2, 5, 3]}),
    "pna-edges": ("pna", {"degrees": torch.tensor([1, 2, 5, 3]), "edge_dim": D}),
}
WITH_EDGES = ("gatedgcn", "gine", "gat-edges", "pna-edges")


def layer(name: str) -> nn.Module:
    kind, options = MADE[name]
    made = make_local(kind, D, heads=2, **options)
    assert made is not None
    return made


def run(name: str, module: nn.Module, x: Tensor, edges: Tensor, attr: Tensor) -> Tensor:
    return call(module, x, edge_index=edges, edge_attr=attr if name in WITH_EDGES else None)


@pytest.mark.parametrize("name", MADE)
def test_batch_contract(name: str) -> None:
    module = layer(name).eval()
    assert_contract(lambda x, e, _b, a: run(name, module, x, e, a), D)


@pytest.mark.parametrize("name", MADE)
def test_gradients_reach_every_parameter(name: str) -> None:
    module = layer(name)
    x, edges, _, attr = joined([toy(n, D) for n in (1, 5, 97, 40)])
    x.requires_grad_()
    if isinstance(module, GatedGCN):
        h, new = module.with_edges(x, edges, attr)
        (h.square().sum() + new.square().sum()).backward()
    else:
        run(name, module, x, edges, attr).square().sum().backward()
    for key, p in module.named_parameters():
        assert p.grad is not None, key
        assert float(p.grad.abs().max()) > 0, key
    assert x.grad is not None
    assert bool(torch.isfinite(x.grad).all())


@pytest.mark.parametrize("name", MADE)
def test_state_and_reset(name: str) -> None:
    one, two, g = layer(name).eval(), layer(name).eval(), toy(12, D)
    two.load_state_dict(one.state_dict())
    assert torch.equal(run(name, one, g.x, g.edges, g.attr), run(name, two, g.x, g.edges, g.attr))
    outputs = []
    for _ in range(2):
        torch.manual_seed(5)
        two.reset_parameters()  # type: ignore[operator]
        outputs.append(run(name, two, g.x, g.edges, g.attr))
    assert torch.equal(*outputs)
    assert not torch.allclose(outputs[0], run(name, one, g.x, g.edges, g.attr))


def gated_twin(module: GatedGCN, x: Tensor, edges: Tensor, attr: Tensor | None) -> tuple[Tensor, Tensor]:
    """Edge by edge, with the sums as dense matrices over (target, edge)."""
    source, target = edges
    gate = module.to_gate(x)[target] + module.of_gate(x)[source]
    gate = gate if attr is None else gate + module.edge(attr)
    incidence = (torch.arange(len(x)).unsqueeze(1) == target).to(x.dtype)  # (N, M)
    open_ = torch.sigmoid(gate)
    mean = incidence @ (open_ * module.value(x)[source]) / (incidence @ open_ + 1e-6)
    h = x + torch.relu(module.node_norm(module.own(x) + mean))
    new = torch.relu(module.edge_norm(gate))
    return h, new if attr is None else attr + new


@pytest.mark.parametrize("kind", ["random", "by target", "by source"])
@pytest.mark.parametrize("given_edges", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_gated_equals_its_twin(kind: str, given_edges: bool, training: bool) -> None:
    module = GatedGCN(D).double().train(training)
    edges = random_edges(40)[:, :130]
    edges = edges[:, (edges[1] != 3) & (edges[0] != 39)]  # a node without sources, one without targets
    if kind.startswith("by"):
        edges = edges[:, torch.argsort(edges[1 if kind == "by target" else 0], stable=True)]
    x = torch.randn(40, D, dtype=torch.float64)
    attr = torch.randn(edges.shape[1], D, dtype=torch.float64) if given_edges else None
    results = []
    for use in (module.with_edges, lambda *args: gated_twin(module, *args)):
        module.zero_grad()
        leaf, edge_leaf = x.clone().requires_grad_(), None if attr is None else attr.clone().requires_grad_()
        h, new = use(leaf, edges, edge_leaf)  # type: ignore[arg-type, operator]
        (h.sin().sum() + new.cos().sum()).backward()
        edge_grad = [] if edge_leaf is None else [edge_leaf.grad]
        results.append([h, new, leaf.grad, *edge_grad, *(p.grad for p in module.parameters())])
    for found, wanted in zip(*results, strict=True):
        assert (found is None) == (wanted is None)
        assert found is None or relative_error(found, wanted) < 1e-10 or float((found - wanted).abs().max()) < 1e-12


@given(st.integers(1, 30), st.integers(0, 90))
def test_gated_equals_its_twin_on_any_graph(nodes: int, edges: int) -> None:
    torch.manual_seed(0)
    module = GatedGCN(D).double().eval()
    index = random_edges(nodes, degree=3, seed=edges)[:, :edges]
    x, attr = (torch.randn(n, D, dtype=torch.float64) for n in (nodes, index.shape[1]))
    for found, wanted in zip(module.with_edges(x, index, attr), gated_twin(module, x, index, attr), strict=True):
        assert relative_error(found, wanted) < 1e-10


def test_forward_and_with_edges_agree() -> None:
    module, g = GatedGCN(D).eval(), toy(30, D)
    assert torch.equal(module(g.x, g.edges, g.attr), module.with_edges(g.x, g.edges, g.attr)[0])


def test_gated_dropout_and_activation() -> None:
    module, g = GatedGCN(D, dropout=0.5, act="gelu"), toy(30, D)
    assert not torch.equal(module(g.x, g.edges, g.attr), module(g.x, g.edges, g.attr))
    assert isinstance(module.act, nn.GELU)


def test_gated_refuses_second_derivatives() -> None:
    module, g = GatedGCN(D), toy(30, D)
    with pytest.raises(RuntimeError, match="once"):
        torch.autograd.grad(module(g.x.requires_grad_(), g.edges, g.attr).sum(), g.x, create_graph=True)


def test_changed_edges_are_noticed() -> None:
    module, g = GatedGCN(D).eval(), toy(30, D)
    edges = g.edges.clone()
    before = module(g.x, edges, g.attr)
    edges[:] = edges.flip(0)
    assert torch.equal(module(g.x, edges, g.attr), module(g.x, g.edges.flip(0), g.attr))
    assert not torch.allclose(module(g.x, edges, g.attr), before)


def test_gcn_leaves_edge_features_out() -> None:
    module, g = layer("gcn"), toy(30, D)
    assert torch.equal(module(g.x, g.edges, g.attr), module(g.x, g.edges))


def test_degree_histogram() -> None:
    edges = torch.tensor([[0, 1, 2, 3, 4], [1, 1, 1, 0, 0]])
    assert degree_histogram(edges, 6).tolist() == [4, 0, 1, 1]
    scale = layer("pna").conv.aggr_module.avg_deg_log  # type: ignore[union-attr]
    counts = torch.tensor([1.0, 2.0, 5.0, 3.0])
    assert torch.allclose(scale, (counts * torch.arange(1.0, 5.0).log()).sum() / counts.sum())


def test_names() -> None:
    assert make_local("none", D) is None
    assert {kind for kind, _ in MADE.values()} | {"none"} == set(LOCALS)


G = toy(5, D)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_local("gatedgnn", D), "did you mean 'gatedgcn'"),
        (lambda: make_local("gat", D, heads=3), "multiple of the heads, got 8 and 3"),
        (lambda: make_local("pna", D), "give degrees"),
        (lambda: make_local("pna", D, degrees=[3]), "at least one node must have an edge"),
        (lambda: make_local("gatedgcn", D, edge_dim=3), "both are 8 wide, got edge_dim=3"),
        (lambda: make_local("gcn", 0), "at least 1"),
        (lambda: layer("gine")(G.x, G.edges), r"GINEConv needs edge features: give edge_attr of shape \(M, 8\)"),
        (lambda: layer("gat")(G.x, G.edges, G.attr), "made without edge features: make it with edge_dim=8"),
        (lambda: layer("gatedgcn")(G.x, G.edges, G.attr[:-1]), r"edge_attr must be a float tensor of shape \(15, 8\)"),
        (lambda: layer("gine")(G.x, G.edges, G.attr.long()), "encode edge features first"),
        (lambda: layer("gatedgcn")(G.x[:, :3], G.edges, G.attr), "x has 3 channels"),
        (lambda: layer("gcn")(G.x[:4], torch.tensor([[4], [0]])), "x has 4 nodes"),
        (lambda: layer("gcn")(G.x, G.edges.t()), "transpose it"),
        (lambda: layer("gatedgcn")(G.x, torch.eye(5).to_sparse(), None), r"\(2, M\) tensor"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_repr() -> None:
    assert "SparseGCNConv(8, 8)" in str(layer("gcn"))
    assert isinstance(layer("gcn"), LocalConv)
