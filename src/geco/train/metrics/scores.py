"""Scores of classes, labels and values, of a whole split at once, as OGB's evaluators and scikit-learn define them.

Predictions are a network's outputs: scores of the classes ``(N, C)``, one logit of each yes-or-no label ``(N, T)``,
values ``(N, T)``. Integers are taken as decided: class numbers ``(N,)``, or labels 0 and 1 ``(N, T)``. Missing targets
are NaN in labels and values, negative in integers, and count nowhere. Nothing to score is a `DataError`, never a silent
0.

Shapes: N rows (nodes or graphs), C classes, T labels or values.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from geco.errors import DataError, UsageError

__all__ = ["accuracy", "auroc", "average_precision", "macro_f1", "mae", "micro_f1", "r2", "rmse"]

_NOTHING = "no known label or value to score: the rows are empty or all their targets are missing; check the split"


def accuracy(prediction: Tensor, target: Tensor) -> float:
    """Return the share of right classes or labels; of several labels, the mean of each label's share.

    Args:
        prediction: ``(N, C)`` or ``(N, T)`` scores, or decided integers.
        target: classes ``(N,)`` or labels ``(N, T)``. Labels that are missing in all rows are left out of the mean.

    Example:
        >>> accuracy(torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]]), torch.tensor([1, 1, -1]))
        0.5
    """
    decided, truth, known, _ = _decide(prediction, target)
    return _mean_of_columns((decided == truth).double(), known)


def micro_f1(prediction: Tensor, target: Tensor) -> float:
    """Return the F1 of all decisions together; for classes that is the accuracy. 0 if nothing is positive or predicted
    so.

    Args:
        prediction: see `accuracy`.
        target: see `accuracy`.

    Example:
        >>> micro_f1(torch.tensor([[2.0, -1.0], [-3.0, 1.0]]), torch.tensor([[1.0, 0.0], [1.0, float("nan")]]))
        0.666...
    """
    hits, predicted, true = _counts(prediction, target)
    return float(2 * hits.sum() / (predicted.sum() + true.sum()).clamp(min=1))


def macro_f1(prediction: Tensor, target: Tensor) -> float:
    """Return the mean F1 of the classes that are predicted or true in some labelled row, or of the labels.

    A label that is neither true nor predicted anywhere has F1 0; one that is missing in all rows is left out.

    Args:
        prediction: see `accuracy`.
        target: see `accuracy`.

    Example:
        >>> macro_f1(torch.tensor([0, 0, 2]), torch.tensor([0, 1, 2]))
        0.555...
    """
    hits, predicted, true = _counts(prediction, target)
    return float((2 * hits / (predicted + true).clamp(min=1)).mean())


def auroc(prediction: Tensor, target: Tensor) -> float:
    """Return the area under the ROC curve, mean over the labels with a positive and a negative; equal scores count
    half.

    Args:
        prediction: scores ``(N, T)``, or ``(N, 2)`` of two classes.
        target: labels 0, 1 or NaN ``(N, T)``, or the two classes ``(N,)``.

    Example:
        >>> auroc(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([0, 0, 1, 1]))
        0.875
    """
    return _mean_over_labels(_area, prediction, target, "AUROC")


def average_precision(prediction: Tensor, target: Tensor) -> float:
    """Return the average precision, mean over the labels with a positive and a negative; equal scores are one step.

    Args:
        prediction: see `auroc`.
        target: see `auroc`.

    Example:
        >>> average_precision(torch.tensor([[0.1], [0.4], [0.35], [0.8]]), torch.tensor([[0.0], [0.0], [1.0], [1.0]]))
        0.833...
    """
    return _mean_over_labels(_precision, prediction, target, "average precision")


def mae(prediction: Tensor, target: Tensor) -> float:
    """Return the mean absolute error over the known values; of several values, the mean of each value's error.

    Args:
        prediction: ``(N, T)`` or ``(N,)``.
        target: same shape, NaN where missing; integers are all known. A value missing in all rows is left out of the
            mean.

    Example:
        >>> mae(torch.tensor([[1.0, 5.0], [2.0, 0.0]]), torch.tensor([[2.0, 5.0], [4.0, float("nan")]]))
        0.75
    """
    prediction, target = _columns(prediction, target)
    _same(prediction, target)
    return _mean_of_columns((prediction.double() - target.double()).abs(), ~target.isnan())


def rmse(prediction: Tensor, target: Tensor) -> float:
    """Return the root of the mean squared error over the known values; of several values, the mean of each value's.

    Args:
        prediction: see `mae`.
        target: see `mae`.

    Example:
        >>> rmse(torch.tensor([1.0, 5.0]), torch.tensor([4.0, 9.0]))
        3.535...
    """
    prediction, target = _columns(prediction, target)
    _same(prediction, target)
    known = ~target.isnan()
    squares = (prediction.double() - target.double()).square().where(known, 0.0).sum(0)
    return _mean_of_columns((squares / known.sum(0)).sqrt().expand(len(target), -1), known)


def r2(prediction: Tensor, target: Tensor) -> float:
    """Return the share of the variance that is explained, 1 less squared error over variance: 1 is perfect, 0 what the
    mean of these rows scores, negative worse. Of several values the mean; those that do not vary are left out.

    Args:
        prediction: see `mae`.
        target: see `mae`.

    Example:
        >>> r2(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 2.0, 3.0]))
        0.5
    """
    prediction, target = _columns(prediction, target)
    _same(prediction, target)
    known, target = ~target.isnan(), target.double()
    rest = (target - prediction.double()).square().where(known, 0.0).sum(0)
    mean = target.where(known, 0.0).sum(0) / known.sum(0)
    whole = (target - mean).square().where(known, 0.0).sum(0)
    if not bool((whole > 0).any()):
        raise DataError("R2 needs a value that varies over these rows; check the split, or choose another metric")
    return float((1 - rest / whole)[whole > 0].mean())


def _decide(prediction: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, bool]:
    """Return decisions, truth and where it is known, ``(N, 1)`` classes or ``(N, T)`` labels, and whether they are
    classes.
    """
    scores = prediction.is_floating_point()
    prediction, target = _columns(prediction, target)
    if scores and target.shape[1] == 1 < prediction.shape[1]:
        if bool((target >= prediction.shape[1]).any()):
            raise UsageError(
                f"the target has class {int(target.nan_to_num(0).max())}, only {prediction.shape[1]} are predicted"
            )
        return prediction.argmax(1, keepdim=True), target, target >= 0, True
    _same(prediction, target)
    if not scores and target.shape[1] == 1:
        if bool((prediction < 0).any()):
            raise UsageError(f"predicted classes count from 0, got {int(prediction.min())}")
        return prediction, target, target >= 0, True
    return (prediction > 0).long(), target, _known_labels(target), False


def _counts(prediction: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return how often each class or label is rightly predicted, predicted and true, float64."""
    decided, truth, known, classes = _decide(prediction, target)
    if not bool(known.any()):
        raise DataError(_NOTHING)
    if classes:
        decided, truth = decided[known], truth[known].long()
        size = 1 + int(torch.maximum(decided.max(), truth.max()))
        counts = torch.stack([found.bincount(minlength=size) for found in (truth[decided == truth], decided, truth)])
        counts = counts[:, counts.any(0)]
    else:
        yes, true = (decided > 0) & known, (truth == 1) & known
        counts = torch.stack([marks.sum(0) for marks in (yes & true, yes, true)])[:, known.any(0)]
    hits, predicted, true = counts.double()
    return hits, predicted, true


def _mean_over_labels(score: Callable[[Tensor, Tensor], float], prediction: Tensor, target: Tensor, name: str) -> float:
    """Return the mean score of the labels that have a positive and a negative; a loop over T, not over rows."""
    prediction, target = _columns(prediction, target)
    if prediction.shape[1] == 2 and target.shape[1] == 1:  # two classes: by how much the second is preferred
        prediction = prediction[:, 1:].double() - prediction[:, :1].double()
    _same(prediction, target)
    known, found = _known_labels(target), []
    for column in range(target.shape[1]):
        rows = known[:, column]
        positive = target[rows, column] == 1
        if 0 < int(positive.sum()) < len(positive):
            found.append(score(*_steps(prediction[rows, column], positive)))
    if not found:
        raise DataError(
            f"{name} needs a label with at least one positive and one negative; none of {target.shape[1]} has both "
            f"in these {len(target)} rows: check the split, or choose another metric"
        )
    return sum(found) / len(found)


def _steps(scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """Return how many positives and negatives are at or above each distinct score, the highest first, int64."""
    scores, order = scores.sort(descending=True)
    ends = torch.cat([scores[1:] != scores[:-1], torch.ones_like(positive[:1])]).nonzero().view(-1)
    positives = positive[order].cumsum(0)[ends]
    return positives, ends + 1 - positives


def _area(positives: Tensor, negatives: Tensor) -> float:
    before = positives - positives.diff(prepend=positives.new_zeros(1))
    twice = negatives.diff(prepend=negatives.new_zeros(1)) * (positives + before)  # trapezia; integers, so exact
    return int(twice.sum()) / (2 * int(positives[-1]) * int(negatives[-1]))


def _precision(positives: Tensor, negatives: Tensor) -> float:
    precision = positives.double() / (positives + negatives)
    return float((positives.diff(prepend=positives.new_zeros(1)) * precision).sum()) / int(positives[-1])


def _mean_of_columns(values: Tensor, known: Tensor) -> float:
    """Return the mean over columns of each column's mean over its known rows."""
    count = known.sum(0)
    if not bool(count.any()):
        raise DataError(_NOTHING)
    return float((values.where(known, 0.0).sum(0) / count)[count > 0].mean())


def _known_labels(target: Tensor) -> Tensor:
    known = ~target.isnan() if target.is_floating_point() else target >= 0
    wrong = target[known & (target != 0) & (target != 1)]
    if wrong.numel():
        raise DataError(
            f"labels must be 0, 1 or missing, got {float(wrong[0]):g}; classes need a score for each class (N, C)"
        )
    return known


def _columns(prediction: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return both as ``(N, T)``, checked but for the number of columns."""
    if not {prediction.dim(), target.dim()} <= {1, 2} or len(prediction) != len(target):
        raise UsageError(
            f"prediction and target need the same rows, got {tuple(prediction.shape)} and {tuple(target.shape)}"
        )
    wrong = int((~prediction.isfinite()).sum())
    if wrong:
        raise UsageError(
            f"{wrong} of {prediction.numel()} predictions are NaN or infinite; training diverged: look at the loss"
        )
    prediction, target = (array if array.dim() == 2 else array[:, None] for array in (prediction, target))
    return prediction, target


def _same(prediction: Tensor, target: Tensor) -> None:
    if prediction.shape != target.shape:
        raise UsageError(
            f"prediction has {prediction.shape[1]} columns, target {target.shape[1]}; they must be the same"
        )
