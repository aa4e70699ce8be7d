r"""Attention along edges: scores and weighted sums per head by sparse products, so that nothing per edge is wider than
a number.

Gathered rows, one for each edge, would take many times the memory and the time; where edges have features of their own,
those of one head at a time are gathered, and again in backward.

Shapes: N nodes, M edges, H heads, d channels of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from geco.nn.functional import csr, dropout, segment_matmul
from geco.nn.graph.edge_pairs import Pairs
from geco.nn.ops.global_context import refuse_second_derivatives

__all__ = ["edge_attention", "edge_attention_by_rows", "edge_weights", "weighted_sum"]

Add = Callable[[Tensor, Tensor, Tensor, int], Tensor]
LARGEST = 5.0  # of a score's size before the exponential, as Exphormer's authors have it


def weighted_sum(edges: Pairs, weight: Tensor, x: Tensor) -> Tensor:
    """Return the weighted sum of the sources of each node's edges, ``(M,)`` and ``(N, d)`` to ``(N, d)``; holds no rows
    per edge.

    Example:
        >>> from geco.nn.graph.edge_pairs import pairs
        >>> weighted_sum(pairs(torch.tensor([0, 1]), torch.tensor([2, 2]), 3), torch.tensor([1., 2.]), torch.eye(3))[2]
        tensor([1., 2., 0.])
    """
    result: Tensor = _WeightedSum.apply(edges, weight, x)  # type: ignore[no-untyped-call]
    return result


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Pairs, weight: Tensor, x: Tensor) -> Tensor:
        ctx.edges = edges
        ctx.save_for_backward(weight, x)
        return segment_matmul(edges.crow, edges.source, weight.contiguous(), x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        e, (weight, x) = ctx.edges, ctx.saved_tensors
        dx = segment_matmul(e.crow_t, e.target_t, weight.index_select(0, e.order_t), grads[0])
        return None, _products(e, grads[0], x), dx


def _products(edges: Pairs, to: Tensor, of: Tensor) -> Tensor:
    """Return the product of the rows at each edge's ends, ``(N, d)`` each to ``(M,)``."""
    if edges.source.numel() > len(to) * len(of):  # repeated edges of a tiny graph: more than torch's product takes
        return (to.index_select(0, edges.target) * of.index_select(0, edges.source)).sum(1)
    empty = csr(edges.crow, edges.source, to.new_zeros(edges.source.numel()), (len(to), len(of)))
    values: Tensor = torch.sparse.sampled_addmm(empty, to.contiguous(), of.t()).values()
    return values


class _Scores(torch.autograd.Function):
    """``(q, k, e)``, ``(N, d)`` twice and ``(M, d)`` or None, to the sum of their products at each edge, ``(M,)``."""

    @staticmethod
    def forward(ctx: Any, edges: Pairs, q: Tensor, k: Tensor, e: Tensor | None) -> Tensor:
        ctx.edges = edges
        ctx.save_for_backward(q, k, e)
        if e is None:
            return _products(edges, q, k)
        return q.index_select(0, edges.target).mul_(k.index_select(0, edges.source)).mul_(e).sum(1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        p, ds, (q, k, e) = ctx.edges, grads[0].contiguous(), ctx.saved_tensors
        ds_t = ds.index_select(0, p.order_t)
        if e is None:
            return None, segment_matmul(p.crow, p.source, ds, k), segment_matmul(p.crow_t, p.target_t, ds_t, q), None
        to, of = q.index_select(0, p.target), k.index_select(0, p.source)
        de = (to * of).mul_(ds.unsqueeze(1))
        each = torch.arange(len(ds), device=ds.device)
        dq = segment_matmul(p.crow, each, ds, of.mul_(e))
        return None, dq, segment_matmul(p.crow_t, p.order_t, ds_t, to.mul_(e)), de


def edge_weights(score: Tensor) -> Tensor:
    r"""Return attention before it is normalised, :math:`\exp(\mathrm{clamp}(s, -5, 5))`."""
    return score.clamp(-LARGEST, LARGEST).exp()


def edge_attention(edges: Pairs, q: Tensor, k: Tensor, v: Tensor, e: Tensor, drop: float = 0.0) -> Tensor:
    r"""Return :math:`\sum_j w_{ij} v_j` of every head and then :math:`\sum_j w_{ij}`, both over the edges from j to i,
    with :math:`w_{ij} = \exp(\mathrm{clamp}(\sum_c q_{ic} k_{jc} e_{ijc}))`.

    Args:
        edges: sorted.
        q: queries, scaled.
        k: keys.
        v: values.
        e: one for all edges, ``(H, d)``, or one for each, as they were given, ``(M, H, d)``.
        drop: probability with which a weight is left out of the first sum.

    Shapes:
        ``(N, H, d)`` each to ``(N, H d + H)``.
    """
    each = e.dim() == 3
    k = k if each else k * e
    sums, totals = [], []
    for h in range(q.shape[1]):
        of_head = e[:, h].index_select(0, edges.order) if each else None
        ends = (t[:, h].contiguous() for t in (q, k))
        weight = edge_weights(_Scores.apply(edges, *ends, of_head))  # type: ignore[no-untyped-call]
        totals.append(weight.new_zeros(len(q)).index_add(0, edges.target, weight))
        sums.append(weighted_sum(edges, dropout(weight, drop, drop > 0), v[:, h].contiguous()))
    return torch.cat([*sums, torch.stack(totals, 1)], 1)


def edge_attention_by_rows(
    ends: tuple[Tensor, Tensor],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    e: Tensor,
    drop: float = 0.0,
    *,
    there: Tensor | None = None,
    add: Add | None = None,
) -> Tensor:
    """Return what `edge_attention` does, by rows gathered for every edge: for export, explainers and GPUs.

    Args:
        ends: source and target of each edge, ``(M,)`` each.
        q: queries, scaled.
        k: keys.
        v: values.
        e: one for all edges, ``(H, d)``, or one for each, ``(M, H, d)``.
        drop: probability.
        there: whether an edge counts, ``(M,)``.
        add: adds messages up, called with sources, targets, ``(M, H d)`` and N.
    """
    source, target = ends
    weight = edge_weights((q[target] * k[source] * e).sum(-1))  # (M, H)
    weight = weight if there is None else weight * there.unsqueeze(1)
    messages = (dropout(weight, drop, drop > 0).unsqueeze(2) * v[source]).flatten(1)
    totals = weight.new_zeros(q.shape[:2]).index_add(0, target, weight)
    zeros = torch.zeros_like(v.flatten(1))
    sums = zeros.index_add(0, target, messages) if add is None else add(source, target, messages, zeros.shape[0])
    return torch.cat([sums, totals], 1)
