from __future__ import annotations

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from geco.nn import ImplicitFilter
from geco.nn.filters.waves import Gain
from tests.conftest import relative_error


@pytest.mark.parametrize("position", ["ring", "absolute"])
@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4))
def test_factors_hold_every_ring(position: str, sizes: list[int]) -> None:
    filter = ImplicitFilter(2, 3, position=position, gain="mean" if position == "absolute" else "unit").double()
    mix, phi = filter.factors(sizes)
    wanted = torch.cat([filter(n) for n in sizes], 2)
    assert torch.allclose(mix @ phi, wanted)


@pytest.mark.parametrize("n", [1, 2, 3, 97, 1000])
def test_starts_near_one(n: int) -> None:
    sums = ImplicitFilter(2, 50, gain="mean")(n).sum(-1)
    assert abs(float(sums.detach().mean()) - 1) < 0.2


def test_is_a_function_of_the_ring() -> None:
    """The same places of a coarser ring have the same filter, but for the scale 1 / N."""
    filter = ImplicitFilter(2, 3, gain="mean")
    assert torch.allclose(filter(300)[..., ::3] * 300, filter(100) * 100, atol=1e-5)


@pytest.mark.parametrize("n", [997, 1500, 10_007])
@pytest.mark.parametrize("frequency", [1.0, 4.0])
@pytest.mark.parametrize("gain", ["unit", "mean"])
def test_harmonics_are_the_whole_filter(n: int, frequency: float, gain: Gain) -> None:
    """Values and gradients: what is cut off is below rounding, also where weights are zero still."""
    filter = ImplicitFilter(2, 3, frequency=frequency, gain=gain).double()
    if gain == "unit":
        nn.init.zeros_(filter.mix.weight.data[:3])
    spectrum = filter.harmonics_of(n // 2)
    assert spectrum is not None
    strength = torch.full((spectrum.shape[1], 1), n**0.5 if gain == "unit" else 1.0, dtype=torch.float64)
    strength[0] = 1.0
    taps = torch.fft.irfft((spectrum * strength).transpose(1, 2), n=n)  # (K, D, N): of the filter times N / N
    wanted = filter(n)
    assert relative_error(taps, wanted) < 1e-13
    top = torch.randn_like(wanted)
    for found, exact in zip(
        torch.autograd.grad(taps, list(filter.parameters()), top),
        torch.autograd.grad(wanted, list(filter.parameters()), top),
        strict=True,
    ):
        assert relative_error(found, exact) < 1e-11


def test_rough_filters_have_no_short_spectrum() -> None:
    for gain in get_args(Gain):
        assert ImplicitFilter(2, 3, frequency=30.0, gain=gain).harmonics_of(100) is None
    assert ImplicitFilter(2, 3, position="absolute", gain="mean").harmonics_of(10**6) is None
    with pytest.raises(ValueError, match="gain='unit' needs position='ring'"):
        ImplicitFilter(2, 3, position="absolute")


def test_can_be_trained_after_it_was_used_for_inference() -> None:
    """What is remembered of the grid serves both, whichever comes first."""
    filter = ImplicitFilter(2, 3, harmonics=5)  # a number no other test has, so that inference is the first to ask
    with torch.inference_mode():
        filter.harmonics_of(1000)
    spectrum = filter.harmonics_of(1000)
    assert spectrum is not None
    spectrum.abs().sum().backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in filter.parameters())


def test_no_table_ties_a_checkpoint_to_a_size() -> None:
    filter = ImplicitFilter(2, 3)
    shapes = {name: p.shape for name, p in filter.named_parameters()}
    filter(10)
    filter(100_000)
    assert {name: p.shape for name, p in filter.named_parameters()} == shapes


def test_cache_only_without_gradients() -> None:
    filter = ImplicitFilter(1, 1)
    calls = []

    def build() -> int:
        calls.append(1)
        return len(calls)

    filter.cached("a", build)
    filter.cached("a", build)
    assert len(calls) == 2
    with torch.no_grad():
        assert filter.cached("a", build) == filter.cached("a", build) == 3
        nn.init.zeros_(filter.mix.weight)
        assert filter.cached("a", build) == 4
        for key in range(100):
            filter.cached(key, build)
        assert len(filter._cache) <= 8
