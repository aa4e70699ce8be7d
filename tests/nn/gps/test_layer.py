from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GPSConv

from geco.nn import GECOConv, GECOLayer, GPSLayer, functional
from geco.nn.filters import FilterName
from geco.nn.gps.ablation import Cascade
from geco.nn.gps.local import LOCALS
from geco.nn.gps.mixers import MIXERS, SelfAttention
from tests.conftest import relative_error
from tests.nn.contract import assert_contract, joined, toy

D = 8
DEGREES = {"degrees": [1, 2, 5, 3]}
PAIRS = [pair for pair in itertools.product(LOCALS, MIXERS) if pair != ("none", "none")]


def hybrid(local: str = "gatedgcn", mixer: str = "geco", **options: Any) -> GPSLayer:
    return GPSLayer(D, local, mixer, heads=2, local_kwargs=DEGREES if local == "pna" else None, **options)


def edge_features(layer: GPSLayer, attr: Tensor) -> Tensor | None:
    return attr if layer.names[0] in ("gatedgcn", "gine", "gcn", "none") else None


def settled(layer: GPSLayer) -> GPSLayer:
    """In evaluation mode, with running statistics that are not those of the start."""
    x, edges, batch, attr = joined([toy(n, D) for n in (30, 40, 7)])
    with torch.no_grad():
        layer.train().with_edges(2 * x + 1, edges, batch, edge_features(layer, attr))
    return layer.eval()


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize(("local", "mixer"), PAIRS)
def test_batch_contract(local: str, mixer: str, norm: str) -> None:
    layer = settled(hybrid(local, mixer, norm=norm))
    assert_contract(lambda x, e, b, a: layer(x, e, b, edge_features(layer, a)), D)


@pytest.mark.parametrize("mixer", ["geco", "attention", "performer", "hyena", "none"])
def test_batch_contract_of_the_edge_features(mixer: str) -> None:
    layer, next_layer = settled(hybrid(mixer=mixer)), settled(hybrid(mixer=mixer))

    def run(x: Tensor, edges: Tensor, batch: Tensor | None, attr: Tensor) -> Tensor:
        return next_layer(*_moved(layer, x, edges, batch, attr))  # type: ignore[no-any-return]

    assert_contract(run, D)


def _moved(layer: GPSLayer, x: Tensor, edges: Tensor, batch: Tensor | None, attr: Tensor) -> tuple[Any, ...]:
    h, new = layer.with_edges(x, edges, batch, attr)
    assert new is not None
    assert not torch.allclose(new, attr) or not len(attr)
    return h, edges, batch, new


@settings(max_examples=15)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_batch_contract_at_any_sizes(sizes: list[int]) -> None:
    torch.manual_seed(0)
    layer = settled(hybrid("gine", "performer"))
    toys = [toy(n, D, i) for i, n in enumerate(sizes)]
    alone = torch.cat([layer(t.x, t.edges, None, t.attr) for t in toys])
    x, edges, batch, attr = joined(toys)
    assert torch.allclose(layer(x, edges, batch, attr), alone, atol=1e-5)


@pytest.mark.parametrize(("local", "mixer"), PAIRS)
def test_gradients_reach_every_parameter(local: str, mixer: str) -> None:
    layer = hybrid(local, mixer)
    x, edges, batch, attr = joined([toy(n, D) for n in (5, 97, 40)])
    x.requires_grad_()
    h, new = layer.with_edges(x, edges, batch, edge_features(layer, attr))
    ((h - x).pow(3).sum() + (0 if new is None else new.pow(2).sum())).backward()
    for key, p in layer.named_parameters():
        assert p.grad is not None, key
        assert bool(torch.isfinite(p.grad).all()), key
        assert float(p.grad.abs().max()) > 0, key


def normed(norm: Any, x: Tensor) -> Tensor:
    return nn.functional.batch_norm(x, None, None, norm.weight, norm.bias, True)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_by_hand(dropout: float) -> None:
    """Both branches, sum and FFN in the order of the equations, with the same random numbers."""
    layer, g = hybrid("gcn", "attention", act="gelu", dropout=dropout), toy(30, D)

    def drop(x: Tensor) -> Tensor:
        return functional.dropout(x, dropout, True)

    torch.manual_seed(7)
    found = layer(g.x, g.edges)
    torch.manual_seed(7)
    local = normed(layer.local_norm, g.x + drop(layer.local(g.x, g.edges)))  # type: ignore[misc]
    h = local + normed(layer.mixer_norm, g.x + drop(layer.mixer(g.x)))  # type: ignore[misc]
    ffn = drop(layer.ffn.lin2(drop(nn.functional.gelu(layer.ffn.lin1(h)))))
    assert layer.ffn.lin1.out_features == 2 * D
    assert torch.allclose(found, normed(layer.ffn_norm, h + ffn), atol=1e-5)


@pytest.mark.parametrize("mixer", ["geco", "hyena", "cascade"])
def test_a_graph_unlike_those_of_training_does_not_overflow(mixer: str) -> None:
    """Under BatchNorm's running statistics, products of products would: 30 times larger is 30^(3^6) after six
    layers.
    """
    layers, g = nn.ModuleList(hybrid("gcn", mixer, norm="batch") for _ in range(6)), toy(40, D)

    def run(x: Tensor) -> Tensor:
        for layer in layers:
            x = layer(x, g.edges)
        return x

    for _ in range(30):
        run(g.x)
    layers.eval()
    assert bool(run(30 * g.x).isfinite().all())


def test_gatedgcn_keeps_its_own_skip() -> None:
    layer, g = hybrid("gatedgcn", "none"), toy(30, D)
    h = normed(layer.local_norm, layer.local(g.x, g.edges, g.attr))  # type: ignore[misc]
    ffn = layer.ffn.lin2(layer.ffn.lin1(h).relu())
    assert torch.allclose(layer(g.x, g.edges, None, g.attr), normed(layer.ffn_norm, h + ffn), atol=1e-5)


def test_equals_gpsconv() -> None:
    """The same layer as PyG's, up to the names of the weights."""
    theirs, ours = GPSConv(D, GCNConv(D, D), heads=2).eval(), hybrid("gcn", "attention").eval()
    a = theirs.attn
    pairs = [
        (ours.mixer.qkv.weight, a.in_proj_weight), (ours.mixer.qkv.bias, a.in_proj_bias),  # type: ignore[union-attr]
        (ours.mixer.out.weight, a.out_proj.weight), (ours.mixer.out.bias, a.out_proj.bias),  # type: ignore[union-attr]
        (ours.local.conv.lin.weight, theirs.conv.lin.weight), (ours.local.conv.bias, theirs.conv.bias),
        (ours.ffn.lin1.weight, theirs.mlp[0].weight), (ours.ffn.lin1.bias, theirs.mlp[0].bias),
        (ours.ffn.lin2.weight, theirs.mlp[3].weight), (ours.ffn.lin2.bias, theirs.mlp[3].bias),
    ]  # fmt: skip
    with torch.no_grad():
        for mine, given in pairs:
            mine.copy_(given)
    x, edges, batch, _ = joined([toy(n, D) for n in (5, 30)])
    assert torch.allclose(ours(x, edges, batch), theirs(x, edges, batch // 2), atol=1e-5)


def test_is_the_geco_layer_without_a_local_gnn() -> None:
    ours, theirs = hybrid("none", "geco", norm="layer", ffn_ratio=1.0), GECOLayer(D)
    names = {"mixer": "conv", "mixer_norm": "norm1", "ffn_norm": "norm2", "ffn": "ffn"}
    state = ours.state_dict()
    theirs.load_state_dict(
        {names[key.split(".")[0]] + "." + key.split(".", 1)[1]: value for key, value in state.items()}
    )
    g = toy(30, D)
    assert torch.allclose(ours(g.x, g.edges), theirs(g.x, g.edges), atol=1e-6)


def test_modules_of_ones_own() -> None:
    class Mean(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.mean(0).expand_as(x)

    g = toy(30, D)
    layer = GPSLayer(D, GCNConv(D, D), Mean())
    assert str(layer) == "GPSLayer(8, local=GCNConv, mixer=Mean, norm=batch, dropout=0.0)"
    assert torch.equal(layer(g.x, g.edges, None, g.attr), layer(g.x, g.edges))  # GCNConv's forward names no edge_attr
    layer.reset_parameters()
    assert GPSLayer(D, None, "geco").local is None


@pytest.mark.parametrize("norm", ["graph_norm", "GraphNorm", "instance_norm", None])
def test_other_norms(norm: str | None) -> None:
    layer = settled(hybrid("gcn", "attention", norm=norm))
    assert_contract(
        lambda x, e, b, _a: layer(x, e, b if b is not None else torch.zeros(len(x), dtype=torch.long)), D, (5, 97, 30)
    )


def test_dropout() -> None:
    layer, g = hybrid("gcn", "attention", dropout=0.5, mixer_kwargs={"dropout": 0.5}), toy(30, D)
    assert layer.mixer.dropout == 0.5  # type: ignore[union-attr]
    assert not torch.equal(layer(g.x, g.edges), layer(g.x, g.edges))
    layer.eval()
    assert torch.equal(layer(g.x, g.edges), layer(g.x, g.edges))
    assert hybrid(dropout=0.3).local.dropout == 0.3  # type: ignore[union-attr]


def test_state_and_reset() -> None:
    for local, mixer in PAIRS:
        one, two, g = settled(hybrid(local, mixer)), settled(hybrid(local, mixer)), toy(12, D)
        attr = edge_features(one, g.attr)
        two.load_state_dict(one.state_dict())
        assert torch.equal(one(g.x, g.edges, None, attr), two(g.x, g.edges, None, attr))
        outputs = []
        for _ in range(2):
            torch.manual_seed(5)
            two.reset_parameters()
            outputs.append(two(g.x, g.edges, None, attr))
        assert torch.equal(*outputs), (local, mixer)


def test_cascade_is_geco() -> None:
    ours, theirs, g = Cascade(D), GECOConv(D), toy(30, D)
    ours.load_state_dict(theirs.state_dict())
    assert torch.equal(ours(g.x, g.edges), theirs(g.x, g.edges))
    assert torch.equal(ours.norm.running_mean, theirs.norm.running_mean)  # type: ignore[arg-type]


def test_cascade_by_hand() -> None:
    """The local block replaced by Conv-3, the global one by a Transformer."""
    cascade, g = Cascade(D, "conv", "attention", heads=2, local_kwargs={"width": 3}), toy(30, D)
    found = cascade(g.x, g.edges)
    h = torch.cat([g.x, cascade.local(g.x)], 1)  # type: ignore[misc]
    h = (h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt()
    assert isinstance(cascade.context, SelfAttention)
    assert torch.allclose(found, cascade.context(h), atol=1e-5)


@pytest.mark.parametrize("context", ["gcb", "attention", "performer", "hyena"])
@pytest.mark.parametrize("local", ["lcb", "conv", *LOCALS])
def test_cascade_contract(local: str, context: str) -> None:
    options = {"pna": DEGREES, "conv": {"width": 10}}.get(local)
    cascade = Cascade(D, local, context, heads=2, local_kwargs=options).eval()
    blind = local in ("gat", "pna")
    assert_contract(lambda x, e, b, a: cascade(x, e, b, None if blind else a), D)
    assert cascade.train()(toy(30, D).x, toy(30, D).edges, None, None if blind else toy(30, D).attr).requires_grad


def test_cascade_order() -> None:
    cascade, g, perm = Cascade(D, "conv", "gcb", local_kwargs={"width": 10}), toy(30, D), torch.randperm(30)
    permuted = cascade(g.x[perm], torch.argsort(perm)[g.edges])
    assert torch.allclose(cascade(g.x, g.edges, permutation=perm)[perm], permuted, atol=1e-5)


def test_order_reaches_the_mixer() -> None:
    layer, g, perm = settled(hybrid("gatedgcn", "hyena")), toy(30, D), torch.randperm(30)
    permuted = layer(g.x[perm], torch.argsort(perm)[g.edges], None, g.attr)
    assert torch.allclose(layer(g.x, g.edges, None, g.attr, permutation=perm)[perm], permuted, atol=1e-5)
    assert not torch.allclose(layer(g.x, g.edges, None, g.attr)[perm], permuted, atol=1e-3)


def test_repr() -> None:
    assert str(hybrid("gine", "performer", norm="layer", dropout=0.1)) == (
        "GPSLayer(8, local=gine, mixer=performer, norm=layer, dropout=0.1)"
    )
    assert str(Cascade(D, "conv")) == "Cascade(8, local=conv, context=gcb)"


G = toy(5, D)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GPSLayer(D, "gcnn"), "did you mean 'gcn'"),
        (lambda: GPSLayer(D, mixer="geko"), "did you mean 'geco'"),
        (lambda: GPSLayer(D, "none", "none"), "needs a local GNN or a mixer"),
        (lambda: GPSLayer(D, mixer="attention", heads=3), "multiple of the heads"),
        (lambda: GPSLayer(D, norm="bach"), "bach"),
        (lambda: GPSLayer(0), "channels must be at least 1"),
        (lambda: GPSLayer(D, dropout=1.5), "dropout"),
        (lambda: GPSLayer(D, "gat", local_kwargs={"edge_dims": 3}), "no option 'edge_dims'"),
        (lambda: GPSLayer(D, mixer_kwargs={"wide": 3}), "'geco' has no option 'wide'"),
        (lambda: hybrid("gine")(G.x, G.edges), "needs edge features"),
        (lambda: hybrid()(G.x[:, :3], G.edges), "x has 3 channels, the layer was made for 8"),
        (lambda: hybrid("none", "attention")(G.x[:1], G.edges[:, :0]), "single node"),
        (lambda: hybrid()(G.x, G.edges, torch.zeros(4, dtype=torch.long)), "batch must be"),
        (lambda: Cascade(D, "lcbb"), "did you mean 'lcb'"),
        (lambda: Cascade(D, "lcb", "gbc"), "did you mean 'gcb'"),
        (lambda: Cascade(D, "conv", local_kwargs={"widht": 1}), "no option 'widht'; it has width"),
        (lambda: Cascade(D)(G.x[:1], G.edges[:, :0]), "single node"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.real
@pytest.mark.parametrize("name", ["peptides-func", "ogbg-molhiv"])
def test_batch_contract_on_real_graphs(name: str) -> None:
    """A graph alone equals itself in a batch of 128, for every local GNN and every mixer, at a realistic width."""
    from geco.data import load

    dataset = load(name, Path(os.environ["GECO_DATA"]))
    chosen = dataset.split().test[:128]
    batch = dataset.batch(chosen)
    x = torch.nn.functional.normalize(batch.x.float() @ torch.randn(batch.x.shape[1], 32))
    attr = torch.nn.functional.normalize(batch.edge_attr.float() @ torch.randn(batch.edge_attr.shape[1], 32))
    picked = [0, 63, 127, int(dataset.sizes[chosen].argmin()), int(dataset.sizes[chosen].argmax())]
    edge_graph = batch.batch[batch.edge_index[0]]
    checked = [(local, "geco") for local in LOCALS] + [("gatedgcn", mixer) for mixer in MIXERS]
    for local, mixer in checked:
        layer = GPSLayer(32, local, mixer, local_kwargs=DEGREES if local == "pna" else None)
        given_attr = None if local in ("gat", "pna") else attr
        with torch.no_grad():
            layer(x, batch.edge_index, batch.batch, given_attr)  # running statistics
            together = layer.eval()(x, batch.edge_index, batch.batch, given_attr)
            for i in picked:
                rows, edges = batch.batch == i, edge_graph == i
                alone = layer(
                    x[rows],
                    batch.edge_index[:, edges] - int(batch.ptr[i]),
                    None,
                    None if given_attr is None else attr[edges],
                )
                assert float((alone - together[rows]).abs().max()) < 1e-5, (local, mixer, i)
                assert relative_error(alone, together[rows]) < 1e-5


@pytest.mark.parametrize("filter", ["windows", "waves", "mean", "none", "paper"])
def test_filters_of_a_geco_mixer_by_name(filter: FilterName) -> None:
    layer = GPSLayer(8, local="gcn", filter=filter)
    assert isinstance(layer.mixer, GECOConv)
    assert layer(torch.randn(5, 8), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape == (5, 8)
    with pytest.raises(ValueError, match="is for mixer='geco', got mixer='attention'"):
        GPSLayer(8, local="gcn", mixer="attention", filter=filter)
