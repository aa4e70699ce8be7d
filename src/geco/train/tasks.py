"""What a task asks of a network: which rows count, what the loss is, what the metric is given.

Unlabelled rows are -1 (classes) or NaN (labels and values) and count nowhere. For links the network gives an embedding of every
node; a pair's score is their dot product.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_batch

from geco.data.dataset import Info
from geco.errors import DataError
from geco.train.metrics import METRICS
from geco.train.ranking import batched_reciprocal_ranks

__all__ = ["Judged", "judge", "loss", "score"]

Judged = tuple[Tensor, Tensor]  # what a metric is given: predictions and targets of the rows that count


def loss(output: Tensor, data: Data, mask: Tensor | None, info: Info) -> Tensor:
    """Return the mean loss over the labels there are: cross entropy, binary cross entropy or absolute error."""
    if info.level == "link":
        one, other = data.edge_label_index
        return F.binary_cross_entropy_with_logits((output[one] * output[other]).sum(1), data.edge_label.float().view(-1))
    output, wanted = _rows(output, data, mask, info)
    there = wanted.isfinite() if wanted.is_floating_point() else wanted >= 0
    if not bool(there.any()):
        raise DataError(f"{info.name}: no labelled {info.level} to train on; check the split and the labels")
    if info.target == "class":
        _check_classes(wanted, output.shape[1], info)
        return F.cross_entropy(output, wanted)
    if info.target == "tokens":
        return F.cross_entropy(output.flatten(0, 1), wanted.flatten())
    if info.target == "values":
        return F.l1_loss(output[there], wanted[there])
    return F.binary_cross_entropy_with_logits(output[there], wanted[there])


def judge(output: Tensor, data: Data, mask: Tensor | None, info: Info) -> Judged:
    """Return what the metric is given for one batch: scores, or tokens, or reciprocal ranks, beside targets."""
    if info.level == "link":
        links = data.edge_label.view(-1) == 1
        nodes, _ = to_dense_batch(output, data.batch)  # (B, n, D)
        return batched_reciprocal_ranks(nodes @ nodes.mT, data.edge_label_index[:, links], data.ptr), data.edge_label[links]
    if info.target == "tokens":
        return output.argmax(2), data.y_words if "y_words" in data else data.y.long()
    return _rows(output, data, mask, info)


def score(judged: Judged, info: Info) -> float:
    """Return the data set's metric."""
    options = {"unknown": len(info.names) - 2, "end": len(info.names) - 1} if info.target == "tokens" else {}
    return float(METRICS[info.metric].score(*judged, **options))


def _rows(output: Tensor, data: Data, mask: Tensor | None, info: Info) -> Judged:
    """Return the rows of the mask, if there is one, that have a label."""
    if info.target == "class":
        wanted = data.y.long().view(-1)
    else:
        wanted = data.y.long() if info.target == "tokens" else data.y.float().view(len(data.y), -1)
    rows = wanted >= 0 if info.target == "class" else torch.ones(len(wanted), dtype=torch.bool, device=wanted.device)
    rows = rows if mask is None else rows & mask
    return output[rows], wanted[rows]


def _check_classes(wanted: Tensor, classes: int, info: Info) -> None:
    bad = wanted[wanted >= classes]
    if bad.numel():
        raise DataError(f"{info.name}: {bad.numel()} labels are over {classes - 1}, the last class, up to {int(bad.max())}")
