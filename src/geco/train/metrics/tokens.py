"""F1 of predicted sub-tokens, as ogbg-code2 is scored: a name is the set of its words.

Shapes: B names, P predicted places, Q places of the target.
"""

from __future__ import annotations

from torch import Tensor

from geco.errors import DataError, UsageError

__all__ = ["token_f1"]


def token_f1(prediction: Tensor, target: Tensor, unknown: int | None = None, end: int | None = None) -> float:
    """Return the mean over names of the F1 between the sets of predicted and of true words.

    A name ends before its first ``end`` or negative token. Unknown words are never right: all those of a prediction are
    one wrong word, each of a target is one missed word. A name without words has F1 0, as in OGB; a row whose first
    target is negative has no target and is left out. OGB scores against the whole name: for exactly that, give all its
    words, also beyond P, and number the words outside the vocabulary from its size on.

    Args:
        prediction: tokens ``(B, P)`` int64, or their scores ``(B, P, V)``.
        target: tokens ``(B, Q)`` int64.
        unknown: token of words outside the vocabulary; with scores, the last but one of the V unless given.
        end: token after the last word; with scores, the last of the V unless given.

    Example:
        >>> import torch
        >>> token_f1(torch.tensor([[0, 1, 9], [2, 9, 9]]), torch.tensor([[1, 0, 9], [2, 8, 9]]), unknown=8, end=9)
        0.833...
    """
    if prediction.is_floating_point() and prediction.dim() == 3:
        unknown = prediction.shape[2] - 2 if unknown is None else unknown
        end = prediction.shape[2] - 1 if end is None else end
        prediction = prediction.argmax(2)
    if unknown is None or end is None:
        raise UsageError(
            "token-f1 of tokens needs to know which token is unknown and which the end; give unknown= and end="
        )
    _check(prediction, target)
    rows = target[:, :1].ge(0).all(1)
    if not bool(rows.any()):
        raise DataError("no name to score: there are no rows or none has a target; check the split")
    prediction, target = prediction[rows], target[rows]
    predicted, true = _words(prediction, end), _words(target, end)
    predicted &= _first(prediction)
    true &= _first(target) | (target == unknown)
    match = (prediction[:, :, None] == target[:, None]) & predicted[:, :, None] & true[:, None]  # (B, P, Q)
    hits = (match & (prediction != unknown)[:, :, None]).sum((1, 2)).double()
    return float((2 * hits / (predicted.sum(1) + true.sum(1)).clamp(min=1)).mean())


def _words(tokens: Tensor, end: int) -> Tensor:
    """Mark the places before the end."""
    return ((tokens == end) | (tokens < 0)).cumsum(1) == 0


def _first(tokens: Tensor) -> Tensor:
    """Mark the places whose word does not stand at an earlier place."""
    same = tokens[:, :, None] == tokens[:, None]
    return ~same.tril(-1).any(2)


def _check(prediction: Tensor, target: Tensor) -> None:
    whole = not (prediction.is_floating_point() or target.is_floating_point())
    if not whole or prediction.dim() != 2 or target.dim() != 2 or len(prediction) != len(target):
        raise UsageError(
            f"token-f1 takes integer tokens (B, P) and (B, Q), got {prediction.dtype} {tuple(prediction.shape)} "
            f"and {target.dtype} {tuple(target.shape)}"
        )
