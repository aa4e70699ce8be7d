"""Smooth functions from few of their values: right to rounding, gradients too, or not at all."""

import pytest
import torch
from torch import Tensor

from geco.nn import GECOConv
from geco.nn.filters.paper import PaperFilter
from geco.nn.ops.interpolate import interpolated


def waves(speeds: Tensor) -> object:
    """Return a function of places whose smoothness is known."""
    return lambda place: torch.sin(place * speeds.double() + 0.3)


@pytest.mark.parametrize("n", [4096, 4099, 16_381, 131_072, 169_343])
def test_values_and_gradients_are_those_of_the_function(n: int) -> None:
    speeds = torch.tensor([0.0, 1.0, 20.0], dtype=torch.float64) / n
    ours, theirs = (speeds.clone().requires_grad_() for _ in range(2))
    found = interpolated(waves(ours), n)
    assert found is not None
    there = waves(theirs)(torch.arange(n).unsqueeze(1)).t()
    naive = (there.float().double() - there).abs().max()
    assert (found.double() - there).abs().max() <= 2 * naive + 4 * torch.finfo(torch.float32).eps
    top = torch.randn(found.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found.backward(top.float())
    there.backward(top)
    assert torch.allclose(ours.grad, theirs.grad, rtol=1e-5, atol=1e-5 * float(theirs.grad.abs().max()))


@pytest.mark.parametrize("n", [1, 2, 3, 97, 4095])
def test_short_lengths_are_left_alone(n: int) -> None:
    assert interpolated(waves(torch.zeros(1)), n) is None


def test_rough_functions_are_left_alone() -> None:
    assert interpolated(waves(torch.tensor([0.0, 1.0])), 16_381) is None
    rough = lambda place: (place % 7).double()  # noqa: E731
    assert interpolated(rough, 16_381) is None


def test_a_function_that_is_rough_in_one_place_only_is_left_alone() -> None:
    assert interpolated(lambda place: (place - 7001.5).abs(), 16_381) is None


def test_the_papers_filter_is_the_same_from_few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    filter = PaperFilter(2, 8)
    mix, phi = filter.fast_factors([131_072])
    monkeypatch.setattr(PaperFilter, "_interpolated", lambda self, size: None)
    mix_there, phi_there = filter.fast_factors([131_072])
    assert torch.equal(mix, mix_there)
    assert (phi - phi_there).abs().max() < 1e-5
    assert not torch.equal(phi, phi_there)  # or nothing was compared


def test_rough_filters_of_the_paper_go_place_by_place() -> None:
    torch.manual_seed(0)
    conv = GECOConv(4, filter="paper", filter_kwargs={"frequency": 3000.0})
    assert conv.context.filter._interpolated(16_381) is None
    edges = torch.randint(0, 16_381, (2, 100))
    assert conv(torch.randn(16_381, 4), edges).isfinite().all()
