"""What a data set's targets hold, counted: classes, positives, ranges, missing ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from geco.data.dataset import GraphDataset, Info

__all__ = ["TargetCount", "count_targets"]


@dataclass(frozen=True)
class TargetCount:
    """One class, label, value or link of the target: how many rows have it, and the range where it is a value.

    Args:
        name: of the class or column.
        count: rows of that class, positives of that label, known values, or tokens in that place.
        missing: rows without a label, value or token; 0 for classes, where `count_targets` returns it for all.
        low: smallest value, mean and high the same way; NaN where it is not a value.
        mean: see low.
        high: see low.
    """

    name: str
    count: int
    missing: int = 0
    low: float = math.nan
    mean: float = math.nan
    high: float = math.nan


def count_targets(dataset: GraphDataset) -> tuple[tuple[TargetCount, ...], int]:
    """Return what the target's classes or columns hold, and the number of rows without any target.

    Example:
        >>> from geco.data.collate import collect
        >>> y = torch.tensor([[1, torch.nan]])
        >>> graph = {"edge_index": torch.empty(2, 0, dtype=torch.int64), "num_nodes": 1, "y": y}
        >>> columns, missing = count_targets(collect(Info("one", "graph", "labels", 2, "ap"), [graph]))
        >>> [(column.count, column.missing) for column in columns], missing
        ([(1, 0), (0, 1)], 0)
    """
    info = dataset.info
    if info.level == "link":
        labels = dataset.arrays.get("link/edge_label", torch.empty(0))
        return (TargetCount("links", int((labels > 0).sum())), TargetCount("non-links", int((labels == 0).sum()))), 0
    y = dataset.arrays.get(f"{info.level}/y")
    if y is None:
        return (), 0
    y = y.view(len(y), -1)
    known = _known(y, info)
    missing = int((~known.any(1)).sum())
    if info.target == "class":
        counts = torch.bincount(y[known].long(), minlength=info.num_targets)
        return tuple(TargetCount(_name(info, i), int(count)) for i, count in enumerate(counts)), missing
    return tuple(_column(info, i, y[:, i], known[:, i]) for i in range(y.shape[1])), missing


def _known(y: Tensor, info: Info) -> Tensor:
    """Mark what is not missing: missing numbers are NaN, missing classes negative, missing tokens the last one, the
    end.
    """
    if y.is_floating_point():
        return ~y.isnan()
    if info.target == "tokens" and info.names:
        return y < len(info.names) - 1
    return torch.ones_like(y, dtype=torch.bool) if info.target == "values" else y >= 0


def _column(info: Info, index: int, y: Tensor, known: Tensor) -> TargetCount:
    found = y[known]
    missing = int((~known).sum())
    if info.target == "tokens":
        return TargetCount(f"place {index + 1}", len(found), missing)
    if info.target == "labels":
        return TargetCount(_name(info, index), int((found > 0).sum()), missing)
    if len(found) == 0:
        return TargetCount(_name(info, index), 0, missing)
    found = found.double()
    return TargetCount(
        _name(info, index), len(found), missing, float(found.min()), float(found.mean()), float(found.max())
    )


def _name(info: Info, index: int) -> str:
    return info.names[index] if index < len(info.names) else str(index)
