"""What is to be predicted, by part of the split, and what predicting it without any network scores.

Shapes: N nodes, B graphs, R rows of a part, T targets, C classes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geco.data.dataset import GraphDataset, Info
from geco.errors import DataError
from geco.train.metrics import METRICS

__all__ = ["GUESS", "constant", "targets", "wanted"]

GUESS = {"class": "majority class", "labels": "share of each label", "values": "mean of each target"}


def targets(dataset: GraphDataset, rows: Tensor) -> Tensor:
    """Return the targets of a part of the split, as `wanted` has them.

    Args:
        dataset: not of links.
        rows: of the part: nodes of one graph, or numbers of graphs.
    """
    info = dataset.info
    y = dataset.arrays["node/y" if info.level == "node" else "graph/y"]
    if info.level == "node" and len(dataset) > 1:
        chosen = torch.zeros(len(dataset), dtype=torch.bool)
        chosen[rows] = True
        return wanted(y[torch.repeat_interleave(chosen, dataset.sizes)], info)
    return wanted(y[rows], info)


def wanted(y: Tensor, info: Info) -> Tensor:
    """Return targets as losses take them: classes ``(R,)`` and tokens int64, labels and values ``(R, T)`` float32."""
    if info.target == "class":
        return y.long().view(-1)
    return y.long() if info.target == "tokens" else y.float().view(len(y), -1)


def constant(dataset: GraphDataset, split: int) -> dict[str, float]:
    """Return what the best guess without features scores on validation and test: see `GUESS`; nothing where there is
    no such guess, or the metric has no value for it.

    Args:
        dataset: with its targets.
        split: which of its splits.

    Example:
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> sorted(constant(erdos_renyi(40, degree=3, classes=2), 0))
        ['test', 'valid']
    """
    info, parts = dataset.info, dataset.split(split)
    if info.level == "link" or info.target not in GUESS:
        return {}
    guess = _guess(targets(dataset, parts.train), info)
    try:
        return {part: _score(guess, targets(dataset, getattr(parts, part)), info) for part in ("valid", "test")}
    except DataError:
        return {}


def _guess(y: Tensor, info: Info) -> Tensor:
    """Return one row of outputs, ``(C,)`` or ``(T,)``."""
    if info.target == "class":
        return torch.bincount(y[y >= 0], minlength=info.num_targets).double()
    mean = y.double().nanmean(0).nan_to_num(0.0)
    return mean.logit(1e-9) if info.target == "labels" else mean


def _score(guess: Tensor, y: Tensor, info: Info) -> float:
    return METRICS[info.metric].score(guess.expand(len(y), -1), y)
