r"""The global context block as one autograd function, with BatchNorm folded into its projection.

:math:`\mathrm{BN}(H) W^\top + b = (H - \mu) (W s)^\top + (b + W \beta)` with :math:`s = \gamma / \sqrt{\sigma^2 +
\epsilon}`, so the normalised :math:`[X, \hat A X]` never exists; the mean is taken off block by block, because folding
it into the bias as well would lose digits where it is large. What is held between forward and backward are the inputs
and a few rows of numbers; `LongRing`, `LongRingWithWindows`, `ShortRings` and `FFTRings` say how the rings themselves
are computed.

Shapes: N nodes, C columns of H, K order, D channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from geco.nn.ops.plan import Chosen
from geco.nn.ops.protocol import Plan, Projection, SharedRows

__all__ = ["FoldedNorm", "global_context", "moments", "refuse_second_derivatives", "track"]

ROWS = 2048  # rows of one pass over H that stay in the cache


@dataclass(frozen=True)
class FoldedNorm:
    """BatchNorm over nodes, each ``(C,)``; ``mean`` and ``var`` are None when they are to be taken from H itself, and
    from what others hold of it if it is ``shared``.
    """

    gamma: Tensor
    beta: Tensor
    eps: float
    mean: Tensor | None = None
    var: Tensor | None = None
    shared: SharedRows | None = None

    @classmethod
    def identity(cls, like: Tensor) -> FoldedNorm:
        """Return the norm that leaves H, with as many columns as ``like`` has numbers, as it is."""
        one, zero = torch.ones_like(like), torch.zeros_like(like)
        return cls(one, zero, 0.0, zero, one)

    @classmethod
    def of(cls, norm: nn.BatchNorm1d, dtype: torch.dtype) -> FoldedNorm:
        """Return what a BatchNorm does now: with its running statistics, or in training with those of H."""
        gamma, beta = norm.weight.to(dtype), norm.bias.to(dtype)
        if norm.training or norm.running_mean is None or norm.running_var is None:
            shared = norm if norm.training and isinstance(norm, SharedRows) else None
            return cls(gamma, beta, norm.eps, shared=shared)
        return cls(gamma, beta, norm.eps, norm.running_mean.to(dtype), norm.running_var.to(dtype))


@torch.no_grad()
def track(norm: nn.BatchNorm1d, mean: Tensor, var: Tensor, count: int) -> None:
    """Update BatchNorm's running statistics as it would itself (unbiased variance)."""
    if norm.running_mean is None or norm.running_var is None or norm.num_batches_tracked is None:
        return
    norm.num_batches_tracked.add_(1)
    pace = 1.0 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
    norm.running_mean.lerp_(mean.to(norm.running_mean.dtype), pace)
    norm.running_var.lerp_(var.to(norm.running_var.dtype) * (count / max(1, count - 1)), pace)


def global_context(
    parts: Sequence[Tensor], projection: nn.Linear, order: int, chosen: Chosen, norm: nn.BatchNorm1d | None = None
) -> Tensor:
    """Return what `GlobalContext.plain` does of BatchNorm(H), ``(N, D)``, and update BatchNorm's running statistics.

    Args:
        parts: column groups of H in ring order, each ``(N, .)``, with C columns together.
        projection: to K gates and the value, C to (K + 1) D.
        order: K.
        chosen: how to compute on these rings.
        norm: BatchNorm of H.
    """
    weight = projection.weight.to(parts[0].dtype).unflatten(0, (order + 1, -1))
    bias = projection.bias.to(parts[0].dtype).view(order + 1, -1)
    folded = FoldedNorm.identity(weight.detach()[0, 0]) if norm is None else FoldedNorm.of(norm, parts[0].dtype)
    small = (weight, bias, folded.gamma, folded.beta)
    out, mean, var, rows = _GlobalContext.apply(  # type: ignore[no-untyped-call]
        chosen.plan, folded, chosen.spectra, len(parts), *small, *parts, *chosen.filters
    )
    if norm is not None and norm.training:
        track(norm, mean, var, rows)
    result: Tensor = out
    return result


class _GlobalContext(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        plan: Plan,
        norm: FoldedNorm,
        spectra: Sequence[Tensor] | None,
        num_parts: int,
        weight: Tensor,
        bias: Tensor,
        gamma: Tensor,
        beta: Tensor,
        *tensors: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, int]:
        parts, filters = tensors[:num_parts], tensors[num_parts:]
        mean, var, rows = _statistics(parts, norm)
        spectra = plan.transform(filters) if spectra is None else spectra
        plan_weight, plan_bias = (t.to(weight.dtype) for t in _fold(weight, bias, gamma, beta, var, norm.eps))
        out, kept = plan.forward(Projection(parts, _centre(parts, mean), plan_weight, plan_bias), spectra)
        ctx.plan, ctx.norm, ctx.num_parts, ctx.num_spectra, ctx.rows = plan, norm, num_parts, len(spectra), rows
        ctx.save_for_backward(weight, bias, gamma, beta, mean, var, *parts, *spectra, *kept)
        ctx.mark_non_differentiable(mean, var)
        return out, mean, var, rows

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        with torch.no_grad(), torch.autocast(grads[0].device.type, enabled=False):
            return _backward(ctx, grads[0])


def refuse_second_derivatives() -> None:
    """Stop a backward pass under ``create_graph=True``: its result would count as a constant, silently."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "GECO layers are differentiable once; for second derivatives (create_graph=True) use the plain form, "
            "GECOConv(..., algorithm='plain')"
        )


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    weight, bias, gamma, beta, mean, var, *rest = ctx.saved_tensors
    parts, spectra = rest[: ctx.num_parts], rest[ctx.num_parts : ctx.num_parts + ctx.num_spectra]
    kept = rest[ctx.num_parts + ctx.num_spectra :]
    weight, bias, gamma, beta, var = small = tuple(
        t.detach().requires_grad_() for t in (weight, bias, gamma, beta, var)
    )
    with torch.enable_grad():
        folded = _fold(weight, bias, gamma, beta, var, ctx.norm.eps)
    plan_weight, plan_bias = (t.detach().to(weight.dtype) for t in folded)
    projection = Projection(parts, _centre(parts, mean), plan_weight, plan_bias)
    dparts, dweight, dbias, dfilters = ctx.plan.backward(grad, projection, spectra, kept)
    *dsmall, dvar = torch.autograd.grad(folded, small, (dweight.double(), dbias.double()))
    if ctx.norm.mean is None:
        dmean = -(dbias.unsqueeze(-1) * folded[0].detach()).sum((0, 1))  # H enters as H - mean
        if ctx.norm.shared is not None:
            dmean, dvar = ctx.norm.shared.summed(dmean, dvar)
        _through_statistics(dparts, parts, mean, dmean.to(grad.dtype), dvar, ctx.rows)
    return None, None, None, None, *dsmall, *dparts, *dfilters


def _statistics(parts: Sequence[Tensor], norm: FoldedNorm) -> tuple[Tensor, Tensor, int]:
    """Return mean and variance of each column, and of how many rows they are."""
    rows = len(parts[0])
    if norm.mean is not None and norm.var is not None:
        return norm.mean.clone(), norm.var.clone(), rows
    each = [moments(part) for part in parts]
    mean, var = torch.cat([m for m, _ in each]), torch.cat([v for _, v in each])
    return (mean, var, rows) if norm.shared is None else norm.shared.merged(mean, var, rows)


def moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and (biased) variance of each column, ``(N, C)`` to ``(C,)`` twice, in one pass through the cache.

    Each block of rows is centred on its own mean and the blocks are merged in float64, so a large common offset or a
    sorted column costs no digits.
    """
    counts, means, squares = [], [], []
    for block in x.split(ROWS if x.device.type == "cpu" else len(x)):
        mean = block.mean(0)
        centred = block - mean
        rest = centred.mean(0)  # what rounding took off the mean
        counts.append(len(block))
        means.append(mean.double() + rest)
        squares.append(centred.mul_(centred).mean(0).double() - rest.double().square())
    share = torch.tensor(counts, dtype=torch.float64, device=x.device).unsqueeze(1) / len(x)
    each = torch.stack(means)
    mean = (share * each).sum(0)
    var = (share * (torch.stack(squares) + (each - mean).square())).sum(0)
    return mean.to(x.dtype), var.to(x.dtype)


def _centre(parts: Sequence[Tensor], mean: Tensor) -> tuple[Tensor, ...]:
    return tuple(mean.split([part.shape[1] for part in parts]))


def _fold(weight: Tensor, bias: Tensor, gamma: Tensor, beta: Tensor, var: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return the projection of the centred H that equals the given one of BatchNorm(H); small, so in float64."""
    scale = gamma.double() * torch.rsqrt(var.double() + eps)
    return weight.double() * scale, bias.double() + weight.double() @ beta.double()


def _through_statistics(
    dparts: list[Tensor], parts: Sequence[Tensor], mean: Tensor, dmean: Tensor, dvar: Tensor, rows: int
) -> None:
    """Add the gradient that reaches H through its mean and variance: ``(2 dvar (H - mean) + dmean) / N``, with N
    ``rows`` in all.
    """
    slope = 2 * dvar / rows
    offset = dmean / rows - slope * mean
    start = 0
    for part, dpart in zip(parts, dparts, strict=True):
        cols = slice(start, start := start + part.shape[1])
        for block, dblock in zip(part.split(ROWS), dpart.split(ROWS), strict=True):
            dblock.addcmul_(block, slope[cols]).add_(offset[cols])
