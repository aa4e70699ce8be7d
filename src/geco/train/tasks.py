"""What a task asks of a network: which rows count, what the loss is, what the metric is given.

Unlabelled rows are -1 (classes) or NaN (labels and values) and count nowhere.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from geco.data.dataset import Info
from geco.errors import DataError

__all__ = ["chosen", "loss", "target"]


def target(data: Data, info: Info) -> Tensor:
    """Return what the network's output is compared with: ``(N,)``, ``(B,)``, ``(B, T)``, ``(B, P)`` or ``(links,)``."""
    found: Tensor = data.edge_label if info.level == "link" else data.y
    if info.target == "class":
        return found.long().view(-1)
    return found.long() if info.target == "tokens" else found.float().view(len(found), -1)


def chosen(output: Tensor, wanted: Tensor, mask: Tensor | None, info: Info) -> tuple[Tensor, Tensor]:
    """Return the rows that count: those of the mask, if there is one, that have a label."""
    labelled = wanted >= 0 if info.target == "class" else torch.ones(len(wanted), dtype=torch.bool, device=wanted.device)
    rows = labelled if mask is None else labelled & mask
    return output[rows], wanted[rows]


def loss(output: Tensor, wanted: Tensor, info: Info) -> Tensor:
    """Return the mean loss over the labels there are: cross entropy, binary cross entropy or absolute error."""
    if len(wanted) == 0 or (wanted.is_floating_point() and not bool(wanted.isfinite().any())):
        raise DataError(f"{info.name}: no labelled {info.level} to train on; check the split and the labels")
    if info.target == "class" and info.level != "link":
        _check_classes(wanted, output.shape[1], info)
        return F.cross_entropy(output, wanted)
    if info.target == "tokens":
        return F.cross_entropy(output.flatten(0, 1), wanted.flatten())
    if info.level == "link":
        return F.binary_cross_entropy_with_logits(output, wanted.float().view(-1))
    there = wanted.isfinite()
    if info.target == "values":
        return F.l1_loss(output[there], wanted[there])
    return F.binary_cross_entropy_with_logits(output[there], wanted[there])


def _check_classes(wanted: Tensor, classes: int, info: Info) -> None:
    bad = wanted[wanted >= classes]
    if bad.numel():
        raise DataError(f"{info.name}: {bad.numel()} labels are over {classes - 1}, the last class, up to {int(bad.max())}")
