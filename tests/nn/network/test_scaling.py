"""Columns of numbers as they come."""

from __future__ import annotations

import pytest
import torch

from geco.nn.network.encoders import Features
from geco.nn.network.scaling import log_units, mean_and_deviation, settled, uneven


def columns() -> torch.Tensor:
    """Return a switch, weighted words, heights in cm, incomes, and a signed quantity with rare large values."""
    draw = torch.randn(2000, 5, generator=torch.Generator().manual_seed(0))
    words = torch.where(draw[:, 1] > 1.5, draw[:, 1].abs() / 9, 0.0)
    return torch.stack(
        [(draw[:, 0] > 0).float(), words, 170 + 10 * draw[:, 2], (8 + 2 * draw[:, 3]).exp(), draw[:, 4] ** 5], 1
    )


def test_each_column_gets_what_it_needs() -> None:
    rows = columns()
    assert settled(rows).tolist() == [True, True, False, False, False]
    units = log_units(rows)
    assert (units > 0).tolist() == [False, True, False, True, True]
    assert float(units[3]) == pytest.approx(float(rows[:, 3].median()))
    assert uneven(rows)
    assert not uneven(rows[:, :2])


def test_robust_features_are_of_one_size() -> None:
    rows = columns()
    encoder = Features(5, 5, robust=True)
    encoder.fit(iter(rows.split(700)))
    with torch.no_grad():
        encoder.linear.weight.copy_(torch.eye(5))
        encoder.linear.bias.zero_()
    found = encoder(rows).detach()
    torch.testing.assert_close(found[:, :2], rows[:, :2], rtol=0, atol=0)
    torch.testing.assert_close(found[:, 2:].mean(0), torch.zeros(3), rtol=0, atol=1e-4)
    torch.testing.assert_close(found[:, 2:].std(0, correction=0), torch.ones(3), rtol=0, atol=1e-4)
    assert float(found.abs().max()) < 8, "no row is far from all others"
    assert bool((found[:, 3].argsort() == rows[:, 3].argsort()).all()), "order is kept"


def test_what_was_fitted_is_kept_with_the_weights() -> None:
    encoder, again = Features(5, 3, robust=True), Features(5, 3, robust=True)
    encoder.fit([columns()])
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(again(columns()), encoder(columns()))


def test_plain_features_have_what_they_had() -> None:
    assert set(Features(2, 3).state_dict()) == {"linear.weight", "linear.bias"}
    assert set(Features(2, 3, standardise=True).state_dict()) == {"linear.weight", "linear.bias", "mean", "std"}


def test_moments_in_blocks_are_those_of_all_rows() -> None:
    rows = columns()
    mean, std, count = mean_and_deviation(rows.split(300), 5)
    assert count == 2000
    torch.testing.assert_close(mean, rows.double().mean(0))
    torch.testing.assert_close(std, rows.double().std(0, correction=0))
