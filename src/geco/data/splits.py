"""Splits: random, by class, in folds, by molecular scaffold and by time. Pure functions: equal arguments, equal
split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from geco.data.dataset import Split
from geco.errors import UsageError

__all__ = ["fold_splits", "random_split", "scaffold_split", "stratified_split", "time_split"]

Fractions = tuple[float, float, float]
EIGHTY = (0.8, 0.1, 0.1)


def random_split(n: int, fractions: Fractions = EIGHTY, seed: int = 0) -> Split:
    """Split the numbers 0 to n-1 at random; each part has its fraction of n to within one.

    Args:
        n: how many there are.
        fractions: of training, validation and test; together 1.
        seed: of the order.

    Example:
        >>> split = random_split(10, (0.6, 0.2, 0.2))
        >>> len(split.train), len(split.valid), len(split.test)
        (6, 2, 2)
    """
    train, valid, _ = _shares(n, fractions)
    order = np.random.default_rng(seed).permutation(n)
    return _split(order[:train], order[train : train + valid], order[train + valid :])


def stratified_split(
    labels: Sequence[float] | np.ndarray | Tensor, fractions: Fractions = EIGHTY, seed: int = 0
) -> Split:
    """Split so that each class has its fraction in each part to within two members, and a member in training.

    A class too small for all three parts is in training first: one of a single member is nowhere else. What has no
    label, -1 or NaN, is in no part.

    Args:
        labels: class of each, ``(n,)``.
        fractions: of training, validation and test; together 1.
        seed: of the order within each class.

    Example:
        >>> stratified_split([0, 0, 0, 0, 1, 1, -1, 2], (0.5, 0.25, 0.25)).train
        tensor([2, 3, 4, 7])
    """
    given = np.asarray(labels)
    known = (given == given) & (given != -1)  # NaN is not itself
    _, classes = np.unique(given[known], return_inverse=True)
    train, valid, test = _shares(len(classes), fractions)
    order = np.random.default_rng(seed).permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]  # class after class, shuffled within
    part = np.zeros(len(order), np.int64)
    part[_spread(len(order), test)] = 2
    rest = np.flatnonzero(part == 0)
    part[rest[_spread(len(rest), valid)]] = 1
    if train:
        part[_first_of_untrained(classes[order], part)] = 0
    place = np.flatnonzero(known)[order]
    return _split(*(place[part == number] for number in range(3)))


def scaffold_split(scaffolds: Sequence[str], fractions: Fractions = EIGHTY, seed: int = 0) -> Split:
    """Split molecules so that those of one scaffold stay together, as MoleculeNet and OGB do.

    Groups are dealt out from the largest to the smallest: to training while they fit, then to validation, then to test.
    So the test molecules have rare scaffolds, which makes it harder than a random split. Molecules without a ring share
    the scaffold "". The largest group goes to training even if it is larger than training should be.

    Args:
        scaffolds: of each molecule, see `geco.data.molecules.scaffold`.
        fractions: of training, validation and test; together 1.
        seed: of the order among groups of equal size.

    Example:
        >>> scaffold_split(["a", "b", "a", "c", "a", "b"], (0.5, 0.3, 0.2))
        Split(train=tensor([0, 2, 4]), valid=tensor([1, 5]), test=tensor([3]))
    """
    _, groups, sizes = np.unique(np.asarray(scaffolds, dtype=str), return_inverse=True, return_counts=True)
    room = list(_shares(len(groups), fractions))
    part = np.zeros(len(sizes), np.int64)
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    for place, group in enumerate(shuffled[np.argsort(-sizes[shuffled], kind="stable")]):
        first = place == 0 and room[0] > 0
        part[group] = 0 if first or sizes[group] <= room[0] else 1 if sizes[group] <= room[1] else 2
        room[part[group]] -= sizes[group]
    return _split(*(np.flatnonzero(part[groups] == number) for number in range(3)))


def time_split(times: Sequence[float] | np.ndarray, fractions: Fractions = EIGHTY) -> Split:
    """Split by time: the oldest are for training, the newest for test.

    What is of one time stays together, in the part in which the last of it falls, so that nothing of a day or a year
    is trained on while the rest of it is asked for.

    Args:
        times: of each, ``(n,)``.
        fractions: of training, validation and test; together 1.

    Example:
        >>> time_split([2020, 2018, 2019, 2020, 2017, 2017], (0.5, 0.25, 0.25))
        Split(train=tensor([1, 4, 5]), valid=tensor([2]), test=tensor([0, 3]))
    """
    given = np.asarray(times)
    train, valid, _ = _shares(len(given), fractions)
    last = np.searchsorted(np.sort(given), given, side="right") - 1  # place of the last one as old as each
    part = (last >= train).astype(np.int64) + (last >= train + valid)
    return _split(*(np.flatnonzero(part == number) for number in range(3)))


def fold_splits(
    n: int, folds: int, seed: int = 0, labels: Sequence[float] | np.ndarray | Tensor | None = None
) -> list[Split]:
    """Return K splits for cross-validation: in split i, fold i is for test and the next one for validation.

    Folds have n/K members to within one; with labels each class is spread over the folds to within one member, too.

    Args:
        n: how many there are.
        folds: K, at least 3.
        seed: of the order.
        labels: class of each, ``(n,)``.

    Example:
        >>> [split.test.tolist() for split in fold_splits(6, 3, labels=[0, 0, 0, 1, 1, 1])]
        [[2, 3], [0, 5], [1, 4]]
    """
    if not 3 <= folds <= n:
        raise UsageError(f"folds must be at least 3, for training, validation and test, and at most {n}; got {folds}")
    order = np.random.default_rng(seed).permutation(n)
    if labels is not None:
        order = order[np.argsort(np.asarray(labels)[order], kind="stable")]  # class after class, shuffled within
    fold = np.empty(n, np.int64)
    fold[order] = np.arange(n) % folds
    parts = ((fold - number) % folds for number in range(folds))  # 0 is for test, 1 for validation
    return [_split(*map(np.flatnonzero, (part > 1, part == 1, part == 0))) for part in parts]


def _shares(n: int, fractions: Fractions) -> tuple[int, int, int]:
    """Return whole numbers near ``n * fractions`` that sum to n, rounding up where most is lost (training first)."""
    if len(fractions) != 3 or min(fractions) < 0 or not math.isclose(sum(fractions), 1, abs_tol=1e-6):
        raise UsageError(
            f"fractions must be three numbers from 0 to 1 that sum to 1, got {tuple(fractions)}; try 0.8 0.1 0.1"
        )
    exact = [n * fraction for fraction in fractions]
    whole = [math.floor(share + 1e-6) for share in exact]
    for part in sorted(range(3), key=lambda p: whole[p] - exact[p])[: n - sum(whole)]:
        whole[part] += 1
    return whole[0], whole[1], whole[2]


def _spread(n: int, k: int) -> np.ndarray:
    """Return k of the places 0 to n-1, evenly spread: any m neighbours hold m*k/n of them, rounded up or down."""
    return (np.arange(k) * n + n - 1) // k if k else np.arange(0)


def _first_of_untrained(classes: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the first place of each class that has no member in training; ``classes`` is sorted."""
    found, first = np.unique(classes, return_index=True)
    return first[~np.isin(found, classes[part == 0])]


def _split(*parts: np.ndarray) -> Split:
    return Split(*(torch.from_numpy(np.sort(part).astype(np.int64)) for part in parts))
