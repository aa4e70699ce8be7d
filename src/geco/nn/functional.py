"""Operators on the ring of nodes: the length plan, the circular convolution, the sparse propagation; dropout; sparse
features.

Each operator has an O(N^2) twin in `geco.nn.reference`.

Shapes: N nodes, M edges, D channels, L >= 2N - 1 a length that is fast to transform.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import torch
from scipy.fft import next_fast_len
from torch import Tensor
from torch.autograd.function import FunctionCtx

from geco.nn.ops import limits

__all__ = [
    "circular_conv",
    "compact",
    "csr",
    "dropout",
    "fast_length",
    "full_precision",
    "node_places",
    "propagate",
    "ring_length",
    "row_starts",
    "segment_matmul",
]

# Features of so many columns, and of no more than this share that is not zero, are kept sparse.
WIDE, SPARSE = 1024, 1 / 16


def fast_length(n: int) -> int:
    """Return the smallest length >= n without prime factors above 11, which every FFT library handles well.

    >>> fast_length(169343)
    169344
    """
    return int(next_fast_len(n))


@lru_cache(maxsize=4096)
def ring_length(n: int) -> int:
    """Return the transform length for a ring of n nodes: n itself, or a fast L >= 2n - 1 to fold back.

    A circular convolution of prime length is slow in every FFT library, but it equals a linear one of length
    2n - 1 whose tail t + n is added to t. ogbn-arxiv (n = 169,343) is prime.

    >>> ring_length(131072), ring_length(169343)
    (131072, 338688)
    """
    return n if _largest_factor(n) <= limits.LARGEST_DIRECT_FACTOR else fast_length(2 * n - 1)


def _largest_factor(n: int) -> int:
    largest, p = 1, 2
    while p * p <= n:
        while n % p == 0:
            largest = p
            n = n // p
        p += 1
    return max(largest, n)


def circular_conv(v: Tensor, f: Tensor) -> Tensor:
    r"""Convolve around the ring, :math:`y_t = \sum_i v_i f_{(t-i) \bmod N}`, exactly, for any N >= 1.

    Differentiable (twice, too). Half precision is computed in float32 and returned as it came.

    Args:
        v: values, ``(..., N)``.
        f: filters, ``(..., N)``; leading dimensions broadcast against those of ``v``.

    Shapes:
        ``(..., N)`` with ``(..., N)`` to ``(..., N)``.

    Example:
        >>> circular_conv(torch.tensor([1., 2., 3.]), torch.tensor([0., 1., 0.]))
        tensor([3., 1., 2.])
    """
    if v.dim() == 0 or f.dim() == 0 or v.shape[-1] != f.shape[-1]:
        raise ValueError(
            f"circular_conv needs v and f of one length in the last dimension, got {tuple(v.shape)} and "
            f"{tuple(f.shape)}; "
            "evaluate the filter at the length of v"
        )
    if v.shape[-1] == 0:
        raise ValueError("circular_conv needs at least one node (N >= 1), got N = 0")
    if v.is_complex() or f.is_complex():
        raise ValueError(f"circular_conv takes real tensors, got {v.dtype} and {f.dtype}")
    if v.device != f.device:
        raise ValueError(f"circular_conv got v on {v.device} and f on {f.device}; move both to one device")
    dtype = torch.promote_types(v.dtype, f.dtype)
    work = dtype if dtype in (torch.float32, torch.float64) else torch.float32
    result: Tensor = _CircularConv.apply(v.to(work), f.to(work))  # type: ignore[no-untyped-call]
    return result.to(dtype if dtype.is_floating_point else work)


class _CircularConv(torch.autograd.Function):
    """Keeps v and f only; the adjoint of a convolution is the convolution with the reversed other operand."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, f: Tensor) -> Tensor:
        ctx.save_for_backward(v, f)
        n = v.shape[-1]
        length = ring_length(n)
        y: Tensor = torch.fft.irfft(torch.fft.rfft(v, n=length).mul(torch.fft.rfft(f, n=length)), n=length)
        if length == n:
            return y
        y[..., : n - 1] += y[..., n : 2 * n - 1]  # the tail wraps around the ring
        return y[..., :n].contiguous()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None]:
        v, f = ctx.saved_tensors
        dv = circular_conv(grads[0], reverse(f)).sum_to_size(v.shape) if ctx.needs_input_grad[0] else None
        df = circular_conv(grads[0], reverse(v)).sum_to_size(f.shape) if ctx.needs_input_grad[1] else None
        return dv, df


def reverse(f: Tensor) -> Tensor:
    """Return the ring read backwards, ``f[(-t) mod N]``."""
    return f.flip(-1).roll(1, -1)


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Return a context without autocast, for statistics and transforms."""
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)  # meta has none


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    r"""Zero entries with probability p and scale the others by :math:`1 / (1 - p)`, p rounded to a multiple of 2\
    :sup:`-16`.

    On a CPU torch's own draws a random number for each entry, a good part of a training step. Here one serves four, and
    zeros of a sparse x need none.

    Args:
        x: any shape; dense, or sparse in CSR.
        p: probability, in [0, 1).
        training: False returns x.

    Example:
        >>> y = dropout(torch.ones(10_000), 0.25, True)
        >>> sorted(set(y.tolist())), round(float(y.mean()), 1)
        ([0.0, 1.3333333730697632], 1.0)
    """
    if not training or p == 0.0:
        return x
    if x.layout == torch.sparse_csr:
        return csr(x.crow_indices(), x.col_indices(), dropout(x.values(), p, training), x.shape)
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return torch.nn.functional.dropout(x, p, training)
    dropped = min(round(p * 2**16), 2**16 - 1)
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)  # 64 random bits each
    kept = draws.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - 2**15
    return x * kept.to(x.dtype).mul_(2**16 / (2**16 - dropped))


def propagate(crow: Tensor, col: Tensor, value: Tensor, transpose: tuple[Tensor, Tensor, Tensor], x: Tensor) -> Tensor:
    r"""Return :math:`\hat A x` for a CSR matrix whose transpose is known, so that backward is one product as well.

    Args:
        crow: row pointers, ``(N + 1,)``, int32 or int64.
        col: column of each entry, ``(M,)``, same type.
        value: value of each entry, ``(M,)``.
        transpose: ``(crow, col, value)`` of the transposed matrix.
        x: node features, ``(N, D)``.

    Shapes:
        ``(N, D)`` to ``(N, D)``.
    """
    result: Tensor = _Propagate.apply(crow, col, value, *transpose, x)  # type: ignore[no-untyped-call]
    return result


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, crow: Tensor, col: Tensor, value: Tensor, crow_t: Tensor, col_t: Tensor, value_t: Tensor, x: Tensor
    ) -> Tensor:
        ctx.save_for_backward(crow_t, col_t, value_t, crow, col, value)
        return segment_matmul(crow, col, value, x)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor | None, ...]:
        crow_t, col_t, value_t, crow, col, value = ctx.saved_tensors  # type: ignore[attr-defined]
        dx = propagate(crow_t, col_t, value_t, (crow, col, value), grads[0])
        return None, None, None, None, None, None, dx


def segment_matmul(crow: Tensor, col: Tensor, value: Tensor, x: Tensor) -> Tensor:
    """Multiply a CSR matrix with dense rows, ``(N, N) @ (N, D) -> (N, D)``.

    Read as a weighted bag of rows per node: on CPU this kernel was faster than the CSR product, and unlike
    that one it also exists on CUDA in the same form. Indices must be in range (see `Adjacency`).
    """
    if col.numel() == 0 or x.shape[1] == 0:
        return x.new_zeros(crow.numel() - 1, x.shape[1])
    return torch.nn.functional.embedding_bag(
        col, x.contiguous(), crow, mode="sum", per_sample_weights=value, include_last_offset=True
    )


def row_starts(row: Tensor, num_rows: int) -> Tensor:
    """Return where each row's entries start once they are sorted by row, and where the last ends, ``(M,)`` to ``(N +
    1,)``.

    >>> row_starts(torch.tensor([2, 0, 2]), 4)
    tensor([0, 1, 1, 3, 3])
    """
    return torch.nn.functional.pad(torch.bincount(row, minlength=num_rows).cumsum(0), (1, 0))


def node_places(nodes: Tensor, filled: Tensor) -> Tensor:
    """Return where each node stands, from the node at each place, ``(P,)``, and which places are filled, ``(P,)``.

    >>> node_places(torch.tensor([1, 7, 0, 2]), torch.tensor([True, False, True, True]))
    tensor([2, 0, 3])
    """
    places = filled.nonzero().squeeze(1)
    return torch.empty_like(places).index_copy_(0, nodes[places], places)


def csr(crow: Tensor, col: Tensor, value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return torch's sparse matrix of these parts, which must fit together, without its notice that such are new."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(crow, col, value, shape, check_invariants=False)


def compact(x: Tensor) -> Tensor:
    """Return wide features that are mostly zero, such as bags of words, as a sparse matrix in CSR; others as they are.

    Linear maps of them then take time and memory by what is not zero.

    Args:
        x: features, ``(N, C)``.

    Example:
        >>> compact(torch.eye(2000)).layout, compact(torch.ones(2000, 2000)).layout, compact(torch.eye(20)).layout
        (torch.sparse_csr, torch.strided, torch.strided)
    """
    if x.shape[1] < WIDE or int(x.count_nonzero()) > x.numel() * SPARSE:
        return x
    row, col = x.nonzero(as_tuple=True)
    return csr(row_starts(row, len(x)), col, x[row, col], x.shape)
