"""What a network made of the test part, small enough to keep beside its weights and enough to draw.

Shapes: R rows, C classes, T targets.
"""

from __future__ import annotations

from typing import Any

import torch

from geco.data.dataset import Info
from geco.train.tasks import MOST, Judged

__all__ = ["outcome"]

POINTS = 1200  # of all targets together


def outcome(judged: Judged, info: Info) -> dict[str, Any]:
    """Return counts by true and predicted class, ``confusion`` ``(C, C)``, or true and predicted values of rows evenly
    apart, ``pairs``: two lists for each target. Nothing for labels, tokens and links, nor for more than 40 targets.

    Args:
        judged: outputs and targets.
        info: what the data set asks for.

    Example:
        >>> info = Info("pets", "node", "class", 2, "accuracy", names=("cat", "dog"))
        >>> outcome((torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])), info)
        {'names': ['cat', 'dog'], 'confusion': [[1, 0], [1, 0]]}
    """
    output, y = judged
    if info.level == "link" or info.target not in ("class", "values") or info.num_targets > MOST:
        return {}
    count = info.num_targets
    names = list(info.names) if len(info.names) == count else list(map(str, range(count)))
    if info.target == "class":
        pairs = torch.bincount(y * count + output.argmax(1), minlength=count**2)
        return {"names": names, "confusion": pairs.view(count, count).tolist()}
    rows = torch.linspace(0, max(0, len(y) - 1), min(len(y), POINTS // count)).round().long()
    return {"names": names, "pairs": [_pairs(y[rows, i], output[rows, i]) for i in range(count)]}


def _pairs(true: torch.Tensor, predicted: torch.Tensor) -> list[list[float]]:
    known = true.isfinite()
    return [[float(f"{value:.5g}") for value in part[known].tolist()] for part in (true, predicted)]
