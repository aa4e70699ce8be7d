"""Which algorithm computes the global context block on which graphs, and that it makes no difference but to time."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from geco.nn import GlobalContext
from geco.nn.filters import FilterName
from geco.nn.ops import limits, plan
from geco.nn.ops.fft_rings import FFTRings
from geco.nn.ops.limits import LONG_RING, LONG_RING_OF_WINDOWS, SHORT_RING, SHORT_RING_OF_WINDOWS
from geco.nn.ops.long_ring import LongRing, harmonic_limit
from geco.nn.ops.long_ring_windows import LongRingWithWindows
from geco.nn.ops.plan import choose
from geco.nn.ops.short_rings import ShortRings
from tests.conftest import relative_error

D = 4


@pytest.fixture(autouse=True)
def blocks_of_rows() -> None:
    """Leave the limits as they are."""


@pytest.mark.parametrize(
    ("sizes", "filter", "name", "kind"),
    [
        ((SHORT_RING_OF_WINDOWS, 3), "windows", "short-rings", ShortRings),
        ((SHORT_RING_OF_WINDOWS + 1, 3), "windows", "fft", FFTRings),
        ((SHORT_RING, 3), "waves", "short-rings", ShortRings),
        ((SHORT_RING + 1, 3), "waves", "fft", FFTRings),
        ((LONG_RING_OF_WINDOWS,), "windows", "long-ring", LongRingWithWindows),
        ((LONG_RING,), "waves", "long-ring", LongRing),
        ((LONG_RING,), "mean", "long-ring", LongRing),
        ((LONG_RING,) * 2, "mean", "fft", FFTRings),
        ((LONG_RING_OF_WINDOWS - 1,), "windows", "fft", FFTRings),
        ((LONG_RING - 1,), "waves", "fft", FFTRings),
        ((LONG_RING,), "paper", "fft", FFTRings),
    ],
)
def test_which_algorithm(sizes: tuple[int, ...], filter: FilterName, name: str, kind: type) -> None:
    context = GlobalContext(D, D, filter=filter)
    assert context.filter is not None
    assert isinstance(choose(context.filter, sizes, torch.randn(1, D)).plan, kind)
    found = context.plan(sizes)
    assert found.name == name
    assert f"{max(sizes):,}" in str(found)
    assert GlobalContext(D, D, filter=filter, algorithm="plain").plan(sizes).name == "plain"
    assert context.to("meta").plan(sizes) == ("plain", "on meta")


def test_rough_filters_go_by_fft() -> None:
    context = GlobalContext(D, D)
    nn.init.constant_(context.filter.frequencies, 100.0)  # filters too rough for few harmonics
    assert context.filter.harmonics_of(harmonic_limit(LONG_RING)) is None
    assert context.plan([LONG_RING_OF_WINDOWS]).name == context.plan([5, 3]).name == "fft"
    assert GlobalContext(D, D, filter="none").plan([5]).name == "none"


def test_plans_agree_on_trained_like_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    context = GlobalContext(D, D, filter="waves", filter_kwargs={"gain": "mean"})
    nn.init.normal_(context.filter.frequencies, 1.0, 0.5)
    nn.init.normal_(context.filter.mix.weight)
    h = torch.randn(5000, D)
    smooth = context(h)
    monkeypatch.setattr(plan, "harmonic_limit", lambda n: 0)
    assert relative_error(smooth, context(h)) < 1e-6
    waves = context(h[:1000])
    monkeypatch.setattr(limits, "SHORT_RING", 0)
    assert relative_error(waves, context(h[:1000])) < 1e-6
