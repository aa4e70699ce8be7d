"""Attention that is told of the graph: against its dense twin, in batches, in pieces; what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from geco.nn import GPSLayer, reference
from geco.nn.gps import attention
from geco.nn.gps.ablation import Cascade
from geco.nn.gps.attention import SelfAttention
from geco.nn.gps.attention_bias import HopMask, make_bias
from geco.nn.gps.mixers import make_mixer
from geco.nn.gps.stack import HybridStack
from geco.nn.graph import node_pairs
from geco.nn.graph.prepare import prepare
from tests.conftest import assert_as_good_as, relative_error
from tests.nn.contract import Toy, assert_contract, joined, toy

D = 8
KINDS: dict[str, dict[str, Any]] = {
    "none": {},
    "spb": {"bias": "spb"},
    "spb-1": {"bias": "spb", "bias_kwargs": {"reach": 1}},
    "pma": {"bias": "pma"},
    "pma-1": {"bias": "pma", "bias_kwargs": {"powers": 1}},
    "mask-1": {"bias": "mask-1"},
    "mask-n": {"bias": "mask-n"},
    "mask-3": {"bias": "mask-n", "bias_kwargs": {"hops": 3}},
    "mask-0": {"bias": "mask-n", "bias_kwargs": {"hops": 0}},
}
TOLD_STACK: dict[str, Any] = {"norm": "layer", "mixer_kwargs": {"bias": "spb"}}
TOLD = [kind for kind in KINDS if kind != "none"]


def layer(kind: str, heads: int = 2, **options: Any) -> SelfAttention:
    """A layer whose weights of pairs are drawn: they begin at zero."""
    made = SelfAttention(D, heads, **KINDS[kind], **options)
    for weight in made.bias.parameters() if made.bias is not None else []:
        torch.nn.init.normal_(weight)
    return made


def path(nodes: int) -> Tensor:
    return torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])


GRAPHS: dict[str, tuple[Toy, ...]] = {
    "one node": (toy(1, D),),
    "two": (toy(2, D),),
    "two, not joined": (Toy(torch.randn(2, D), path(1), torch.zeros(0, D)),),
    "three": (toy(3, D),),
    "a path of 30": (Toy(torch.randn(30, D), path(30), torch.zeros(29, D)),),
    "loops and edges given twice": (Toy(torch.randn(4, D), torch.tensor([[0, 0, 0, 1, 2], [0, 1, 1, 0, 3]]), path(5)),),
    "37, in parts": (toy(37, D),),
    "no edges": (toy(40, D),),
    "a batch": tuple(toy(n, D, i) for i, n in enumerate((1, 5, 6, 3, 31, 30, 2, 40, 64))),
}


def run(module: torch.nn.Module, x: Tensor, edges: Tensor, batch: Tensor | None) -> Tensor:
    out: Tensor = module(x, batch, edge_index=edges)
    return out


@pytest.mark.parametrize("graphs", GRAPHS)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_its_dense_twin_in_values_and_gradients(kind: str, graphs: str) -> None:
    module, toys = layer(kind).double(), GRAPHS[graphs]
    x, edges, batch, _ = joined(toys)
    sizes = [len(t.x) for t in toys]

    def twin(h: Tensor) -> Tensor:
        parts = zip(h.split(sizes), toys, strict=True)
        return torch.cat([reference.attention(module, part, t.edges) for part, t in parts])

    results = []
    for use in (lambda h: run(module, h, edges, batch), twin):
        module.zero_grad()
        leaf = x.double().requires_grad_()
        y = use(leaf)
        y.sin().sum().backward()
        results.append([y.detach(), leaf.grad, *(p.grad for p in module.parameters())])
    for found, wanted in zip(*results, strict=True):
        if wanted is None or float(wanted.abs().max()) < 1e-12:  # of one node, whose score is that of all it sees
            assert found is None or float(found.abs().max()) < 1e-12
        else:
            assert relative_error(found, wanted) < 1e-9


@pytest.mark.parametrize("kind", TOLD)
def test_single_precision_is_as_good_as_the_twins(kind: str) -> None:
    module, g = layer(kind), toy(97, D)
    found, naive = run(module, g.x, g.edges, None), reference.attention(module, g.x, g.edges)
    assert_as_good_as(found, naive, reference.attention(module.double(), g.x.double(), g.edges), floor=1e-6)


@pytest.mark.parametrize("kind", TOLD)
def test_batch_contract(kind: str) -> None:
    module = layer(kind).eval()
    assert_contract(lambda x, e, b, _: run(module, x, e, b), D)


@pytest.mark.parametrize("kind", TOLD)
def test_a_node_order_changes_nothing(kind: str) -> None:
    module, g = layer(kind).eval(), toy(30, D)
    ordered = module(g.x, graph=prepare(g.x, g.edges, None, None, torch.randperm(30), None))
    assert relative_error(ordered, run(module, g.x, g.edges, None)) < 1e-5


@pytest.mark.parametrize("kind", TOLD)
def test_rows_in_pieces_give_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, (x, edges, batch, _) = layer(kind).double(), joined([toy(n, D, n) for n in (30, 31, 64)])
    results = []
    for chunk in (attention.CHUNK, 2 * 2 * 31 * 7):
        monkeypatch.setattr(attention, "CHUNK", chunk)
        module.zero_grad()
        leaf = x.double().requires_grad_()
        y = run(module, leaf, edges, batch)
        y.sin().sum().backward()
        results.append([y.detach(), leaf.grad, *(p.grad for p in module.parameters())])
    for found, wanted in zip(*results, strict=True):
        assert relative_error(found, wanted) < 1e-12


def test_what_begins_at_zero_is_plain_attention() -> None:
    g = toy(30, D)
    plain = SelfAttention(D, 2).eval()
    for kind in ("spb", "pma"):
        told = SelfAttention(D, 2, **KINDS[kind]).eval()
        told.load_state_dict(plain.state_dict(), strict=False)
        assert relative_error(run(told, g.x, g.edges, None), plain(g.x)) < 1e-6
        told.bias.weight.data.fill_(1.0)  # type: ignore[union-attr]
        told.reset_parameters()
        assert not told.bias.weight.any()  # type: ignore[union-attr]


@pytest.mark.parametrize(("kind", "seen"), [("mask-0", 1), ("mask-1", 3), ("mask-n", 5), ("mask-3", 7), ("spb", 30)])
def test_who_hears_a_node_in_the_middle_of_a_path(kind: str, seen: int) -> None:
    module, x = layer(kind).eval(), torch.randn(30, D)
    moved = x.clone()
    moved[15] += 1
    changed = (run(module, moved, path(30), None) - run(module, x, path(30), None)).abs().amax(1) > 0
    wanted = range(30) if seen == 30 else range(15 - seen // 2, 16 + seen // 2)
    assert changed.nonzero().flatten().tolist() == list(wanted)


def test_pairs_are_worked_out_once_for_all_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    before = node_pairs._hops
    monkeypatch.setattr(node_pairs, "_hops", lambda *given: calls.append(1) or before(*given))
    g, layers = toy(30, D), [layer("spb"), layer("spb")]
    for _ in range(3):
        for module in layers:
            run(module, g.x, g.edges, None)
    assert len(calls) == 1
    g.edges[1, 0] = (g.edges[1, 0] + 1) % 30
    run(layers[0], g.x, g.edges, None)
    assert len(calls) == 2


@pytest.mark.parametrize("permutation", ["natural", "static", "dynamic", "structure"])
@pytest.mark.parametrize("sizes", [(30,), (5, 30, 5)])
def test_pairs_are_worked_out_once_whatever_the_order(
    sizes: tuple[int, ...], permutation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    before = node_pairs._hops
    monkeypatch.setattr(node_pairs, "_hops", lambda *given: calls.append(1) or before(*given))
    x, edges, batch, _ = joined([toy(n, D, i) for i, n in enumerate(sizes)])
    stack = HybridStack(D, D, 3, 0.0, local="none", mixer="attention", heads=2, permutation=permutation, **TOLD_STACK)
    first = stack(x, edges, batch)
    for epoch in (1, 2):
        stack.set_epoch(epoch)
        again = stack(x, edges, batch)
    assert relative_error(again, first) < 1e-5
    assert len(calls) == len(set(sizes))  # one for each block


def test_nodes_of_several_graphs_in_any_order() -> None:
    """Nodes that are mingled keep the order of their rings, and see the same."""
    module, (x, edges, batch, _) = layer("spb").eval(), joined([toy(n, D, n) for n in (5, 30, 5)])
    mingled = torch.randperm(len(x))
    found = run(module, x[mingled], torch.argsort(mingled)[edges], batch[mingled])
    assert relative_error(found, run(module, x, edges, batch)[mingled]) < 1e-5


def test_dropout_and_half_precision() -> None:
    g = toy(30, D)
    for kind in TOLD:
        module = layer(kind, dropout=0.5)
        assert not torch.equal(run(module, g.x, g.edges, None), run(module, g.x, g.edges, None))
        exact = run(module.eval(), g.x, g.edges, None)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert relative_error(run(module, g.x, g.edges, None), exact) < 0.05


def test_in_a_layer_beside_a_gnn_and_in_a_cascade() -> None:
    x, edges, batch, _ = joined([toy(n, D, n) for n in (5, 30)])
    options = {"bias": "mask-n", "bias_kwargs": {"hops": 2}}
    for module in (
        GPSLayer(D, "gcn", "attention", heads=2, mixer_kwargs=options).eval(),
        Cascade(D, "gcn", "attention", heads=2, context_kwargs=options).eval(),
    ):
        given, less = module(x, edges, batch), module(x, edges[:, 1:], batch)
        assert given.shape == x.shape
        assert not torch.equal(given, less)


def test_what_it_says() -> None:
    told = str(make_mixer("attention", D, bias="spb"))
    assert "ShortestPath(heads=4, reach=20)" in told
    assert "HopMask(hops=1 to 4)" in str(SelfAttention(D, bias="mask-n"))
    assert "Proximity(heads=4, powers=3)" in str(SelfAttention(D, bias="pma"))
    assert make_bias("none", 4) is None


G = toy(5, D)
TWO = torch.tensor([0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_mixer("attention", D, bias="spbb"), "bias 'spbb' is not known, did you mean 'spb'"),
        (lambda: make_bias("spb", 2, {"hops": 2}), "'spb' has no option 'hops'; it has reach"),
        (lambda: make_mixer("attention", D, bias="mask-1", bias_kwargs={"hops": 2}), "bias='mask-n' takes hops"),
        (lambda: make_bias("spb", 2, {"reach": 254}), "reach must be 0 to 253, got 254"),
        (lambda: make_bias("pma", 2, {"powers": 0}), "powers must be at least 1, got 0"),
        (lambda: make_bias("mask-n", 2, {"hops": -1}), "go up to 254, got -1"),
        (lambda: HopMask(0), "at least one head, got 0"),
        (lambda: layer("spb")(G.x), "edge_index is missing"),
        (lambda: run(layer("spb"), G.x[:, :3], G.edges, None), "x has 3 channels, the layer was made for 8"),
        (lambda: run(layer("pma"), G.x, G.edges + 3, None), "but x has 5 nodes"),
        (lambda: run(layer("mask-1"), G.x, torch.tensor([[0, 1], [1, 4]]), TWO), "edge 1 joins nodes of two graphs"),
        (lambda: layer("spb")(G.x, graph=prepare(G.x[:3], torch.zeros(2, 0).long())), "layer and graph were made for"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_graph_too_large_for_all_pairs_is_refused_before_any_work() -> None:
    nodes = node_pairs.MOST + 1
    with pytest.raises(ValueError, match=r"N x N numbers, for graphs of up to 16,384 nodes; one has 16,385\."):
        run(layer("spb"), torch.zeros(nodes, D), path(2), None)


def test_it_is_not_exported() -> None:
    with pytest.raises(ValueError, match="cannot be exported"):
        torch.export.export(layer("spb").eval(), (G.x,), {"edge_index": G.edges})


def test_a_sparse_adjacency_tells_the_same() -> None:
    module, g = layer("spb").eval(), toy(30, D)
    sparse = torch.sparse_coo_tensor(g.edges.flip(0), torch.ones(g.edges.shape[1]), (30, 30))
    assert relative_error(run(module, g.x, sparse, None), run(module, g.x, g.edges, None)) < 1e-6
