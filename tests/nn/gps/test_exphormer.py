"""Exphormer against its dense twin, with and without edge features; explainers, dropout, wrong input."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from geco.nn import GPSLayer, reference
from geco.nn.gps.exphormer import Exphormer
from geco.nn.graph.expander import expander
from tests.conftest import assert_as_good_as, relative_error
from tests.nn.contract import Toy, toy

D = 8
KINDS: dict[str, dict[str, Any]] = {
    "as published": {},
    "no random graph": {"expander_degree": 0},
    "no virtual nodes": {"virtual_nodes": 0},
    "own edges only": {"expander_degree": 0, "virtual_nodes": 0},
    "more of all": {"expander_degree": 7, "virtual_nodes": 3, "seed": 2},
}


def layer(kind: str = "as published", heads: int = 2, **options: Any) -> Exphormer:
    return Exphormer(D, heads, **KINDS[kind], **options)


def random_graph(module: Exphormer, n: int) -> Tensor:
    if not module.expander_degree:
        return torch.zeros(2, 0, dtype=torch.long)
    found = expander((n,), module.expander_degree, module.seed, torch.device("cpu"))
    return torch.stack([found.source, found.target])


def twin(module: Exphormer, x: Tensor, edges: Tensor, attr: Tensor | None) -> Tensor:
    return reference.exphormer(module, x, edges, random_graph(module, len(x)), attr)


@pytest.mark.parametrize("featured", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 37, 64, 97, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_its_dense_twin_in_values_and_gradients(kind: str, n: int, featured: bool) -> None:
    module, g = layer(kind).double(), toy(n, D)
    results = []
    for use in (module, lambda x, e, _batch, a: twin(module, x, e, a)):
        module.zero_grad()
        x, attr = g.x.double().requires_grad_(), g.attr.double().requires_grad_() if featured else None
        y = use(x, g.edges, None, attr)
        y.sin().sum().backward()
        results.append(
            [y.detach(), x.grad, None if attr is None else attr.grad, *(p.grad for p in module.parameters())]
        )
    for found, wanted in zip(*results, strict=True):
        if wanted is None or float(wanted.norm()) < 1e-12:  # what nobody reads: one node's score has no part in its sum
            assert found is None or float(found.norm()) < 1e-12
        else:
            assert relative_error(found, wanted) < 1e-9


@pytest.mark.parametrize("n", [2, 3, 97, 128])
@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_is_as_good_as_the_twins(kind: str, n: int) -> None:
    module, g = layer(kind), toy(n, D)
    found, naive = module(g.x, g.edges, None, g.attr), twin(module, g.x, g.edges, g.attr)
    exact = twin(module.double(), g.x.double(), g.edges, g.attr.double())
    assert_as_good_as(found, naive, exact, kind)


def test_scores_are_clamped_as_published() -> None:
    module, g = layer().double(), toy(30, D)
    with torch.no_grad():
        module.kinds.mul_(1000)
    y = module(g.x.double(), g.edges)
    assert relative_error(y, twin(module, g.x.double(), g.edges, None)) < 1e-9
    assert bool(y.isfinite().all())


def test_a_node_without_any_edge_has_zeros() -> None:
    module = layer("own edges only")
    y = module(torch.randn(3, D), torch.tensor([[0], [1]]))
    assert (y == 0).all(1).tolist() == [True, False, True]


def test_far_nodes_are_heard_by_the_random_graph_and_by_virtual_nodes() -> None:
    x, edges = torch.randn(200, D), torch.stack([torch.arange(199), torch.arange(1, 200)])  # a path
    for kind, heard in (("own edges only", 2), ("no virtual nodes", 12), ("no random graph", 200)):
        module = layer(kind).eval()
        moved = x.clone()
        moved[100] += 1
        changed = int(((module(moved, edges) - module(x, edges)).abs().max(1)[0] > 0).sum())
        assert heard - 2 <= changed <= heard, (kind, changed)


def test_the_random_graph_follows_the_node_order() -> None:
    module, g, order = layer("no virtual nodes").eval(), toy(60, D), torch.randperm(60)
    found = module(g.x, g.edges, permutation=order)
    pairs = order[random_graph(module, 60)]
    assert relative_error(found, reference.exphormer(module, g.x, g.edges, pairs)) < 1e-5
    assert not torch.allclose(found, module(g.x, g.edges), atol=1e-3)


def test_dropout_of_the_weights() -> None:
    module, g = layer(dropout=0.5), toy(30, D)
    assert not torch.equal(module(g.x, g.edges), module(g.x, g.edges))
    module.eval()
    assert torch.equal(module(g.x, g.edges), module(g.x, g.edges))


def test_edges_are_weighed_under_explainers() -> None:
    """Masks of ones change nothing; without an edge's message, its target alone is another."""
    module, g = layer().eval(), toy(30, D)
    plain = module(g.x, g.edges)
    mask = torch.ones(g.edges.shape[1])
    module.masked.explain, module.masked._edge_mask, module.masked._apply_sigmoid = True, mask, False
    module.masked._loop_mask = torch.ones_like(mask, dtype=torch.bool)
    assert relative_error(module(g.x, g.edges), plain) < 1e-6
    mask[7] = 0
    changed = (module(g.x, g.edges) - plain).abs().max(1)[0] > 1e-6
    assert changed.nonzero().flatten().tolist() == [int(g.edges[1, 7])]


def test_edge_features_of_another_width_beside_a_local_gnn() -> None:
    edge_dim = {"edge_dim": 3}
    module = GPSLayer(D, "gine", "exphormer", heads=2, local_kwargs=edge_dim, mixer_kwargs=edge_dim)
    g = toy(30, D)
    assert module.edge_fields == ("edge_attr",)
    assert module(g.x, g.edges, None, g.attr[:, :3]).shape == (30, D)


def test_repr() -> None:
    assert "8, heads=2, expander_degree=5, virtual_nodes=1" in str(layer())


G: Toy = toy(5, D)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Exphormer(D, 3), "multiple of the heads, got 8 and 3"),
        (lambda: Exphormer(D, 2, dropout=1.0), "dropout must be at least 0 and below 1, got 1"),
        (lambda: Exphormer(D, 2, expander_degree=-1), "at least 0 and edge_dim 1, got -1, 1 and None"),
        (lambda: Exphormer(D, 2, virtual_nodes=-1), "got 5, -1 and None"),
        (lambda: Exphormer(D, 2, edge_dim=0), "got 5, 1 and 0"),
        (lambda: layer()(G.x), "edge_index is missing"),
        (lambda: layer()(G.x[:, :3], G.edges), "x has 3 channels, the layer was made for 8"),
        (lambda: layer()(G.x, G.edges + 3), "but x has 5 nodes"),
        (lambda: layer()(G.x, G.edges.float()), "must be an integer tensor"),
        (lambda: layer()(G.x, torch.eye(5).to_sparse()), "take edge_index as a"),
        (lambda: layer()(G.x, G.edges, None, G.attr[:, :3]), r"edge_attr must be a float tensor of shape \(15, 8\)"),
        (lambda: layer()(G.x, G.edges, torch.zeros(4, dtype=torch.long)), "batch must be"),
        (lambda: layer()(torch.full((5, D), torch.nan), G.edges), "NaN"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
