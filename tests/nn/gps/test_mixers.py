from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from geco.nn import GECOConv, reference
from geco.nn.gps.attention import Performer, SelfAttention, orthogonal_features
from geco.nn.gps.hyena import Hyena, HyenaFilter, ShortConv, causal_conv
from geco.nn.gps.mixers import MIXERS, make_mixer
from geco.nn.graph.padding import STEPS, blocks
from geco.nn.resolve import call
from tests.conftest import assert_as_good_as, relative_error
from tests.nn.contract import assert_contract, joined, toy

D = 8
MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "geco": ("geco", {}),
    "attention": ("attention", {}),
    "performer": ("performer", {}),
    "hyena": ("hyena", {}),
    "hyena-3": ("hyena", {"order": 3}),
    "hyena-64": ("hyena", {"order": 3, "filter_kwargs": {"length": 64, "interleaved": False}}),
    "exphormer": ("exphormer", {}),
    "exphormer-2": ("exphormer", {"expander_degree": 2, "virtual_nodes": 2}),
    "exphormer-random": ("exphormer", {"virtual_nodes": 0}),
    "exphormer-virtual": ("exphormer", {"expander_degree": 0}),
    "virtual-node": ("virtual-node", {}),
    "virtual-node-sum": ("virtual-node", {"collect": "sum"}),
    **{f"conv-{w}": ("conv", {"width": w}) for w in (1, 10, 20, 40)},
    "cascade": ("cascade", {"local": "gatedgcn", "context": "attention"}),
}


def mixer(name: str) -> nn.Module:
    kind, options = MADE[name]
    made = make_mixer(kind, D, heads=2, **options)
    assert made is not None
    return made


def run(module: nn.Module, x: Tensor, edges: Tensor, batch: Tensor | None, attr: Tensor | None = None) -> Tensor:
    return call(module, x, edge_index=edges, batch=batch, edge_attr=attr)


@pytest.mark.parametrize("name", MADE)
def test_batch_contract(name: str) -> None:
    module = mixer(name).eval()
    assert_contract(lambda x, e, b, a: run(module, x, e, b, a), D)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=9))
def test_batch_contract_at_any_sizes(sizes: list[int]) -> None:
    torch.manual_seed(0)
    for name in ("attention", "performer", "hyena", "exphormer", "virtual-node", "conv-10"):
        module = mixer(name).eval()
        toys = [toy(n, D, i) for i, n in enumerate(sizes)]
        x, edges, batch, attr = joined(toys)
        alone = torch.cat([run(module, t.x, t.edges, None, t.attr) for t in toys])
        assert torch.allclose(run(module, x, edges, batch, attr), alone, atol=1e-5), name


@pytest.mark.parametrize("name", MADE)
def test_gradients_reach_every_parameter(name: str) -> None:
    module = mixer(name).train()
    x, edges, batch, attr = joined([toy(n, D) for n in (1, 5, 97, 40)])
    x.requires_grad_()
    run(module, x, edges, batch, attr).square().sum().backward()
    skipped = ("edge_norm",) if name == "cascade" else ()  # new edge features are not asked for
    for key, p in module.named_parameters():
        if not any(s in key for s in skipped):
            assert p.grad is not None, key
            assert float(p.grad.abs().max()) > 0, key
    assert x.grad is not None
    assert bool(torch.isfinite(x.grad).all())


@pytest.mark.parametrize("name", MADE)
def test_state_and_reset(name: str) -> None:
    one, two = mixer(name).eval(), mixer(name).eval()
    g = toy(12, D)
    two.load_state_dict(one.state_dict())
    assert torch.equal(run(one, g.x, g.edges, None, g.attr), run(two, g.x, g.edges, None, g.attr))
    outputs = []
    for _ in range(2):
        torch.manual_seed(5)
        two.reset_parameters()  # type: ignore[operator]
        outputs.append(run(two, g.x, g.edges, None, g.attr))
    assert torch.equal(*outputs)
    assert not torch.allclose(outputs[0], run(one, g.x, g.edges, None, g.attr))


# The slow and obvious twins, one graph at a time.


def heads_of(module: SelfAttention | Performer, x: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
    q, k, v = (x @ module.qkv.weight.t() + (0 if module.qkv.bias is None else module.qkv.bias)).chunk(3, 1)
    d = D // module.heads
    return [tuple(t[:, h * d : (h + 1) * d] for t in (q, k, v)) for h in range(module.heads)]  # type: ignore[misc]


def attention_twin(module: SelfAttention, x: Tensor) -> Tensor:
    mixed = [torch.softmax(q @ k.t() / math.sqrt(q.shape[1]), 1) @ v for q, k, v in heads_of(module, x)]
    return module.out(torch.cat(mixed, 1))  # type: ignore[no-any-return]


def performer_twin(module: Performer, x: Tensor) -> Tensor:
    def phi(u: Tensor, whole: bool) -> Tensor:
        exponent = u @ module.projection.t()
        largest = exponent.max() if whole else exponent.max(1, keepdim=True)[0]
        return torch.exp(exponent - (u * u).sum(1, keepdim=True) / 2 - largest.detach()) + module.eps

    mixed = []
    for q, k, v in heads_of(module, x):
        scale = q.shape[1] ** 0.25
        matrix = phi(q / scale, False) @ phi(k / scale, True).t()  # (n, n)
        mixed.append(matrix / matrix.sum(1, keepdim=True) @ v)
    return module.out(torch.cat(mixed, 1))  # type: ignore[no-any-return]


def toeplitz(f: Tensor) -> Tensor:
    """Lower triangular matrix of a filter, ``(..., n)`` to ``(..., n, n)``."""
    n = f.shape[-1]
    lag = torch.arange(n).unsqueeze(1) - torch.arange(n)
    return torch.where(lag >= 0, f[..., lag.clamp(min=0)], 0.0)


def short_twin(conv: nn.Conv1d, x: Tensor) -> Tensor:
    """Shifts of ``(n, C)`` rows, weighted and added."""
    width = conv.kernel_size[0]
    assert conv.bias is not None
    y = conv.bias.expand_as(x)
    for lag in range(min(width, len(x))):
        shifted = torch.cat([x.new_zeros(lag, x.shape[1]), x[: len(x) - lag]])
        y = y + conv.weight[:, 0, width - 1 - lag] * shifted
    return y


def conv_twin(module: ShortConv, x: Tensor) -> Tensor:
    return short_twin(module.conv, x)


def hyena_twin(module: Hyena, x: Tensor) -> Tensor:
    streams = short_twin(module.short.conv, module.in_proj(x)).split(D, 1)  # (n, D) each
    filters = module.filter(len(x))
    v = streams[-1]
    for i in range(module.order - 1):
        u = v * streams[module.order - 1 - i]
        v = torch.einsum("dti,id->td", toeplitz(filters[i]), u) + module.skip[i] * u
    return module.out_proj(v * streams[0])  # type: ignore[no-any-return]


TWINS: dict[str, Any] = {
    "virtual-node": reference.virtual_node,
    "virtual-node-sum": reference.virtual_node,
    "attention": attention_twin,
    "performer": performer_twin,
    "hyena": hyena_twin,
    "hyena-3": hyena_twin,
    "hyena-64": hyena_twin,
    "conv-1": conv_twin,
    "conv-10": conv_twin,
    "conv-40": conv_twin,
}


@pytest.mark.parametrize("sizes", [(1,), (2,), (37,), (128,), (1, 5, 6, 31, 30, 2, 128)])
@pytest.mark.parametrize("name", TWINS)
def test_equals_its_twin_in_values_and_gradients(name: str, sizes: tuple[int, ...]) -> None:
    module = mixer(name).double()
    x, edges, batch, _ = joined([toy(n, D, i) for i, n in enumerate(sizes)])
    results = []
    for use in (
        lambda h: run(module, h, edges, batch),
        lambda h: torch.cat([TWINS[name](module, part) for part in h.split(list(sizes))]),
    ):
        module.zero_grad()
        leaf = x.double().requires_grad_()
        y = use(leaf)
        y.sin().sum().backward()
        results.append([y.detach(), leaf.grad, *(p.grad for p in module.parameters())])
    for found, wanted in zip(*results, strict=True):
        if wanted is None or float(wanted.abs().max()) < 1e-12:  # one node attends to itself, whatever its query
            assert found is None or float(found.abs().max()) < 1e-12
        else:
            assert relative_error(found, wanted) < 1e-9


@pytest.mark.parametrize("name", TWINS)
def test_single_precision_is_as_good_as_the_twins(name: str) -> None:
    module, x = mixer(name), toy(130, D).x
    found, naive = run(module, x, x, None), TWINS[name](module, x)
    assert_as_good_as(found, naive, TWINS[name](module.double(), x.double()), floor=1e-6)


def test_performer_approximates_attention() -> None:
    """With many features the two agree, and better the more there are."""
    attention = SelfAttention(D, 2)
    nn.init.zeros_(attention.qkv.bias)
    x = toy(97, D).x
    errors = []
    for features in (16, 4096):
        performer = Performer(D, 2, features=features, eps=1e-9)
        performer.load_state_dict({**attention.state_dict(), "projection": performer.projection}, strict=False)
        errors.append(relative_error(performer(x), attention(x)))
    assert errors[1] < 0.1
    assert errors[1] < errors[0] / 2


def test_padding_sets_no_scale_for_the_performer() -> None:
    """Keys whose exponents are all far below those of padding, 0, keep their digits in a batch."""
    module = Performer(D, 2, features=1).eval()
    small, large = toy(48, D).x, toy(53, D).x  # side by side in one block
    keys = module.qkv.weight.detach()[D : 2 * D].view(2, -1, D)
    away = -(module.projection @ keys).sum((0, 1))
    small = 0.1 * small + 12 * away / away.square().sum()
    assert float((small @ keys.transpose(1, 2) @ module.projection.t()).max()) < -1
    assert len(blocks((48, 53), small.device).each) == 1
    batch = torch.cat([torch.zeros(48), torch.ones(53)]).long()
    assert torch.allclose(module(torch.cat([small, large]), batch)[:48], module(small), atol=1e-5)


def test_random_features_are_a_function_of_the_seed() -> None:
    torch.manual_seed(1)
    one = Performer(D, 2, seed=3)
    torch.manual_seed(2)
    two = Performer(D, 2, seed=3)
    assert torch.equal(one.projection, two.projection)
    assert not torch.equal(one.projection, Performer(D, 2, seed=4).projection)
    before = one.projection.clone()
    one.reset_parameters()
    one.train()(toy(5, D).x)
    assert torch.equal(one.projection, before)
    assert "projection" in one.state_dict()
    w = orthogonal_features(10, 5, 0)
    for group in (w[:5], w[5:]):
        products = group @ group.t()
        assert torch.allclose(products, torch.diag(products.diag()), atol=1e-9)


def test_hyena_is_causal_and_of_any_length() -> None:
    module, x = Hyena(D, filter_kwargs={"length": 16}), torch.randn(100, D)  # past its unit of length
    out = module(x)
    other = torch.cat([x[:60], torch.randn(40, D)])
    assert torch.allclose(module(other)[:60], out[:60], atol=1e-5)
    assert not torch.allclose(module(other)[60:], out[60:], atol=1e-3)
    assert bool(torch.isfinite(out).all())


def test_hyena_filter_as_published() -> None:
    """Position, bands and window by hand, at few places; a longer filter begins like a shorter one."""
    filter = HyenaFilter(1, 3, features=5, length=10).double()
    n, waves = 4, torch.tensor([1e-4, 1.0], dtype=torch.float64)
    t, w = torch.linspace(0, 1, 10).double()[:n], 2 * math.pi * torch.arange(n).double() / 10
    z = torch.exp(-1j * w.unsqueeze(1) * waves)
    h = torch.cat([t.unsqueeze(1), z.real, z.imag], 1)
    for layer in filter.layers:
        h = torch.sin(filter.frequency * layer(h))
    rates = torch.linspace(math.log(1e-2) / 1.5, math.log(1e-2) / 0.3, 3).double().abs()
    wanted = filter.mix(h).t() * torch.exp(-t * rates.unsqueeze(1))
    assert torch.allclose(filter(n)[0], wanted, atol=1e-6)
    assert torch.allclose(filter(50)[..., :n], filter(n))


@pytest.mark.parametrize("n", [1, 2, 10, 5000])
def test_hyena_filter_as_long_as_the_graph(n: int) -> None:
    """The published filter of that length: at the last place all decays have their end, at the first none has begun."""
    torch.manual_seed(0)
    filter = HyenaFilter(1, 3).double()
    torch.manual_seed(0)
    assert torch.equal(filter(n), HyenaFilter(1, 3, length=n).double()(n) if n > 1 else filter(1))
    assert bool(torch.isfinite(filter(n)).all())
    far = filter.of(torch.tensor([2, 10, 5000]), 2)
    assert all(torch.allclose(far[:, :, i], filter(size)[..., :2]) for i, size in enumerate((2, 10, 5000)))


def test_hyena_channels_are_laid_out_as_published() -> None:
    """Filter i of channel c is row c (K - 1) + i of the last map, and decays at that row's rate."""
    filter = HyenaFilter(2, 3, length=10)
    nn.init.zeros_(filter.mix.weight)
    with torch.no_grad():
        filter.mix.weight[0 * 2 + 1] = 1.0  # the second filter of the first channel
    strength = filter(5).detach().abs().sum(-1)
    assert strength[1, 0] > 0
    assert int((strength > 0).sum()) == 1
    old = HyenaFilter(2, 3, length=10, interleaved=False)
    old.load_state_dict(filter.state_dict())
    assert old(5).detach().abs().sum(-1)[0, 1] > 0  # row i D + c


@pytest.mark.parametrize("n", [1, 2, 3, 97, 128])
def test_causal_conv(n: int) -> None:
    v, f = torch.randn(2, 3, n, dtype=torch.float64), torch.randn(3, n, dtype=torch.float64)
    assert relative_error(causal_conv(v, f), (toeplitz(f) @ v.unsqueeze(-1)).squeeze(-1)) < 1e-12


@pytest.mark.parametrize("name", ["geco", "hyena", "exphormer", "conv-10"])
def test_order_places_nodes(name: str) -> None:
    module, g, perm = mixer(name), toy(30, D), torch.randperm(30)
    ordered = call(module, g.x, edge_index=g.edges, permutation=perm)
    permuted = run(module, g.x[perm], torch.argsort(perm)[g.edges], None)
    assert torch.allclose(ordered[perm], permuted, atol=1e-5)
    assert not torch.allclose(run(module, g.x, g.edges, None)[perm], permuted, atol=1e-3)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=40))
def test_blocks(sizes: list[int]) -> None:
    layout = blocks(tuple(sizes), torch.device("cpu"))
    x = torch.arange(2.0 * sum(sizes)).view(-1, 2) + 1
    parts = layout.lay_out(x)
    assert torch.equal(layout.take_back(parts), x)
    for part, block in zip(parts, layout.each, strict=True):
        assert part.shape == (block.graphs, block.width, 2)
        mask = torch.ones(part.shape[:2], dtype=torch.bool) if block.mask is None else block.mask
        assert bool((part != 0).all(2).eq(mask).all())  # nodes where the mask says so, zeros elsewhere
        assert int(mask.sum(1).min()) * 2 ** (1 / STEPS) >= block.width - 1e-9  # little padding
    assert sum(block.graphs for block in layout.each) == len(sizes)


def test_blocks_are_differentiable() -> None:
    layout = blocks((3, 1, 3, 9), torch.device("cpu"))
    x = torch.randn(16, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x: layout.take_back([p.sin() * p.sum(1, keepdim=True) for p in layout.lay_out(x)]), x
    )


def test_dropout_of_the_attention_weights() -> None:
    module, x = SelfAttention(D, 2, dropout=0.5), toy(20, D).x
    assert not torch.equal(module(x), module(x))
    assert torch.equal(module.eval()(x), SelfAttention.forward(module, x))


@pytest.mark.parametrize("name", ["attention", "performer", "hyena", "exphormer", "virtual-node", "conv-10"])
def test_half_precision_under_autocast(name: str) -> None:
    module, g = mixer(name).eval(), toy(30, D)
    exact = run(module, g.x, g.edges, None)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = run(module, g.x, g.edges, None)
    assert relative_error(found, exact) < 0.05


def test_none_and_geco() -> None:
    assert make_mixer("none", D) is None
    assert isinstance(make_mixer("geco", D, order=3), GECOConv)
    assert {kind for kind, _ in MADE.values()} | {"none"} == set(MIXERS)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_mixer("atention", D), "did you mean 'attention'"),
        (lambda: make_mixer("attention", D, heads=3), "multiple of the heads, got 8 and 3"),
        (lambda: make_mixer("performer", D, heads=0), "multiple of the heads"),
        (lambda: make_mixer("performer", D, features=0), "features must be at least 1"),
        (lambda: make_mixer("hyena", D, order=1), "order at least 2"),
        (lambda: make_mixer("hyena", D, filter_kwargs={"features": 4}), "must be odd"),
        (lambda: make_mixer("hyena", D, widht=3), "'hyena' has no option 'widht'; it has order"),
        (lambda: make_mixer("conv", D, width=0), "at least 1"),
        (lambda: make_mixer("attention", D, dropout=1.0), "below 1"),
        (lambda: SelfAttention(D, 2)(torch.randn(3, D + 1)), "x has 9 channels, the layer was made for 8"),
        (lambda: SelfAttention(D, 2)(torch.randn(3, D), torch.zeros(2, dtype=torch.long)), "batch must be"),
        (lambda: Hyena(D)(torch.full((3, D), math.nan)), "NaN"),
        (lambda: Performer(D, 2)(torch.randn(0, D)), "no nodes"),
        (lambda: make_mixer("virtual-node", 0), "channels must be at least 1"),
        (lambda: make_mixer("virtual-node", D, collect="summ"), "did you mean 'sum'"),
        (lambda: make_mixer("virtual-node", D)(torch.randn(3, D + 1)), "x has 9 channels"),
    ],
)
def test_errors(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
