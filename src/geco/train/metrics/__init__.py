"""Scores by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from geco.errors import UsageError
from geco.train.metrics.ranking import hits, mrr, mrr_per_graph
from geco.train.metrics.scores import accuracy, auroc, average_precision, macro_f1, mae, micro_f1, r2, rmse
from geco.train.metrics.tokens import token_f1

__all__ = ["METRICS", "Metric", "check_metric"]


@dataclass(frozen=True)
class Metric:
    """A score: which way is better, how it is computed from ``(prediction, target)``, and which targets it suits: of
    ``class``, ``two classes``, ``labels``, ``values``, ``tokens`` and ``link``; any, where none is named.

    Example:
        >>> import torch
        >>> METRICS["mae"].better, METRICS["mae"].score(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 2.0]))
        ('lower', 1.5)
    """

    better: Literal["higher", "lower"]
    score: Callable[..., float]
    suits: tuple[str, ...] = ()


DECIDED = ("class", "two classes", "labels")
RANKED = ("two classes", "labels")
METRICS: dict[str, Metric] = {
    "accuracy": Metric("higher", accuracy, DECIDED),
    "micro-f1": Metric("higher", micro_f1, DECIDED),
    "macro-f1": Metric("higher", macro_f1, DECIDED),
    "auroc": Metric("higher", auroc, (*RANKED, "link")),
    "ap": Metric("higher", average_precision, (*RANKED, "link")),
    "mae": Metric("lower", mae, ("values",)),
    "rmse": Metric("lower", rmse, ("values",)),
    "r2": Metric("higher", r2, ("values",)),
    "mrr": Metric("higher", mrr, ("link",)),
    "mrr-filtered": Metric("higher", partial(mrr, kind="filtered"), ("link",)),
    "mrr-extended": Metric("higher", partial(mrr, kind="extended"), ("link",)),
    "mrr-per-graph": Metric("higher", mrr_per_graph, ("link",)),
    "hits@10": Metric("higher", partial(hits, k=10), ("link",)),
    "hits@50": Metric("higher", partial(hits, k=50), ("link",)),
    "hits@100": Metric("higher", partial(hits, k=100), ("link",)),
    "token-f1": Metric("higher", token_f1, ("tokens",)),
}


def check_metric(name: str, level: str = "", target: str = "", count: int = 0) -> None:
    """Refuse a metric that does not exist, or does not suit what is predicted.

    Args:
        name: of the metric.
        level: what is predicted: node, graph or link.
        target: class, labels, values or tokens; only the name is checked if not given.
        count: number of classes.

    Example:
        >>> check_metric("auroc", "node", "class", 2)
        >>> check_metric("auroc", "node", "class", 4)
        Traceback (most recent call last):
        geco.errors.UsageError: the metric 'auroc' does not suit 4 classes; choose one of accuracy, micro-f1, macro-f1
    """
    if name not in METRICS:
        raise UsageError(f"no metric is called {name!r}; choose one of {', '.join(METRICS)}")
    kind = "link" if level == "link" else "two classes" if (target, count) == ("class", 2) else target
    fitting = [other for other, metric in METRICS.items() if not metric.suits or kind in metric.suits]
    if kind and name not in fitting:
        what = {"class": f"{count} classes", "labels": "yes-or-no labels", "link": "links"}.get(kind, kind)
        raise UsageError(f"the metric {name!r} does not suit {what}; choose one of {', '.join(fitting)}")
