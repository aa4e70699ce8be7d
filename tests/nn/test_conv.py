from __future__ import annotations

import copy
import warnings
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from geco.nn import GECOConv, GECOLayer, GlobalContext, ImplicitFilter, LocalPropagation, reference
from geco.nn.filters import FilterName
from geco.nn.filters.windows import WindowedFilter
from geco.nn.graph.adjacency import adjacency
from tests.conftest import random_edges, relative_error

D = 8
EDGES = random_edges(30)


def test_repr() -> None:
    assert str(GECOConv(D)) == "GECOConv(8, order=2, adjacency=sym)"
    assert str(GECOLayer(D, dropout=0.1)) == "GECOLayer(8, order=2, adjacency=sym, dropout=0.1)"


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("n", [2, 3, 30, 997, 5000])
def test_equals_the_plain_composition(n: int, training: bool) -> None:
    conv = GECOConv(D).double()
    x, edges = torch.randn(n, D, dtype=torch.float64), random_edges(n)
    for _ in range(3):
        conv(x + torch.randn_like(x), edges)  # running statistics to evaluate with
    conv.train(training)
    weight = torch.rand(edges.shape[1], dtype=torch.float64)
    dense = reference.normalised_adjacency(edges, n, weight) if n < 1000 else torch.eye(n, dtype=torch.float64)
    edges, weight = (edges, weight) if n < 1000 else (torch.arange(n).repeat(2, 1), torch.ones(n, dtype=torch.float64))
    assert relative_error(conv(x, edges, edge_weight=weight), reference.geco_conv(conv, x, dense)) < 1e-9


def test_running_statistics_are_those_of_batchnorm() -> None:
    conv, norm = GECOConv(D), nn.BatchNorm1d(2 * D)
    x = torch.randn(30, D) * 3 + 1
    for _ in range(3):
        conv(x, EDGES)
        norm(torch.cat([x, adjacency(EDGES, 30) @ x], 1))
    assert torch.allclose(conv.norm.running_mean, norm.running_mean, atol=1e-5)  # type: ignore[arg-type]
    assert torch.allclose(conv.norm.running_var, norm.running_var, rtol=1e-5)  # type: ignore[arg-type]
    assert conv.norm.num_batches_tracked == 3


@pytest.mark.parametrize("filter", ["windows", "waves", "mean", "paper"])
@pytest.mark.parametrize(("algorithm", "sizes"), [
    ("auto", [31]), ("auto", [1511]), ("auto", [4507]), ("auto", [5, 33, 5]), ("auto", [2200, 7]),
    ("plain", [53]), ("plain", [53, 9]),
])  # fmt: skip
def test_what_inference_mode_remembers_serves_training(
    algorithm: Literal["auto", "plain"], sizes: list[int], filter: FilterName
) -> None:
    """Sizes of their own: tables and adjacencies made under inference mode are met again in a training step."""
    conv, n = GECOConv(D, algorithm=algorithm, filter=filter), sum(sizes)
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    x, edges = torch.randn(n, D), torch.arange(n).repeat(2, 1)
    with torch.inference_mode():
        conv.eval()(x, edges, batch)
    conv.train()(x.requires_grad_(), edges, batch).sum().backward()
    assert x.grad is not None


def test_a_model_made_and_run_in_inference_mode() -> None:
    with torch.inference_mode():
        conv, x, edges = GECOConv(D).eval(), torch.randn(30, D), random_edges(30)
        first = conv(x, edges, edge_weight=torch.ones(edges.shape[1]))
        conv.context.filter.windows.mix.weight.fill_(0.1)  # type: ignore[union-attr, operator]
        edges[1, 0] = (edges[1, 0] + 1) % 30
        assert not torch.equal(first, conv(x, edges, edge_weight=torch.ones(edges.shape[1])))


@pytest.mark.parametrize("n", [20, 40])
def test_a_prepared_graph_of_another_size_is_refused(n: int) -> None:
    conv = GECOConv(D)
    graph = conv.prepare(torch.randn(30, D), EDGES)
    with pytest.raises(ValueError, match=rf"x has shape \({n}, 8\), layer and graph were made for \(30, 8\)"):
        conv(torch.randn(n, D), graph=graph)


@pytest.mark.parametrize("adjacency", ["sym", "row", "none", "attention"])
@pytest.mark.parametrize("make", [GECOConv, GECOLayer])
def test_batch_contract(make: type[nn.Module], adjacency: str) -> None:
    """A graph's output is the same alone, first, in the middle and last, whoever its batch mates are."""
    sizes = [1, 5, 97, 1, 1200, 40, 4500]
    layer = make(D, adjacency=adjacency).eval()
    graphs = [(torch.randn(n, D), random_edges(n, degree=0 if n == 40 else 3, seed=n)) for n in sizes]
    alone = [layer(x, e) for x, e in graphs]
    for order in ([0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], [2, 0, 6, 1], [4, 5]):
        xs, es, batch, start = [], [], [], 0
        for place, i in enumerate(order):
            x, e = graphs[i]
            xs.append(x)
            es.append(e + start)
            batch.append(torch.full((len(x),), 2 * place))  # odd numbers: empty graphs in between
            start += len(x)
        out = layer(torch.cat(xs), torch.cat(es, 1), torch.cat(batch)).split([sizes[i] for i in order])
        for i, y in zip(order, out, strict=True):
            assert relative_error(y, alone[i]) < 1e-6, f"graph of {sizes[i]} nodes in {order}"


def test_an_unsorted_batch_vector_gives_the_same() -> None:
    conv = GECOConv(D).eval()
    x, batch = torch.randn(30, D), torch.arange(30) % 3
    edges = EDGES[:, batch[EDGES[0]] == batch[EDGES[1]]]
    sort = torch.argsort(batch, stable=True)
    back = torch.argsort(sort)
    assert torch.allclose(conv(x, edges, batch), conv(x[sort], back[edges], batch[sort])[back], atol=1e-6)


def test_order_places_nodes_on_the_ring() -> None:
    """The paper's Permute: permuting graph and features, or the places on the ring, is the same."""
    conv = GECOConv(D)
    x, perm = torch.randn(30, D), torch.randperm(30)
    permuted = conv(x[perm], torch.argsort(perm)[EDGES])
    assert torch.allclose(conv(x, EDGES, permutation=perm)[perm], permuted, atol=1e-5)
    assert not torch.allclose(conv(x, EDGES)[perm], permuted, atol=1e-3)  # the order matters


def test_rotating_the_ring_rotates_the_output() -> None:
    conv = GECOConv(D)
    x = torch.randn(30, D)
    assert torch.allclose(conv(x, EDGES, permutation=torch.arange(30).roll(7)), conv(x, EDGES), atol=1e-5)


def test_local_propagation_is_equivariant() -> None:
    x, perm = torch.randn(30, D), torch.randperm(30)
    for block in (LocalPropagation(), LocalPropagation("attention", D)):
        assert torch.allclose(block(x, EDGES)[perm], block(x[perm], torch.argsort(perm)[EDGES]), atol=1e-6)


def test_attention_variant_by_hand() -> None:
    block = LocalPropagation("attention", 2)
    x = torch.randn(3, 2)
    edges = torch.tensor([[1, 2, 0], [0, 0, 1]])
    a, b = block.weight  # type: ignore[misc]
    scores = torch.stack([nn.functional.leaky_relu(x[0] @ a + x[j] @ b, 0.2) for j in (1, 2)]).softmax(0)
    wanted = torch.stack([scores[0] * x[1] + scores[1] * x[2], x[0], torch.zeros(2)])
    assert torch.allclose(block(x, edges), torch.cat([x, wanted], 1), atol=1e-6)


@pytest.mark.parametrize("n", [10, 100, 1000, 10_000, 100_000, 1_000_000])
def test_initial_gain(n: int) -> None:
    """A fresh block passes a usable signal at every N, neither dying nor growing."""
    conv = GECOConv(4)
    x = torch.randn(n, 4)
    ring = torch.stack([torch.arange(n), torch.arange(n).roll(1)])
    gain = float(conv(x, ring).detach().square().mean().sqrt() / x.square().mean().sqrt())
    assert 0.1 < gain < 10


def test_gain_of_filters_does_not_grow() -> None:
    """What a filter of any weights adds to the mean hands a white signal on alike at every N, neither fading nor
    growing.
    """
    filter = WindowedFilter(2, D)
    for mix in (filter.mix, filter.windows.mix):
        nn.init.normal_(mix.weight)
    norms = torch.stack([(filter(n) - 1 / n).norm(dim=-1) for n in (3000, 30_000, 300_000)])
    assert torch.allclose(norms[0], norms[2], rtol=0.1)
    assert (norms.mean(-1) > 1).all()


def test_gain_mean_is_bounded_by_the_weights() -> None:
    """Filters of GECO until 2026-11, of any weights: the sum of absolute values is bounded at every N."""
    filter = ImplicitFilter(2, D, gain="mean")
    nn.init.normal_(filter.mix.weight, std=3)
    bound = 1 + filter.mix.weight.abs().sum(1).view(2, D)
    sums = torch.stack([filter(n).abs().sum(-1) for n in (10, 100, 1000, 10_000, 100_000)])
    assert (sums <= bound * (1 + 1e-5)).all()
    assert torch.allclose(sums[2], sums[4], rtol=1e-2)


@pytest.mark.fresh
@pytest.mark.parametrize("n", [1, 7, 300, 5000])
@pytest.mark.parametrize("filter", ["windows", "waves"])
def test_a_fresh_block_is_the_gated_mean(filter: FilterName, n: int) -> None:
    fresh, mean = GlobalContext(D, D, filter=filter), GlobalContext(D, D, filter="mean")
    mean.load_state_dict({name: value for name, value in fresh.state_dict().items() if not name.startswith("filter.")})
    x = torch.randn(n, D)
    assert torch.allclose(fresh(x), mean(x), atol=1e-5)


def test_without_filter_no_node_reaches_another() -> None:
    block = GlobalContext(D, 3, filter="none")
    x = torch.randn(10, D)
    assert torch.allclose(block(x)[:4], block(x[:4]), atol=1e-6)
    assert block(x).shape == (10, 3)
    with pytest.raises(ValueError, match="filter 'wavs' is not known, did you mean 'waves'"):
        GlobalContext(D, D, filter="wavs")  # type: ignore[arg-type]


def test_lazy_channels() -> None:
    conv = GECOConv(-1)
    assert not list(conv.parameters())
    assert conv(torch.randn(30, D), EDGES).shape == (30, D)
    assert str(conv) == "GECOConv(8, order=2, adjacency=sym)"
    assert len(list(conv.parameters())) == len(list(GECOConv(D).parameters()))


def test_reset_parameters_is_reproducible() -> None:
    layer = GECOLayer(D)
    x = torch.randn(30, D)
    outputs = []
    for _ in range(2):
        torch.manual_seed(1)
        layer.reset_parameters()
        outputs.append(layer.eval()(x, EDGES))
        layer.train()(x, EDGES)
    assert torch.equal(*outputs)


def test_copies_and_state() -> None:
    layer = GECOLayer(D).eval()
    x = torch.randn(5000, D)
    edges = random_edges(5000)
    with torch.no_grad():
        wanted = layer(x, edges)
        assert torch.equal(copy.deepcopy(layer)(x, edges), wanted)
        other = GECOLayer(D).eval()
        other(x, edges)  # fills its cache of spectra with other weights
        other.load_state_dict(layer.state_dict())
        assert torch.equal(other(x, edges), wanted)


def test_cached_spectra_follow_the_weights() -> None:
    for n in (50, 5000):
        conv = GECOConv(D).eval()
        x, edges = torch.randn(n, D), random_edges(n)
        with torch.no_grad():
            before = conv(x, edges)
            assert torch.equal(conv(x, edges), before)
            conv.context.filter.mix.weight.mul_(2)
            after = conv(x, edges)
        assert not torch.allclose(after, before)
        assert torch.allclose(conv(x, edges), after, atol=1e-6)  # with gradients, nothing is cached


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("n", [100, 5000])
def test_layer_by_rows_equals_the_layer_at_once(n: int, dropout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = GECOLayer(D, dropout=dropout).double()
    x, edges = torch.randn(n, D, dtype=torch.float64, requires_grad=True), random_edges(n)
    parameters = [x, *layer.parameters()]
    rows = "geco.nn.ops.rowwise.ROWS"
    found = []
    for block in (2048, 2048, 10**9 if dropout == 0 else 2048):
        monkeypatch.setattr(rows, block)
        torch.manual_seed(3)
        y = layer(x, edges)
        found.append([y, *torch.autograd.grad(y.square().sum(), parameters)])
    for first, second, third in zip(*found, strict=True):
        assert torch.equal(first, second)
        assert relative_error(first, third) < 1e-12


def test_dropout_mask_is_the_same_in_backward() -> None:
    layer = GECOLayer(D, dropout=0.5, norm=None).double()
    x, edges = torch.randn(5000, D, dtype=torch.float64), random_edges(5000)

    def f(scale: Tensor) -> Tensor:
        torch.manual_seed(5)
        return (layer(x * scale, edges) ** 2).mean()

    assert torch.autograd.gradcheck(f, torch.ones((), dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("norm", ["layer_norm", "batch_norm", None])
def test_norms_after_skips(norm: str | None) -> None:
    layer = GECOLayer(D, norm=norm, act="gelu", ffn_ratio=2)
    assert layer(torch.randn(30, D), EDGES).shape == (30, D)


def test_no_parameter_is_unused() -> None:
    for options in ({}, {"adjacency": "attention"}, {"out_proj": True}, {"order": 1}, {"order": 3}):
        layer = GECOLayer(D, **options)  # type: ignore[arg-type]
        layer(torch.randn(30, D), EDGES).square().sum().backward()
        assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in layer.parameters())


@pytest.mark.parametrize("n", [50, 5000])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_input(n: int, dtype: torch.dtype) -> None:
    layer = GECOConv(D).eval()
    x, edges = torch.randn(n, D).to(dtype), random_edges(n)
    y = layer(x, edges)
    assert y.dtype == dtype
    assert relative_error(y, layer(x.float(), edges)) < 0.01


def test_autocast() -> None:
    layer = GECOLayer(D)
    x, edges = torch.randn(5000, D, requires_grad=True), random_edges(5000)
    wanted = layer(x, edges)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x, edges)
        y.float().square().sum().backward()
    assert relative_error(y, wanted) < 0.05
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


BAD = torch.randn(30, D)
NAN = torch.randn(30, D).index_put((torch.tensor(4), torch.tensor(2)), torch.tensor(float("nan")))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"x": NAN}, "first at node 4"),
        ({"x": BAD.index_fill(0, torch.tensor([9]), float("inf"))}, "first at node 9"),
        ({"x": BAD[:0]}, "no nodes"),
        ({"x": BAD[0]}, "shape"),
        ({"x": BAD.long()}, "float tensor"),
        ({"x": BAD[:, :3]}, "made for 8"),
        ({"x": BAD.to("meta")}, "device"),
        ({"edge_index": EDGES + 30}, "30 nodes"),
        ({"edge_index": EDGES - 30}, "node -"),
        ({"edge_index": EDGES.t()}, "transpose"),
        ({"edge_index": EDGES.float()}, "integer"),
        ({"edge_index": EDGES.to("meta")}, "device"),
        ({"edge_index": EDGES.tolist()}, "must be a tensor"),
        ({"edge_weight": torch.full((120,), float("inf"))}, "120 NaN or infinite"),
        ({"batch": torch.zeros(29, dtype=torch.long)}, "shape"),
        ({"batch": torch.zeros(30)}, "integer"),
        ({"batch": torch.arange(30) - 1}, "negative"),
        ({"batch": torch.zeros(30, dtype=torch.long, device="meta")}, "device"),
        ({"permutation": torch.zeros(30, dtype=torch.long)}, "each node must appear"),
        ({"permutation": torch.arange(30) + 1}, "each node must appear"),
        ({"permutation": torch.arange(29)}, "shape"),
        ({"permutation": torch.arange(30.0)}, "int64"),
        ({"permutation": torch.arange(30, device="meta")}, "device"),
    ],
)
@pytest.mark.parametrize("make", [GECOConv, GECOLayer])
def test_refuses(make: type[nn.Module], arguments: dict[str, Tensor], word: str) -> None:
    layer = make(D)
    state = copy.deepcopy(layer.state_dict())
    with pytest.raises(ValueError, match=word):
        layer(**{"x": BAD, "edge_index": EDGES, **arguments})
    for name, tensor in layer.state_dict().items():
        assert torch.equal(tensor, state[name]), f"{name} changed before the input was refused"


def test_refuses_to_train_on_one_node() -> None:
    empty = torch.zeros(2, 0, dtype=torch.long)
    with pytest.raises(ValueError, match=r"\.eval\(\)"):
        GECOConv(D)(torch.randn(1, D), empty)
    assert GECOConv(D).eval()(torch.randn(1, D), empty).shape == (1, D)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"order": 0}, "order"),
        ({"channels": 0}, "channels"),
        ({"adjacency": "gcn"}, "adjacency"),
        ({"algorithm": "fast"}, "algorithm"),
        ({"memory": "none"}, "memory"),
        ({"filter_kwargs": {"position": "index"}}, "position"),
        ({"filter_kwargs": {"harmonics": 0}}, "harmonics"),
    ],
)
def test_refuses_options(options: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        GECOConv(**{"channels": D, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"channels": -1}, {"channels": 8, "ffn_ratio": -1.0}])
def test_layer_refuses_widths(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="channels must be at least 1 and ffn_ratio above 0"):
        GECOLayer(**options)  # type: ignore[arg-type]


def test_refuses_dropout_of_one() -> None:
    with pytest.raises(ValueError, match="dropout"):
        GECOLayer(D, dropout=1.0)


def test_export_and_other_sizes() -> None:
    conv = GECOLayer(D).eval()
    auto = {0: torch.export.Dim.AUTO}
    program = torch.export.export(
        conv, (torch.randn(30, D), EDGES), dynamic_shapes={"x": auto, "edge_index": {1: torch.export.Dim.AUTO}}
    )
    for n in (17, 171):
        x, edges = torch.randn(n, D), random_edges(n)
        assert torch.allclose(program.module()(x, edges), conv(x, edges), atol=1e-5)


@pytest.mark.slow
def test_compile() -> None:
    layer = GECOLayer(D)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inductor's own
        compiled = torch.compile(layer, dynamic=True)
        for n in (30, 47, 5000):
            x, edges = torch.randn(n, D, requires_grad=True), random_edges(n)
            y, wanted = compiled(x, edges), layer(x, edges)
            assert relative_error(y, wanted) < 1e-5
            top = torch.randn_like(y)
            grads = [torch.autograd.grad(o, [x, *layer.parameters()], top) for o in (y, wanted)]
            for found, exact in zip(*grads, strict=True):
                assert relative_error(found, exact) < 1e-4
