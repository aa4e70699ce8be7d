"""Scores by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from geco.train.metrics.ranking import hits, mrr, mrr_per_graph
from geco.train.metrics.scores import accuracy, auroc, average_precision, macro_f1, mae, micro_f1, r2, rmse
from geco.train.metrics.tokens import token_f1

__all__ = ["METRICS", "Metric"]


@dataclass(frozen=True)
class Metric:
    """A score: which way is better, and how it is computed from ``(prediction, target)``.

    Example:
        >>> import torch
        >>> METRICS["mae"].better, METRICS["mae"].score(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 2.0]))
        ('lower', 1.5)
    """

    better: Literal["higher", "lower"]
    score: Callable[..., float]


METRICS: dict[str, Metric] = {
    "accuracy": Metric("higher", accuracy),
    "micro-f1": Metric("higher", micro_f1),
    "macro-f1": Metric("higher", macro_f1),
    "auroc": Metric("higher", auroc),
    "ap": Metric("higher", average_precision),
    "mae": Metric("lower", mae),
    "rmse": Metric("lower", rmse),
    "r2": Metric("higher", r2),
    "mrr": Metric("higher", mrr),
    "mrr-filtered": Metric("higher", partial(mrr, kind="filtered")),
    "mrr-extended": Metric("higher", partial(mrr, kind="extended")),
    "mrr-per-graph": Metric("higher", mrr_per_graph),
    "hits@10": Metric("higher", partial(hits, k=10)),
    "hits@50": Metric("higher", partial(hits, k=50)),
    "hits@100": Metric("higher", partial(hits, k=100)),
    "token-f1": Metric("higher", token_f1),
}
