"""The fused block against the plain composition in float64: values and every gradient."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from geco.nn import GlobalContext
from geco.nn.graph.rings import rings_of
from geco.nn.ops.global_context import moments
from geco.nn.reference import global_context
from tests.conftest import assert_as_good_as, relative_error

BAR = [1, 2, 3, 4, 5, 7, 64, 97, 997, 1024, 65521, 169343]  # the lengths the operator is held to
D = 4


def plain(context: GlobalContext, norm: nn.BatchNorm1d | None, parts: list[Tensor], sizes: list[int]) -> Tensor:
    h = torch.cat(parts, 1)
    if norm is not None:
        h = nn.functional.batch_norm(h, None, None, norm.weight, norm.bias, True, eps=norm.eps)
    rows = context.projection(h).split(sizes)
    return context.out_proj(torch.cat([global_context(r, context.filter(len(r))) for r in rows]))


def results(
    sizes: list[int], dtype: torch.dtype, fused: bool, with_norm: bool, order: int, **options: object
) -> list[Tensor]:
    """Output and all gradients, the same numbers in every precision; of a few nodes ten draws, as one may be lucky."""
    if sum(sizes) < 4:
        draws = [_results(draw, sizes, dtype, fused, with_norm, order, **options) for draw in range(10)]
        return [torch.stack(tensors) for tensors in zip(*draws, strict=True)]
    return _results(0, sizes, dtype, fused, with_norm, order, **options)


def _results(
    draw: int, sizes: list[int], dtype: torch.dtype, fused: bool, with_norm: bool, order: int, **options: object
) -> list[Tensor]:
    torch.manual_seed(sum(sizes) + 1000 * draw)
    context = GlobalContext(2 * D, D, order, **options).to(dtype)  # type: ignore[arg-type]
    norm = nn.BatchNorm1d(2 * D).to(dtype) if with_norm else None
    parts = [torch.randn(sum(sizes), D), torch.randn(sum(sizes), D) + 2]
    top = torch.randn(sum(sizes), D).to(dtype)
    if norm is not None:
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias)
    parts = [part.to(dtype).requires_grad_() for part in parts]
    if fused:
        batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        y = context.mix(parts, rings_of(len(batch), batch, batch.device), norm)
    else:
        y = plain(context, norm, parts, sizes)
    wanted = [*parts, *context.parameters(), *([] if norm is None else norm.parameters())]
    return [y, *torch.autograd.grad(y, wanted, top)]


def compare(sizes: list[int], with_norm: bool = True, order: int = 2, **options: object) -> None:
    ours, naive, exact = (
        results(sizes, dtype, fused, with_norm, order, **options)
        for dtype, fused in ((torch.float32, True), (torch.float32, False), (torch.float64, False))
    )
    for i, (found, same, truth) in enumerate(zip(ours, naive, exact, strict=True)):
        assert_as_good_as(found, same, truth, f"tensor {i} at {sizes}")
    for i, (found, truth) in enumerate(
        zip(results(sizes, torch.float64, True, with_norm, order, **options), exact, strict=True)
    ):
        assert relative_error(found, truth) < 1e-10, f"tensor {i} at {sizes} in float64"


@pytest.mark.parametrize("n", BAR)
def test_values_and_gradients(n: int) -> None:
    # BatchNorm over fewer than three nodes leaves nothing of the input but signs: its gradient is zero but for
    # rounding.
    compare([n], with_norm=n > 2)


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("n", [7, 4099])
def test_orders(n: int, order: int) -> None:
    compare([n], order=order)


SIZES = [1, 2, 3, 1, 5, 64, 97, 97, 300, 97, 64, 1]  # rings of one node, primes, powers of two, some of them alike


@pytest.mark.parametrize("memory", ["keep", "lean"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_short_rings_by_waves(order: int, memory: str) -> None:
    compare(SIZES, order=order, memory=memory)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 15, 16, 96, 97])
def test_harmonics_above_those_of_the_ring_fold(n: int) -> None:
    """Filters have more harmonics than these rings."""
    compare([n, n, 200], filter="waves", filter_kwargs={"frequency": 2.0})


@pytest.mark.parametrize("n", [5, 997, 1031, 4099])
def test_by_transforms_where_filters_are_rough(n: int) -> None:
    compare([n], filter="waves", filter_kwargs={"position": "absolute", "gain": "mean"})


@pytest.mark.parametrize("memory", ["keep", "lean"])
@pytest.mark.parametrize("n", [64, 4099])
def test_kept_or_recomputed_is_the_same(n: int, memory: str) -> None:
    compare([n], memory=memory)


def test_out_projection() -> None:
    compare([64], out_proj=True)


@pytest.mark.parametrize("position", ["ring", "absolute"])  # by waves up to 1,024 nodes, or by transforms
@given(st.lists(st.sampled_from([1, 1, 2, 3, 5, 17, 64, 97, 100, 1024, 1031]), min_size=1, max_size=6))
def test_batches(position: str, sizes: list[int]) -> None:
    compare(sizes, with_norm=sum(sizes) > 2, filter="waves", filter_kwargs={"position": position, "gain": "mean"})


def test_a_ring_does_not_see_its_mates() -> None:
    """Nor does it change from one time to the next, not by a bit."""
    context, rings = GlobalContext(D, D), [torch.randn(n, D) for n in SIZES]
    batch = torch.repeat_interleave(torch.arange(len(SIZES)), torch.tensor(SIZES))
    together, again = (context(torch.cat(rings), batch) for _ in range(2))
    assert torch.equal(together, again)
    for ring, found in zip(rings, together.split(SIZES), strict=True):
        assert relative_error(found, context(ring)) < 2e-7


@pytest.mark.parametrize("n", [10, 1000, 1500, 5000])
def test_gradcheck(n: int) -> None:
    """Random directions, because a full Jacobian of thousands of nodes is out of reach."""
    context, norm = GlobalContext(2, 1).double(), nn.BatchNorm1d(2).double()
    h = torch.randn(n, 2, dtype=torch.float64, requires_grad=True)
    rings = rings_of(n, torch.arange(n) // 7 if n == 10 else None, h.device)
    wanted = list(context.parameters())

    def f(h: Tensor, *_: Tensor) -> Tensor:
        return context.mix([h], rings, norm).square().mean()

    assert torch.autograd.gradcheck(f, (h, *wanted), fast_mode=True, atol=1e-6)


def test_second_derivatives_are_refused_not_wrong() -> None:
    h = torch.randn(8, D, requires_grad=True)
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(GlobalContext(D, D)(h).sum(), h, create_graph=True)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("n", [2, 2048, 2049, 10_000])
def test_moments(n: int, offset: float) -> None:
    x = torch.randn(n, 3) + offset
    x[: n // 2] += 5  # a sorted column
    mean, var = moments(x)
    assert relative_error(mean, x.double().mean(0)) < 1e-6
    assert relative_error(var, x.double().var(0, correction=0)) < 1e-5


def test_large_means_do_not_drown_the_signal() -> None:
    """A common offset of 1,000 must not cost the block its digits (BatchNorm takes it off before anything is
    summed).
    """
    context, norm = GlobalContext(D, D), nn.BatchNorm1d(D)
    x = torch.randn(10_000, D, dtype=torch.float64)
    rings = rings_of(len(x), None, x.device)
    exact = plain(context.double(), norm.double(), [x + 1000], [len(x)])
    found = context.float().mix([(x + 1000).float()], rings, norm.float())
    assert relative_error(found, exact) < 1e-3  # float32 itself holds the shifted input to 6e-5 of its spread
