"""The paper's literal filter: by hand, exact in values and every gradient, in batches, on disk."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from geco.nn import GECO, GECOConv, GlobalContext, PaperFilter, reference
from tests.conftest import assert_as_good_as, random_edges, relative_error

D = 4
GAINS = ["none", "mean", "l1"]


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_by_hand(n: int, gain: str) -> None:
    """Position, bands, sines, nothing else."""
    filter = PaperFilter(2, 3, features=5, gain=gain).double()  # type: ignore[arg-type]
    nn.init.uniform_(filter.frequency, 0.5, 2)
    wanted = torch.empty(2, 3, n, dtype=torch.float64)
    for t in range(n):
        angle = torch.tensor([1e-4, 1.0], dtype=torch.float64) * 2 * math.pi * t / n
        h = torch.cat([torch.tensor([t / (n - 1) if n > 1 else 0.0], dtype=torch.float64), angle.cos(), -angle.sin()])
        for layer in filter.layers:
            h = torch.sin(filter.frequency * (layer.weight @ h + layer.bias))  # type: ignore[operator]
        wanted[:, :, t] = (filter.mix.weight @ h).view(2, 3)
    scale = {"none": 1.0, "mean": 1 / n, "l1": 1 / wanted.abs().sum(-1, keepdim=True)}[gain]
    assert relative_error(filter(n), wanted * scale) < 1e-12


@pytest.mark.parametrize("gain", GAINS)
def test_factors_are_the_filters(gain: str) -> None:
    for width, sizes in ((64, [5]), (4, [5]), (4, [3000]), (64, [1, 2, 30, 97]), (4, [1, 2, 30, 97])):
        filter = PaperFilter(2, 3, width=width, gain=gain).double()  # type: ignore[arg-type]
        mix, phi = filter.factors(sizes)
        assert phi.shape == (6 if width == 64 or gain == "l1" else 4, sum(sizes))
        for n, part in zip(sizes, (mix @ phi).split(sizes, -1), strict=True):
            assert relative_error(part, filter(n)) < 1e-12


def test_gains() -> None:
    assert torch.allclose(PaperFilter(1, 5, gain="l1")(1000).abs().sum(-1), torch.ones(1, 5))
    torch.manual_seed(0)
    plain = PaperFilter(1, 5)
    torch.manual_seed(0)
    assert torch.allclose(PaperFilter(1, 5, gain="mean")(100) * 100, plain(100))
    assert plain(10_000).abs().sum() > 5 * plain(1000).abs().sum()  # as written it grows with the graph


def plain(conv: GECOConv, xs: list[Tensor], edges: list[Tensor]) -> Tensor:
    """Several graphs one by one, with BatchNorm over all of their nodes."""
    rows = [torch.cat([x, reference_adjacency(e, len(x), x.dtype) @ x], 1) for x, e in zip(xs, edges, strict=True)]
    h = nn.functional.batch_norm(torch.cat(rows), None, None, conv.norm.weight, conv.norm.bias, True, eps=conv.norm.eps)
    gates = conv.context.projection(h).split([len(x) for x in xs])
    return torch.cat([reference.global_context(g, conv.context.filter(len(g))) for g in gates])


def reference_adjacency(edges: Tensor, n: int, dtype: torch.dtype) -> Tensor:
    """A path both ways or random edges, as a sparse matrix with the operator's own normalisation."""
    degree = torch.bincount(edges[1], minlength=n).to(torch.float64)
    value = (degree[edges[0]] * degree[edges[1]]).rsqrt().nan_to_num(0.0, 0.0, 0.0)
    return torch.sparse_coo_tensor(edges.flip(0), value.to(dtype), (n, n))


def results(sizes: list[int], dtype: torch.dtype, fused: bool, gain: str, order: int, width: int) -> list[Tensor]:
    torch.manual_seed(sum(sizes))
    conv = GECOConv(D, order, filter="paper", filter_kwargs={"gain": gain, "features": 9, "width": width}).to(dtype)
    nn.init.uniform_(conv.norm.weight, 0.5, 1.5)
    xs = [torch.randn(n, D).to(dtype).requires_grad_() for n in sizes]
    edges = [torch.stack([e := torch.arange(n), (e + 1) % n]) for n in sizes]
    edges = [torch.cat([e, e.flip(0)], 1) for e in edges]
    top = torch.randn(sum(sizes), D).to(dtype)
    if fused:
        starts = torch.tensor([0, *sizes]).cumsum(0).tolist()
        batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        every = torch.cat([e + s for e, s in zip(edges, starts, strict=False)], 1)
        weight = torch.ones(every.shape[1], dtype=dtype)
        y = conv(torch.cat(xs), every, batch, weight)
    else:
        y = plain(conv, xs, edges)
    return [y, *torch.autograd.grad(y, [*xs, *conv.parameters()], top)]


@pytest.mark.parametrize("width", [3, 16])  # fewer features than filters, or more
@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize(
    ("sizes", "order"),
    [
        ([3], 2),
        ([5], 3),
        ([97], 2),
        ([997], 1),
        ([1024], 2),
        ([1031], 2),
        ([16381], 2),
        ([3, 1, 2, 97, 64, 97, 1031, 5], 2),
    ],
)
def test_values_and_gradients_of_the_layer(sizes: list[int], order: int, gain: str, width: int) -> None:
    kinds = ((torch.float32, True), (torch.float32, False), (torch.float64, False), (torch.float64, True))
    ours, naive, exact, double = (results(sizes, dtype, fused, gain, order, width) for dtype, fused in kinds)
    for i, (found, same, truth, fine) in enumerate(zip(ours, naive, exact, double, strict=True)):
        assert_as_good_as(found, same, truth, f"tensor {i} at {sizes}")
        assert relative_error(fine, truth) < 1e-10, f"tensor {i} at {sizes} in float64"


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("n", [1, 2, 3, 97])
def test_small_rings_without_batchnorm(n: int, gain: str) -> None:
    """One and two nodes, where BatchNorm leaves nothing but signs; over several draws, because a few numbers can be
    lucky.
    """
    errors = torch.zeros(2, 12)
    for seed in range(10):
        runs = []
        for dtype, fused in ((torch.float32, True), (torch.float32, False), (torch.float64, False)):
            torch.manual_seed(seed)
            context = GlobalContext(D, D, filter="paper", filter_kwargs={"gain": gain}).to(dtype)
            h, top = (torch.randn(n, D).to(dtype) for _ in range(2))
            h.requires_grad_()
            y = context(h) if fused else reference.global_context(context.projection(h), context.filter(n))
            runs.append([y, *torch.autograd.grad(y, [h, *context.parameters()], top)])
        for i, (found, same, truth) in enumerate(zip(*runs, strict=True)):
            if float(truth.detach().abs().max()) > 1e-9:  # under l1 one place is its sign: nothing reaches weights
                errors[:, i] += torch.tensor([relative_error(found, truth), relative_error(same, truth)])
    assert bool((errors[0] <= 2 * errors[1].clamp(min=10 * 1.2e-7)).all()), errors


@pytest.mark.parametrize("gain", GAINS)
def test_batch_contract(gain: str) -> None:
    sizes = [1, 5, 97, 1, 1200, 40, 4500]
    conv = GECOConv(D, filter="paper", filter_kwargs={"gain": gain}).eval()
    graphs = [(torch.randn(n, D), random_edges(n, 3, seed=n)) for n in sizes]
    alone = [conv(x, e) for x, e in graphs]
    for order in ([0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], [2, 0, 6, 1], [4, 5]):
        starts = torch.tensor([0, *(sizes[i] for i in order)]).cumsum(0).tolist()
        batch = torch.cat([torch.full((sizes[i],), place) for place, i in enumerate(order)])
        edges = torch.cat([graphs[i][1] + start for i, start in zip(order, starts, strict=False)], 1)
        out = conv(torch.cat([graphs[i][0] for i in order]), edges, batch).split([sizes[i] for i in order])
        for i, y in zip(order, out, strict=True):
            assert relative_error(y, alone[i]) < 1e-6, f"{sizes[i]} nodes in {order}"


def test_gates_start_plainly() -> None:
    torch.manual_seed(3)
    wanted = nn.Linear(8, 12)
    torch.manual_seed(3)
    context = GlobalContext(8, 4, filter="paper")
    torch.manual_seed(3)
    context.reset_parameters()
    assert torch.equal(context.projection.bias, wanted.bias)
    assert torch.equal(context.projection.weight, wanted.weight)


def test_save_and_load(tmp_path: Path) -> None:
    model = GECO(5, 8, 2, 3, filter="paper", filter_kwargs={"gain": "l1", "frequency": 14.0}).eval()
    x, edges = torch.randn(30, 5), random_edges(30)
    model.save_pretrained(tmp_path)
    assert torch.equal(GECO.from_pretrained(tmp_path)(x, edges), model(x, edges))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"filter": "papr"}, "did you mean 'paper'"),
        ({"filter": "paper", "filter_kwargs": {"gain": "l2"}}, "gain 'l2' is not known. There are none, mean, l1"),
        ({"filter": "paper", "filter_kwargs": {"features": 4}}, "must be odd"),
        ({"filter": "paper", "filter_kwargs": {"harmonics": 4}}, "'paper' has no option 'harmonics'; it has features"),
        ({"filter": "paper", "filter_kwargs": {"width": 0}}, "width must be at least 1"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GECOConv(D, **options)  # type: ignore[arg-type]
