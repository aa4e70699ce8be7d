"""Mean reciprocal rank of links among the nodes of their own graph, as PCQM-Contact is scored.

A link (head, tail) is ranked by its score among the scores (head, node) of the graph's other nodes, in three ways:

- raw: all other nodes are candidates;
- filtered: without the tails of the head's other links, which are right answers and no mistakes;
- extended: also without the pair (head, head), which a dot product scores high and which is never a link.

Equal scores share the middle of their ranks, as in OGB's evaluator: a network that scores all nodes the same gets no
credit for it. The published scripts of PCQM-Contact sort without a rule for ties; without ties the ranks are theirs.
They average per graph and per batch, with 0 for graphs without links; here every link of the split counts once,
whatever the batches.

Shapes: B graphs of at most n nodes, p links.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from geco.errors import DataError, UsageError

__all__ = ["KINDS", "Kind", "batched_reciprocal_ranks", "mrr"]

Kind = Literal["raw", "filtered", "extended"]
KINDS: tuple[Kind, ...] = ("raw", "filtered", "extended")  # columns of the reciprocal ranks


def batched_reciprocal_ranks(scores: Tensor, positives: Tensor, ptr: Tensor) -> Tensor:
    """Return 1 / rank of each link of a batch of graphs, each ranked within its graph; graphs without links give no
    rows.

    Args:
        scores: of every pair of each graph, ``(B, n, n)``; what is beyond a graph's size is not looked at.
        positives: the links, ``(2, p)`` int64, nodes counted through the batch: ``edge_label_index[:, edge_label ==
            1]``.
        ptr: node at which each graph starts, ``(B + 1,)`` int64, as a PyG batch has it.

    Returns:
        ``(p, 3)`` float64: raw, filtered, extended, in the order of the links.

    Example:
        >>> scores = torch.tensor([[[0.0, 1.0], [5.0, 0.0]], [[3.0, 2.0], [0.0, 0.0]]])
        >>> batched_reciprocal_ranks(scores, torch.tensor([[2], [3]]), torch.tensor([0, 2, 4]))
        tensor([[0.5000, 0.5000, 1.0000]], dtype=torch.float64)
    """
    graph, head, tail = _places(scores, positives, ptr)
    linked = torch.zeros(scores.shape, dtype=torch.bool, device=scores.device)
    linked[graph, head, tail] = True
    node = torch.arange(scores.shape[-1], device=scores.device)
    raw = (node < ptr.diff()[graph, None]) & (node != tail[:, None])  # (p, n): who may stand before the link
    filtered = raw & ~linked[graph, head]
    candidates = torch.stack([raw, filtered, filtered & (node != head[:, None])], 1)  # (p, 3, n)
    row = scores[graph, head]
    link = row.gather(1, tail[:, None])
    if not bool(link.isfinite().all()) or not bool((row.isfinite() | ~raw).all()):
        raise UsageError("a score of a pair of nodes is NaN or infinite; ranks need finite scores: look at the loss")
    before, equal = ((other[:, None] & candidates).sum(-1) for other in (row > link, row == link))
    return 1 / (1 + before.double() + equal.double() / 2)


def mrr(prediction: Tensor, target: Tensor, kind: Kind = "raw") -> float:
    """Return the mean reciprocal rank over all links of a split.

    Args:
        prediction: reciprocal ranks of the split's links, ``(p, 3)``, one after another from
            `batched_reciprocal_ranks`.
        target: 1 where the row is a link to count, ``(p,)``: ``edge_label[edge_label == 1]``.
        kind: of rank.

    Example:
        >>> mrr(torch.tensor([[0.25, 0.5, 1.0], [0.75, 1.0, 1.0]]), torch.tensor([1, 1]), "filtered")
        0.75
    """
    if prediction.dim() != 2 or prediction.shape[1] != len(KINDS) or target.numel() != len(prediction):
        raise UsageError(
            f"mrr takes reciprocal ranks (p, {len(KINDS)}) and p link labels, got {tuple(prediction.shape)} "
            f"and {tuple(target.shape)}; make them with batched_reciprocal_ranks"
        )
    rows = prediction[target.view(-1) == 1, KINDS.index(kind)]
    if len(rows) == 0:
        raise DataError("no link to rank: the split has no link with label 1; check the split and edge_label")
    return float(rows.double().mean())


def _places(scores: Tensor, positives: Tensor, ptr: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return each link's graph, and its ends counted within that graph."""
    sizes = ptr.diff()
    if scores.dim() != 3 or scores.shape[1] != scores.shape[2] or len(scores) != len(sizes):
        raise UsageError(f"scores must be (B, n, n) for the {len(sizes)} graphs of ptr, got {tuple(scores.shape)}")
    if len(sizes) and int(sizes.max()) > scores.shape[1]:
        raise UsageError(f"scores hold {scores.shape[1]} nodes a graph, ptr has a graph of {int(sizes.max())}")
    if positives.dim() != 2 or len(positives) != 2:
        raise UsageError(f"positives must be (2, p), heads over tails, got {tuple(positives.shape)}")
    if positives.numel() and not 0 <= int(positives.min()) <= int(positives.max()) < int(ptr[-1]):
        raise UsageError(f"links name nodes {int(positives.min())} to {int(positives.max())}, there are {int(ptr[-1])}")
    graph = torch.bucketize(positives.contiguous(), ptr[1:], right=True)
    if not bool((graph[0] == graph[1]).all()):
        raise UsageError(
            "a link joins nodes of two graphs; links must be counted through the batch as ptr counts nodes"
        )
    head, tail = positives - ptr[graph]
    return graph[0], head, tail
