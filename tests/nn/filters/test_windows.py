"""Windows over distances: what they are, and every plan against the plain composition in float64."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from geco.nn import GECOConv, GlobalContext
from geco.nn.filters import FilterName
from geco.nn.filters.windows import WindowedFilter, Windows, wrapped
from geco.nn.ops.fft_rings import FFTRings
from geco.nn.ops.long_ring_windows import LongRingWithWindows
from geco.nn.ops.plan import choose
from geco.nn.ops.short_rings import ShortRings
from tests.conftest import random_edges, relative_error
from tests.nn.ops.test_global_context import compare


@given(support=st.integers(1, 40), size=st.integers(1, 60))
def test_wrapping_adds_up_what_falls_on_one_place(support: int, size: int) -> None:
    taps = torch.randn(2, 2 * support + 1, dtype=torch.float64)
    wanted = torch.zeros(2, size, dtype=torch.float64)
    for d in range(-support, support + 1):
        wanted[:, d % size] += taps[:, d + support]
    assert torch.allclose(wrapped(taps, size), wanted)


def test_features_have_unit_gain_at_every_scale() -> None:
    norms = Windows(1, 1, width=256, depth=1, frequency=30.0).features().detach().norm(dim=1)
    for scales in norms.split(64):  # from the nearest nodes to the farthest
        assert abs(float(scales.mean()) - 1) < 0.15


@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=4))
def test_factors_hold_every_ring(sizes: list[int]) -> None:
    filter = WindowedFilter(2, 3, support=20).double()
    mix, phi = filter.factors(sizes)
    assert torch.allclose(mix @ phi, torch.cat([filter(n) for n in sizes], 2))


@pytest.mark.parametrize("filter", ["windows", "waves", "mean"])
@pytest.mark.parametrize("n", [1, 2, 3, 97, 256, 257, 1021, 2048, 4099, 16_381])
def test_values_and_gradients(filter: FilterName, n: int) -> None:
    compare([n], with_norm=n > 2, filter=filter)


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("n", [7, 300, 8192])
def test_orders(n: int, order: int) -> None:
    compare([n], order=order, filter="windows")


@pytest.mark.parametrize("memory", ["keep", "lean"])
@pytest.mark.parametrize("support", [1, 5, 128, 700])
def test_batches(memory: str, support: int) -> None:
    sizes = [1, 2, 3, 1, 5, 64, 97, 97, 300, 97, 64, 1]
    compare(sizes, filter="windows", memory=memory, filter_kwargs={"support": support})


@pytest.mark.parametrize("sizes", [[1500, 5, 5], [5000, 30]])
def test_batches_with_long_rings(sizes: list[int]) -> None:
    compare(sizes, filter="windows")


@pytest.mark.parametrize(("n", "support", "kind"), [
    (500, 128, ShortRings), (500, 3000, ShortRings), (3000, 128, FFTRings), (5000, 128, LongRingWithWindows),
    (5000, 1, LongRingWithWindows), (5000, 2400, FFTRings),
])  # fmt: skip
def test_which_plan(n: int, support: int, kind: type) -> None:
    context = GlobalContext(4, 4, filter_kwargs={"support": support})
    assert isinstance(choose(context.filter, (n,), torch.zeros(1, 4)).plan, kind)


@pytest.mark.parametrize(
    ("n", "support"), [(4500, 1200), (4097, 128), (4160, 128)]
)  # a last block of one and of a few rows
def test_windows_that_reach_around_a_long_ring(n: int, support: int) -> None:
    compare([n], filter="windows", filter_kwargs={"support": support})


def test_no_table_ties_a_checkpoint_to_a_size() -> None:
    conv = GECOConv(4)
    shapes = {name: p.shape for name, p in conv.named_parameters()}
    for n in (10, 5000):
        conv(torch.randn(n, 4), random_edges(n))
    assert {name: p.shape for name, p in conv.named_parameters()} == shapes


def test_a_window_hears_a_distance_alike_on_every_ring() -> None:
    filter = WindowedFilter(1, 2)
    nn.init.zeros_(filter.mix.weight)
    assert relative_error((filter(400) - 1 / 400)[..., :100], (filter(5000) - 1 / 5000)[..., :100]) < 1e-5


def test_support_is_refused_below_one() -> None:
    with pytest.raises(ValueError, match="support of windows must be at least 1, got 0"):
        WindowedFilter(2, 3, support=0)
