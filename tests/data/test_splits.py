"""Splits: every item in one part, proportions kept, the same for the same arguments."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from geco.data.dataset import Split
from geco.data.splits import fold_splits, random_split, scaffold_split, stratified_split, time_split
from geco.errors import UsageError

parts = st.tuples(*[st.integers(0, 20)] * 3).filter(any).map(lambda w: tuple(part / sum(w) for part in w))
seeds = st.integers(0, 2**31)


def sizes(split: Split) -> list[int]:
    return [len(split.train), len(split.valid), len(split.test)]


def everything(split: Split) -> list[int]:
    return sorted(torch.cat([split.train, split.valid, split.test]).tolist())


def same(one: Split, two: Split) -> bool:
    return all(torch.equal(getattr(one, part), getattr(two, part)) for part in ("train", "valid", "test"))


@given(st.integers(0, 300), parts, seeds)
def test_random_split_is_complete_and_proportional(n: int, fractions: tuple[float, float, float], seed: int) -> None:
    split = random_split(n, fractions, seed)
    assert everything(split) == list(range(n))
    assert all(abs(size - n * fraction) < 1 for size, fraction in zip(sizes(split), fractions, strict=True))
    assert same(split, random_split(n, fractions, seed))


def test_random_split_depends_on_the_seed_and_on_nothing_else() -> None:
    one = random_split(1000, seed=1)
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    assert same(one, random_split(1000, seed=1))
    assert not same(one, random_split(1000, seed=2))


@given(st.lists(st.integers(-1, 6), max_size=200), parts, seeds)
def test_stratified_split_keeps_each_class(labels: list[int], fractions: tuple[float, float, float], seed: int) -> None:
    split = stratified_split(labels, fractions, seed)
    given = np.array(labels, int)
    assert everything(split) == np.flatnonzero(given >= 0).tolist()
    for label in set(labels) - {-1}:
        members = int((given == label).sum())
        for part, fraction in zip((split.train, split.valid, split.test), fractions, strict=True):
            assert abs(int((given[part] == label).sum()) - members * fraction) < 3
        if round(fractions[0] * len(everything(split))) > 0:
            assert (given[split.train] == label).any()
    assert same(split, stratified_split(torch.tensor(labels), fractions, seed))


def test_stratified_split_of_large_classes_is_exact() -> None:
    labels = np.repeat([0, 1, 2], [100, 300, 600])
    split = stratified_split(labels)
    for part, fraction in ((split.train, 0.8), (split.valid, 0.1), (split.test, 0.1)):
        assert np.bincount(labels[part]).tolist() == [100 * fraction, 300 * fraction, 600 * fraction]


@pytest.mark.parametrize("seed", range(5))
def test_single_members_go_to_training(seed: int) -> None:
    labels = [0] * 40 + list(range(1, 21))
    split = stratified_split(labels, (0.4, 0.3, 0.3), seed)
    assert set(range(40, 60)) <= set(split.train.tolist())
    assert len(split.valid) == pytest.approx(12, abs=2)


def test_pairs_have_one_member_in_training() -> None:
    labels = np.repeat(np.arange(50), 2)
    split = stratified_split(labels, (0.5, 0.25, 0.25))
    assert set(labels[split.train]) == set(range(50))


def test_nan_is_unlabelled() -> None:
    assert everything(stratified_split([0.0, float("nan"), 1.0, -1.0])) == [0, 2]


@given(st.lists(st.text("abc", max_size=2), max_size=80), parts, seeds)
def test_scaffold_split_keeps_groups_together(
    scaffolds: list[str], fractions: tuple[float, float, float], seed: int
) -> None:
    split = scaffold_split(scaffolds, fractions, seed)
    assert everything(split) == list(range(len(scaffolds)))
    found = [{scaffolds[i] for i in part.tolist()} for part in (split.train, split.valid, split.test)]
    assert sum(map(len, found)) == len(set(scaffolds))
    assert same(split, scaffold_split(scaffolds, fractions, seed))


def test_scaffold_split_trains_on_the_common_ones() -> None:
    scaffolds = ["common"] * 6 + ["rare"] * 2 + ["one", "two"]
    split = scaffold_split(scaffolds, (0.6, 0.2, 0.2))
    assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == ([0, 1, 2, 3, 4, 5], [6, 7], [8, 9])
    assert scaffold_split(["same"] * 5).train.tolist() == [0, 1, 2, 3, 4]  # larger than training should be


def test_scaffold_seed_orders_groups_of_equal_size() -> None:
    scaffolds = [str(i) for i in range(100)]
    assert not same(scaffold_split(scaffolds, seed=0), scaffold_split(scaffolds, seed=1))


@pytest.mark.parametrize("fractions", [(0.8, 0.1, 0.2), (1.2, -0.1, -0.1), (0.5, 0.5)])
def test_wrong_fractions_are_refused(fractions: tuple[float, float, float]) -> None:
    with pytest.raises(UsageError, match="sum to 1"):
        random_split(10, fractions)


@given(st.lists(st.integers(0, 20), max_size=80), parts)
def test_time_split_never_trains_on_what_is_newer(times: list[int], fractions: tuple[float, float, float]) -> None:
    split, given = time_split(times, fractions), np.array(times, int)
    assert everything(split) == list(range(len(times)))
    ages = [set(given[part.numpy()].tolist()) for part in (split.train, split.valid, split.test)]
    assert all(max(older) < min(newer) for i, older in enumerate(ages) for newer in ages[i + 1 :] if older and newer)
    assert len(split.train) <= round(len(times) * fractions[0]) + 1  # what is of one time goes to the newer part


def test_different_times_are_split_as_asked() -> None:
    times = np.random.default_rng(0).permutation(100)
    split = time_split(times, (0.7, 0.2, 0.1))
    assert sizes(split) == [70, 20, 10]
    assert sorted(times[split.test.numpy()].tolist()) == list(range(90, 100))


@given(st.integers(3, 100), st.integers(3, 10), seeds, st.booleans())
def test_folds_are_each_tested_on_once(n: int, folds: int, seed: int, by_class: bool) -> None:
    if folds > n:
        with pytest.raises(UsageError, match=f"at most {n}; got {folds}"):
            fold_splits(n, folds, seed)
        return
    labels = np.random.default_rng(seed).integers(0, 4, n) if by_class else None
    found = fold_splits(n, folds, seed, labels)
    assert len(found) == folds
    assert sorted(torch.cat([split.test for split in found]).tolist()) == list(range(n))
    for number, split in enumerate(found):
        assert everything(split) == list(range(n))
        assert torch.equal(split.valid, found[(number + 1) % folds].test)
        for own in [np.arange(n)] if labels is None else [np.flatnonzero(labels == c) for c in range(4)]:
            assert abs(np.isin(split.test, own).sum() - len(own) / folds) < 1
    assert all(same(one, two) for one, two in zip(found, fold_splits(n, folds, seed, labels), strict=True))


def test_two_folds_are_too_few() -> None:
    with pytest.raises(UsageError, match="folds must be at least 3"):
        fold_splits(10, 2)
