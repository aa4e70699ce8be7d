"""Functions of one node row at a time, run through the cache in blocks of rows that are recomputed in backward.

Shapes: N nodes, C channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from geco.nn.ops.global_context import refuse_second_derivatives

__all__ = ["by_rows"]

ROWS = 2048


def by_rows(fn: Callable[..., Tensor], parameters: Sequence[Tensor], *inputs: Tensor) -> Tensor:
    """Return ``fn(*inputs)`` for a function that treats each row by itself, holding only the inputs for backward.

    Large temporaries are never made, which on a CPU is faster as well: each would be paged in again at every call.
    Random numbers drawn by ``fn`` are drawn again in backward, the same ones.

    Args:
        fn: function of ``(rows, C)`` tensors that returns ``(rows, .)``.
        parameters: everything else that ``fn`` depends on and that may need a gradient.
        inputs: tensors ``(N, C)`` of equal N.

    Example:
        >>> by_rows(torch.sin, [], torch.zeros(5000, 2)).shape
        torch.Size([5000, 2])
    """
    device = inputs[0].device.type
    if device != "cpu" or len(inputs[0]) <= ROWS or torch.is_autocast_enabled(device):
        return fn(*inputs)
    result: Tensor = _ByRows.apply(fn, len(inputs), *inputs, *parameters)  # type: ignore[no-untyped-call]
    return result


class _ByRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fn: Callable[..., Tensor], num_inputs: int, *tensors: Tensor) -> Tensor:
        ctx.fn, ctx.num_inputs, ctx.random_state = fn, num_inputs, torch.get_rng_state()
        ctx.save_for_backward(*tensors)
        out = None
        for start, *blocks in zip(
            range(0, len(tensors[0]), ROWS), *(t.split(ROWS) for t in tensors[:num_inputs]), strict=True
        ):
            y = fn(*blocks)
            out = y.new_empty(len(tensors[0]), y.shape[1]) if out is None else out
            out[start : start + ROWS] = y
        assert out is not None
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        inputs, parameters = ctx.saved_tensors[: ctx.num_inputs], ctx.saved_tensors[ctx.num_inputs :]
        wanted = [p for p in parameters if p.requires_grad]
        dinputs = [torch.empty_like(t) for t in inputs]
        sums = [torch.zeros_like(p) for p in wanted]
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random_state)
            for grad, *blocks in zip(grads[0].split(ROWS), *(t.split(ROWS) for t in (*inputs, *dinputs)), strict=True):
                rows = [b.detach().requires_grad_() for b in blocks[: len(inputs)]]
                with torch.enable_grad():
                    out = ctx.fn(*rows)
                found = torch.autograd.grad(out, [*rows, *wanted], grad)
                for drows, d in zip(blocks[len(inputs) :], found, strict=False):
                    drows.copy_(d)
                for total, d in zip(sums, found[len(inputs) :], strict=True):
                    total.add_(d)
        each = iter(sums)
        return None, None, *dinputs, *(next(each) if p.requires_grad else None for p in parameters)
