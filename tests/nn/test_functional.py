from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from geco.nn import reference
from geco.nn.functional import circular_conv, compact, dropout, fast_length, ring_length
from tests.conftest import assert_as_good_as, relative_error

LENGTHS = [1, 2, 3, 4, 5, 7, 64, 97, 997, 1024]


@pytest.mark.parametrize("n", LENGTHS)
def test_equals_the_circulant_matrix(n: int) -> None:
    v, f = torch.randn(3, n, dtype=torch.float64), torch.randn(3, n, dtype=torch.float64)
    assert relative_error(circular_conv(v, f), reference.circular_conv(v, f)) < 1e-13


@pytest.mark.parametrize("n", [*LENGTHS, 65521, 131072, 169343])
def test_float32_values_and_gradients_are_as_good_as_naive(n: int) -> None:
    v, f, g = torch.randn(2, n), torch.randn(2, n), torch.randn(2, n)

    def naive(v: torch.Tensor, f: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft(torch.fft.rfft(v) * torch.fft.rfft(f), n=n)

    results = []
    for operator, dtype in ((circular_conv, torch.float32), (naive, torch.float32), (naive, torch.float64)):
        a, b = v.to(dtype).requires_grad_(), f.to(dtype).requires_grad_()
        y = operator(a, b)
        results.append([y, *torch.autograd.grad(y, (a, b), g.to(dtype))])
    for found, same, exact in zip(*results, strict=True):
        assert_as_good_as(found, same, exact)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 67, 73])
def test_gradients(n: int) -> None:
    v = torch.randn(2, n, dtype=torch.float64, requires_grad=True)
    f = torch.randn(n, dtype=torch.float64, requires_grad=True)
    assert gradcheck(circular_conv, (v, f))
    if n < 8:
        assert gradgradcheck(circular_conv, (v, f))


@given(st.integers(1, 200), st.integers(0, 400))
def test_shifting_the_input_shifts_the_output(n: int, shift: int) -> None:
    v, f = torch.randn(n, dtype=torch.float64), torch.randn(n, dtype=torch.float64)
    assert torch.allclose(circular_conv(v.roll(shift), f), circular_conv(v, f).roll(shift))
    assert torch.allclose(circular_conv(v, f), circular_conv(f, v))


@given(st.integers(1, 10**7))
def test_lengths(n: int) -> None:
    assert fast_length(n) >= n
    assert ring_length(n) == n or ring_length(n) >= 2 * n - 1


def test_known_lengths() -> None:
    assert ring_length(131072) == 131072
    assert ring_length(169343) >= 2 * 169343 - 1  # ogbn-arxiv, prime
    assert fast_length(169343) == 169344


def test_half_precision_is_computed_in_float32() -> None:
    v, f = torch.randn(100), torch.randn(100)
    found = circular_conv(v.bfloat16(), f.bfloat16())
    assert found.dtype == torch.bfloat16
    exact = reference.circular_conv(v.bfloat16().double(), f.bfloat16().double())
    assert relative_error(found, exact) < 2**-8


@pytest.mark.parametrize(
    ("v", "f", "word"),
    [
        (torch.randn(3), torch.randn(4), "one length"),
        (torch.randn(0), torch.randn(0), "at least one node"),
        (torch.randn(3, dtype=torch.complex64), torch.randn(3), "real"),
        (torch.randn(3), torch.randn(3, device="meta"), "device"),
    ],
)
def test_refuses(v: torch.Tensor, f: torch.Tensor, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        circular_conv(v, f)


@given(
    st.sampled_from([0.001, 0.1, 0.5, 0.9]), st.sampled_from([(40_001,), (200, 203), (7, 60, 99)]), st.integers(0, 9)
)
def test_dropout_zeroes_as_often_as_asked_and_keeps_the_mean(p: float, shape: tuple[int, ...], seed: int) -> None:
    torch.manual_seed(seed)
    x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
    y = dropout(x, p, True)
    (grad,) = torch.autograd.grad(y.sum(), x)
    y = y.detach()
    assert torch.equal(grad, y)
    spread = (p * (1 - p) / y.numel()) ** 0.5
    assert abs(float((y == 0).double().mean()) - p) < 6 * spread + 2**-16
    assert abs(float(y.mean()) - 1) < 6 * spread / (1 - p)


def test_dropout_entries_are_independent() -> None:
    """Four entries share a draw: neighbours must not be alike."""
    torch.manual_seed(0)
    kept = (dropout(torch.ones(400_000), 0.5, True) > 0).double() - 0.5
    for shift in range(1, 9):
        assert abs(float((kept[:-shift] * kept[shift:]).mean())) < 6 * 0.25 / 400_000**0.5, shift
    assert all(abs(float(kept[lane::4].mean())) < 6 * 0.5 / 100_000**0.5 for lane in range(4))


def test_dropout_that_does_nothing() -> None:
    x = torch.randn(5)
    assert torch.equal(dropout(x, 0.5, False), x)
    assert torch.equal(dropout(x, 0.0, True), x)


def bag_of_words(rows: int, columns: int = 2000) -> torch.Tensor:
    return torch.randn(rows, columns, dtype=torch.float64) * (torch.rand(rows, columns) < 0.01)


@pytest.mark.parametrize("rows", [1, 2, 3, 13, 64])
def test_compact_keeps_every_number(rows: int) -> None:
    x = bag_of_words(rows)
    x[rows // 2] = 0  # a row without words
    found = compact(x)
    assert found.layout == torch.sparse_csr
    assert torch.equal(found.to_dense(), x)


def test_dropout_of_sparse_features_drops_among_what_is_not_zero() -> None:
    x = compact(bag_of_words(200))
    y = dropout(x, 0.25, True).to_dense()
    kept = y != 0
    torch.testing.assert_close(y[kept], x.to_dense()[kept] / 0.75, rtol=1e-4, atol=0)
    assert 0.7 < int(kept.sum()) / x.values().numel() < 0.8
    assert dropout(x, 0.25, False) is x
