"""What a task asks of a network: which rows count, what the loss is, what the metric is given.

Unlabelled rows are -1 (classes) or NaN (labels and values) and count nowhere. For links the network gives an embedding
of every node, and its head scores pairs of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from geco.data.dataset import Info
from geco.data.links import LINK_METRICS
from geco.errors import DataError, UsageError
from geco.nn.network.link_heads import LinkHead
from geco.train.metrics import METRICS
from geco.train.metrics.ranking import COLUMNS, KINDS, batched_reciprocal_ranks, shares
from geco.train.targets import wanted

__all__ = [
    "Judged", "by_target", "criterion", "disagreement", "judge", "judged_loss", "labels_of", "loss", "score", "scores",
]  # fmt: skip

MOST = 40  # targets that are scored one by one; more would fill the log

Judged = tuple[Tensor, Tensor]  # what a metric is given: predictions and targets of the rows that count


def loss(
    output: Tensor,
    data: Data,
    mask: Tensor | None,
    info: Info,
    head: nn.Module | None = None,
    weigh: bool = False,
    std: Tensor | None = None,
    total: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Return the mean loss over the labels there are, see `criterion`; with ``total``, this part's share of that of a
    whole batch.

    Args:
        output: of the network.
        data: graphs with their targets.
        mask: of the nodes that count, if not all do.
        info: what the data set asks for.
        head: of the network, where it scores links.
        weigh: multiply each class by the share of the batch's rows that are of other classes.
        std: of each value, in whose units errors count.
        total: sums counts over the parts of a batch that is dealt out.
    """
    if info.level == "link":
        assert isinstance(head, LinkHead)
        pairs, label = head.pairs(output, data.edge_label_index), data.edge_label.to(output.dtype).view(-1)
        if total is None:
            return F.binary_cross_entropy_with_logits(pairs, label)
        count = torch.tensor([len(label) if mask is None else 0], device=label.device)
        value = F.binary_cross_entropy_with_logits(pairs, label, reduction="sum") * bool(count)
        return value / total(count).clamp(min=1)[0]
    rows = _rows(output, data, mask, info)
    if total is None:
        return criterion(*rows, info, weigh, std)
    own = labels_of(rows[1], info)
    every = total(own.clone())
    value = criterion(*rows, info, weigh, std, every)
    return value * _share(own, every, weigh and info.target == "class").to(value.dtype)


def _share(own: Tensor, every: Tensor, weigh: bool) -> Tensor:
    """Return what part of a mean over all labels those of one's own are, as a number; 0 where there are none at all."""
    weight = _class_weights(every) if weigh else None
    held, all_held = (count.double() if weight is None else weight.double() * count for count in (own, every))
    return (held.sum() / all_held.sum()).nan_to_num(0.0)


def labels_of(y: Tensor, info: Info) -> Tensor:
    """Return how many labels there are, of each class if they are classes.

    Args:
        y: targets of rows.
        info: what the data set asks for.
    """
    there = y.isfinite() if y.is_floating_point() else y >= 0
    return torch.bincount(y[there], minlength=info.num_targets) if info.target == "class" else there.sum().view(1)


def criterion(
    output: Tensor,
    y: Tensor,
    info: Info,
    weigh: bool = False,
    std: Tensor | None = None,
    every: Tensor | None = None,
) -> Tensor:
    """Return the mean loss over the rows that have a label: cross entropy, binary cross entropy or absolute error; 0 of
    none.

    Args:
        output: ``(R, C)``, ``(R, T)`` or ``(R, P, V)``.
        y: targets of the rows.
        info: what the data set asks for.
        weigh: see `loss`.
        std: see `loss`.
        every: labels of each class by which classes are weighed, if not those of y.
    """
    there = y.isfinite() if y.is_floating_point() else y >= 0
    if not bool(there.any()):  # this batch teaches nothing; that others do was checked at the start
        return output.sum() * 0.0
    if info.target == "class":
        weight = _class_weights(labels_of(y, info) if every is None else every) if weigh else None
        return F.cross_entropy(output, y, None if weight is None else weight.to(output.dtype))
    if info.target == "tokens":
        return F.cross_entropy(output.flatten(0, 1), y.flatten(), ignore_index=-1)
    if info.target == "values":
        error = (output - y) if std is None else (output - y) / std
        return error[there].abs().mean()
    return F.binary_cross_entropy_with_logits(output[there], y[there])


def _class_weights(count: Tensor) -> Tensor | None:
    """Return the share of rows that are of other classes, for each class; None of a single one."""
    return (1 - count / count.sum()) * (count > 0) if int((count > 0).sum()) > 1 else None


def judged_loss(judged: Judged, info: Info, weigh: bool = False, std: Tensor | None = None) -> dict[str, float]:
    """Return the loss of the validation part; nothing for links and tokens, whose outputs are judged otherwise.

    Args:
        judged: outputs and targets.
        info: what the data set asks for.
        weigh: see `loss`.
        std: see `loss`.
    """
    if info.level == "link" or info.target == "tokens":
        return {}
    return {"valid_loss": float(criterion(*judged, info, weigh, std))}


def disagreement(outputs: list[Tensor]) -> Tensor:
    r"""Return how far passes with different dropout are from what they agree on, as in GRAND (Feng et al., 2020):
    :math:`\frac{1}{S N} \sum_{s, i} |p_{si} - t_i|^2`, the target :math:`t_i \propto \bar p_i^2` being their sharpened
    mean.

    Labels do not occur in it, so that all rows teach, also where few have one. The target has no gradient.

    Args:
        outputs: of the S passes, scores of C classes for N rows, each ``(N, C)``.

    Example:
        >>> sure, doubtful = torch.tensor([[9.0, -9.0]]), torch.zeros(1, 2)
        >>> bool(disagreement([sure, sure]) < 1e-6), bool(disagreement([sure, doubtful]) > 0.1)
        (True, True)
    """
    passes = torch.stack(outputs).softmax(2)  # (S, N, C)
    target = passes.detach().mean(0).square()
    return (passes - target / target.sum(1, keepdim=True)).square().sum(2).mean()


def judge(output: Tensor, data: Data, mask: Tensor | None, info: Info, head: nn.Module | None = None) -> Judged:
    """Return what the metric is given for one batch: scores, or tokens, or reciprocal ranks, beside targets."""
    if info.level == "link":
        assert isinstance(head, LinkHead)
        return _ranks(head.all_pairs(output, data.ptr), data)
    if info.target == "tokens":
        return output.argmax(2), data.y_words if "y_words" in data else data.y.long()
    return _rows(output, data, mask, info)


def score(judged: Judged, info: Info) -> float:
    """Return the data set's metric."""
    options = {"unknown": len(info.names) - 2, "end": len(info.names) - 1} if info.target == "tokens" else {}
    output, y = judged
    if info.level == "link" and not info.metric.startswith("mrr"):
        if output.shape[1] < len(COLUMNS):
            raise UsageError(f"{info.metric} needs pairs without a link, of which {info.name} has none; choose mrr")
        output = output[:, COLUMNS.index("score")]
    return float(METRICS[info.metric].score(output, y, **options))


def scores(judged: Judged, info: Info) -> dict[str, float]:
    """Return the data set's metric, and for links the others that can be had of the same outputs, by name."""
    names = [info.metric]
    if info.level == "link":
        none = int((judged[1] == 0).sum()) if judged[0].shape[1] == len(COLUMNS) else 0
        more = ("mrr", "mrr-filtered", "mrr-extended", "mrr-per-graph") if none == 0 else LINK_METRICS
        names += [name for name in more if name != info.metric and int(name.partition("@")[2] or 0) <= none]
    return {name: score(judged, replace(info, metric=name)) for name in names}


def _ranks(every: Tensor, data: Data) -> Judged:
    """Return a row of ranks and share for each link, and one for each graph without links; which rows are links.

    Args:
        every: scores of all pairs of each graph, ``(B, n, n)``.
        data: the graphs.
    """
    links = data.edge_label_index[:, data.edge_label.view(-1) == 1]
    share, without = shares(links, data.ptr)
    found = torch.cat([batched_reciprocal_ranks(every, links, data.ptr), share[:, None]], 1)
    empty = F.pad(found.new_zeros(without, len(KINDS)), (0, 1), value=1.0)
    return torch.cat([found, empty]), torch.arange(len(found) + without, device=found.device).lt(len(found)).long()


def by_target(judged: Judged, info: Info) -> dict[str, dict[str, float]]:
    """Return scores of each target by its name: F1 of a class, the metric of a label, errors and R2 of a value, and all
    that links have.

    What has no score in these rows, such as a label that all have, is left out. Nothing is returned for tokens, nor
    where there are more than `MOST` targets.
    """
    if info.level == "link":
        return {"links": scores(judged, info)}
    if info.target == "tokens" or info.num_targets > MOST:
        return {}
    names = info.names if len(info.names) == info.num_targets else tuple(map(str, range(info.num_targets)))
    output, y = judged
    if info.target == "class":
        return {name: {"f1": value} for name, value in zip(names, _f1(output.argmax(1), y, len(names)), strict=True)}
    measures = ("mae", "rmse", "r2") if info.target == "values" else (info.metric,)
    return {name: _measured(output[:, [i]], y[:, [i]], measures) for i, name in enumerate(names)}


def _f1(decided: Tensor, y: Tensor, classes: int) -> list[float]:
    hits, found, true = (torch.bincount(k, minlength=classes) for k in (y[decided == y], decided, y))
    values: list[float] = (2 * hits / (found + true).clamp(min=1).double()).tolist()
    return values


def _measured(output: Tensor, y: Tensor, measures: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for measure in measures:
        with contextlib.suppress(DataError):
            found[measure] = float(METRICS[measure].score(output, y))
    return found


def _rows(output: Tensor, data: Data, mask: Tensor | None, info: Info) -> Judged:
    """Return the rows of the mask, if there is one, that have a label."""
    y = wanted(data.y, info)
    rows = y >= 0 if info.target == "class" else torch.ones(len(y), dtype=torch.bool, device=y.device)
    rows = rows if mask is None else rows & mask
    return output[rows], y[rows]
