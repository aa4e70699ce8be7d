"""Ranks of links among pairs without one: mean reciprocal ranks and Hits@k.

Where there are many graphs, as in PCQM-Contact, a link (head, tail) is ranked by its score among the scores (head,
node) of the graph's other nodes, in three ways:

- raw: all other nodes are candidates;
- filtered: without the tails of the head's other links, which are right answers and no mistakes;
- extended: also without the pair (head, head), which a dot product scores high and which is never a link.

Equal scores share the middle of their ranks, as in OGB's evaluator: a network that scores all nodes the same gets no
credit for it. The published scripts of PCQM-Contact sort without a rule for ties; without ties the ranks are theirs.
They average per graph, with 0 for graphs without links, and then per batch: `mrr_per_graph` is that but for the
batches. In `mrr` every link of the split counts once, whatever graph it is of.

In one graph a link is ranked among some nodes that its head has no link with (`ranks_among`), which is extended.

Shapes: B graphs of at most n nodes, p links.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from geco.errors import DataError, UsageError

__all__ = [
    "COLUMNS", "KINDS", "Kind", "batched_reciprocal_ranks", "hits", "mrr", "mrr_per_graph", "ranks_among", "shares",
]  # fmt: skip

Kind = Literal["raw", "filtered", "extended"]
KINDS: tuple[Kind, ...] = ("raw", "filtered", "extended")  # columns of the reciprocal ranks
COLUMNS = (*KINDS, "share", "score")  # of what links are judged by; the score where there are pairs without a link


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


def ranks_among(links: Tensor, others: Tensor) -> Tensor:
    """Return 1 / rank of the score of each link among others; equal scores share the middle of their ranks.

    Args:
        links: ``(p,)``.
        others: scores of the candidates of each, none of them a link, ``(p, C)``.

    Returns:
        ``(p,)`` float64.

    Example:
        >>> ranks_among(torch.tensor([2.0, 1.0]), torch.tensor([[3.0, 0.0], [1.0, 1.0]]))
        tensor([0.5000, 0.5000], dtype=torch.float64)
    """
    before, equal = ((mark(others, links[:, None])).sum(1) for mark in (torch.gt, torch.eq))
    return 1 / (1 + before.double() + equal.double() / 2)


def shares(positives: Tensor, ptr: Tensor) -> tuple[Tensor, int]:
    """Return 1 / number of links of its graph for each link, ``(p,)`` float64, and how many graphs have no link.

    Args:
        positives: the links, ``(2, p)``, nodes counted through the batch.
        ptr: node at which each graph starts, ``(B + 1,)``.
    """
    graph = torch.bucketize(positives[0].contiguous(), ptr[1:], right=True)
    count = torch.bincount(graph, minlength=len(ptr) - 1)
    return 1 / count[graph].double(), int((count == 0).sum())


def mrr(prediction: Tensor, target: Tensor, kind: Kind = "raw") -> float:
    """Return the mean reciprocal rank over all links of a split.

    Args:
        prediction: reciprocal ranks of the split's links in its first columns, ``(p, 3 or more)``, one after another
            from `batched_reciprocal_ranks`.
        target: 1 where the row is a link to count, ``(p,)``: ``edge_label[edge_label == 1]``.
        kind: of rank.

    Example:
        >>> mrr(torch.tensor([[0.25, 0.5, 1.0], [0.75, 1.0, 1.0]]), torch.tensor([1, 1]), "filtered")
        0.75
    """
    if prediction.dim() != 2 or prediction.shape[1] < len(KINDS) or target.numel() != len(prediction):
        raise UsageError(
            f"mrr takes reciprocal ranks (p, {len(KINDS)}) and p link labels, got {tuple(prediction.shape)} "
            f"and {tuple(target.shape)}; make them with batched_reciprocal_ranks"
        )
    rows = prediction[target.view(-1) == 1, KINDS.index(kind)]
    if len(rows) == 0:
        raise DataError("no link to rank: the split has no link with label 1; check the split and edge_label")
    return float(rows.double().mean())


def mrr_per_graph(prediction: Tensor, target: Tensor, kind: Kind = "raw") -> float:
    """Return the mean over graphs of the mean reciprocal rank of a graph's links, 0 for a graph without links, as in
    GraphGPS.

    Args:
        prediction: ``(p, 4 or more)``: reciprocal ranks, and in the fourth column 1 / number of links of the graph; a
            graph without links has one row, of zeros and a 1.
        target: 1 where the row is a link, ``(p,)``.
        kind: of rank.

    Example:
        >>> rows = [[0.5, 0.5, 0.5, 0.5], [1.0, 1.0, 1.0, 0.5], [0.25, 0.25, 0.25, 1.0], [0.0, 0.0, 0.0, 1.0]]
        >>> mrr_per_graph(torch.tensor(rows), torch.tensor([1, 1, 1, 0]))  # of 0.75, 0.25 and 0
        0.333...
    """
    mrr(prediction, target)  # refuses what cannot be ranked
    share = prediction[:, COLUMNS.index("share")].double()
    return float((prediction[:, KINDS.index(kind)].double() * share).sum() / share.sum())


def hits(prediction: Tensor, target: Tensor, k: int) -> float:
    """Return Hits@k: the share of links that fewer than k of all pairs without a link score as high as or higher.

    So a link that ties with the k-th best of them is no hit, as in OGB's evaluator, and a network that scores all pairs
    the same has 0. Fewer than k pairs without a link are refused: every link would be a hit.

    Args:
        prediction: scores ``(p,)`` or ``(p, 1)``.
        target: 1 for links and 0 for pairs without one.
        k: how many pairs without a link may score as high.

    Example:
        >>> hits(torch.tensor([0.9, 0.5, 0.5, 0.1]), torch.tensor([1, 1, 0, 0]), 1)
        0.5
    """
    scores, links = prediction.view(-1), target.view(-1) == 1
    none = scores[~links]
    if len(none) < k or not bool(links.any()):
        raise DataError(
            f"Hits@{k} needs a link and at least {k} pairs without one; there are {int(links.sum())} and {len(none)}"
        )
    return float((scores[links] > none.topk(k).values[-1]).double().mean())


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
