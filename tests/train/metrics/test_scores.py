"""Scores equal scikit-learn and OGB's evaluators on predictions with ties and missing targets; degenerate input is
refused.
"""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from torch import Tensor

from geco.errors import DataError, UsageError
from geco.train.metrics import METRICS

sys.modules.setdefault("outdated", None)  # ogb asks the network for its newest version otherwise
NAN = float("nan")
EXACT = 1e-12


@cache
def evaluator(kind: str, name: str, tasks: int) -> Any:
    import ogb.graphproppred
    import ogb.nodeproppred

    found = {"graph": ogb.graphproppred, "node": ogb.nodeproppred}[kind].Evaluator(name)
    found.num_tasks = tasks
    return found


def score(name: str, prediction: Any, target: Any, **more: int) -> float:
    return METRICS[name].score(torch.as_tensor(prediction), torch.as_tensor(target), **more)


def labels(rows: int, tasks: int, seed: int, missing: float = 0.2) -> tuple[Tensor, Tensor]:
    """Scores with many ties and labels of which some are missing."""
    generator = torch.Generator().manual_seed(seed)
    prediction = torch.randint(-4, 5, (rows, tasks), generator=generator).float() / 3
    target = torch.randint(0, 2, (rows, tasks), generator=generator).float()
    target[torch.rand(rows, tasks, generator=generator) < missing] = NAN
    return prediction, target


def classes(rows: int, count: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Scores of classes with ties, targets of which some are -1, and the rows with a target."""
    generator = torch.Generator().manual_seed(seed)
    target = torch.randint(-1, max(1, count - 1), (rows,), generator=generator)
    target[0] = 0
    return torch.randint(0, 3, (rows, count), generator=generator).float(), target, target >= 0


SIZES = {"rows": st.integers(1, 60), "seed": st.integers(0, 10**6)}


def test_directions() -> None:
    assert {name: metric.better for name, metric in METRICS.items()} == {
        **dict.fromkeys(("accuracy", "micro-f1", "macro-f1", "auroc", "ap"), "higher"),
        **dict.fromkeys(("mrr", "mrr-filtered", "mrr-extended", "mrr-per-graph", "token-f1"), "higher"),
        **dict.fromkeys(("hits@10", "hits@50", "hits@100"), "higher"),
        **{"mae": "lower", "rmse": "lower", "r2": "higher"},
    }


def test_every_data_set_has_a_metric_that_agrees_on_the_direction() -> None:
    from geco.data.registry import DATASETS

    for spec in DATASETS.values():
        assert METRICS[spec.metric].better == spec.better, spec.name


@settings(max_examples=15)
@given(**SIZES, count=st.integers(2, 6))
def test_class_scores_equal_scikit_learn_and_ogb(rows: int, seed: int, count: int) -> None:
    prediction, target, known = classes(rows, count, seed)
    chosen, true = prediction.argmax(1)[known], target[known]
    ogb = {"y_true": true[:, None], "y_pred": chosen[:, None]}
    for given_ in (prediction, prediction.argmax(1), prediction.argmax(1, keepdim=True)):  # scores, or classes
        assert score("accuracy", given_, target) == pytest.approx(sk.accuracy_score(true, chosen), abs=EXACT)
        assert score("micro-f1", given_, target) == pytest.approx(sk.f1_score(true, chosen, average="micro"), abs=EXACT)
        wanted = sk.f1_score(true, chosen, average="macro", zero_division=0)
        assert score("macro-f1", given_, target) == pytest.approx(wanted, abs=EXACT)
    for kind, name in (("node", "ogbn-arxiv"), ("graph", "ogbg-ppa")):
        assert score("accuracy", prediction, target[:, None]) == pytest.approx(
            evaluator(kind, name, 1).eval(ogb)["acc"], abs=EXACT
        )


@settings(max_examples=15)
@given(**SIZES, tasks=st.integers(1, 5))
def test_f1_of_labels_equals_scikit_learn(rows: int, seed: int, tasks: int) -> None:
    prediction, target = labels(rows, tasks, seed, missing=0)
    for target_ in (target, target.long()):
        for average in ("micro", "macro"):
            indicator = (target.numpy(), (prediction > 0).numpy().astype(float))
            # one column would be taken for classes by scikit-learn: ask for the positive class
            more = {"average": average} if tasks > 1 else {"average": "binary"}
            wanted = sk.f1_score(
                *(np.squeeze(part, 1) if tasks == 1 else part for part in indicator), zero_division=0, **more
            )
            assert score(f"{average}-f1", prediction, target_) == pytest.approx(wanted, abs=EXACT)


@given(**SIZES)
def test_missing_labels_do_not_count_in_f1(rows: int, seed: int) -> None:
    prediction, target = labels(rows, 1, seed)
    known = ~target.isnan().squeeze(1)
    if known.any():
        for name in ("micro-f1", "macro-f1"):
            assert score(name, prediction, target) == score(name, prediction[known], target[known])


@given(**SIZES, tasks=st.integers(1, 5))
def test_labels_equal_ogb_with_missing_ones(rows: int, seed: int, tasks: int) -> None:
    prediction, target = labels(rows, tasks, seed)
    ogb = {"y_true": target, "y_pred": prediction}
    if ((target == 1).any(0) & (target == 0).any(0)).any():
        for kind, name in (("graph", "ogbg-molhiv"), ("node", "ogbn-proteins")):
            wanted = evaluator(kind, name, tasks).eval(ogb)["rocauc"]
            assert score("auroc", prediction, target) == pytest.approx(wanted, abs=EXACT)
        wanted = evaluator("graph", "ogbg-molpcba", tasks).eval(ogb)["ap"]
        assert score("ap", prediction, target) == pytest.approx(wanted, abs=EXACT)
    else:
        for name in ("auroc", "ap"):
            with pytest.raises(DataError, match="at least one positive and one negative"):
                score(name, prediction, target)
    if (~target.isnan()).any(0).all():
        wanted = evaluator("graph", "ogbg-ppa", tasks).eval({"y_true": target, "y_pred": (prediction > 0).long()})[
            "acc"
        ]
        assert score("accuracy", prediction, target) == pytest.approx(wanted, abs=EXACT)


@given(rows=st.integers(2, 300), seed=st.integers(0, 10**6), levels=st.sampled_from([1, 2, 5, 10**6]))
def test_curves_equal_scikit_learn(rows: int, seed: int, levels: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    prediction = torch.randint(0, levels, (rows,), generator=generator) / 7.0
    target = (torch.rand(rows, generator=generator) < 0.3).long()
    target[:2] = torch.tensor([0, 1])
    for dtype in (torch.float32, torch.float64):
        scores = prediction.to(dtype)
        assert score("auroc", scores, target) == pytest.approx(sk.roc_auc_score(target, scores), abs=EXACT)
        assert score("ap", scores, target) == pytest.approx(sk.average_precision_score(target, scores), abs=EXACT)


def test_two_classes_are_one_label() -> None:
    prediction, target = torch.randn(50, 2), torch.randint(-1, 2, (50,))
    known = target >= 0
    preference = prediction[:, 1].double() - prediction[:, 0].double()
    wanted = sk.roc_auc_score(target[known], preference[known])
    assert score("auroc", prediction, target) == pytest.approx(wanted, abs=EXACT)


def test_large_and_skewed_splits_are_exact() -> None:
    prediction = torch.randint(0, 1000, (300_000,)).float()  # ties of about a thousand
    target = (torch.rand(300_000) < 1e-3).float()
    assert score("auroc", prediction, target) == pytest.approx(sk.roc_auc_score(target, prediction), abs=EXACT)
    assert score("ap", prediction, target) == pytest.approx(sk.average_precision_score(target, prediction), abs=EXACT)


@given(**SIZES, values=st.integers(1, 4))
def test_absolute_error_equals_scikit_learn(rows: int, seed: int, values: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    prediction, target = torch.randn(2, rows, values, generator=generator)
    wanted = sk.mean_absolute_error(target.double(), prediction.double())
    assert score("mae", prediction, target) == pytest.approx(wanted, abs=EXACT)
    holed = torch.cat([target, torch.full_like(target, NAN)])  # missing rows change nothing
    assert score("mae", torch.cat([prediction, prediction]), holed) == pytest.approx(wanted, abs=EXACT)


def test_absolute_error_knows_negative_integers_and_skips_a_missing_column() -> None:
    assert score("mae", torch.tensor([1.0, 1.0]), torch.tensor([-1, 1])) == 1.0
    assert score("mae", torch.zeros(2, 2), torch.tensor([[3.0, NAN], [1.0, NAN]])) == 2.0


def test_float32_targets_are_summed_in_float64() -> None:
    target = torch.full((3_000_000,), 0.1)
    assert score("mae", torch.zeros_like(target), target) == pytest.approx(float(target[0].double()), abs=1e-14)


def test_class_present_only_in_unlabelled_rows_is_no_class() -> None:
    assert score("macro-f1", torch.tensor([0, 1, 7]), torch.tensor([0, 1, -1])) == 1.0
    assert score("macro-f1", torch.tensor([0, 7]), torch.tensor([0, 0])) == pytest.approx(
        (2 / 3) / 2
    )  # but one predicted is


def test_a_label_missing_in_all_rows_is_left_out() -> None:
    prediction, target = torch.tensor([[1.0, 1.0], [-1.0, 1.0]]), torch.tensor([[1.0, NAN], [1.0, NAN]])
    assert score("macro-f1", prediction, target) == pytest.approx(2 / 3)
    assert score("accuracy", prediction, target) == 0.5


def test_values_of_degenerate_input() -> None:
    none = torch.zeros(3, 2)
    assert score("micro-f1", none - 1, none) == score("macro-f1", none - 1, none) == 0.0  # no positive, none predicted
    assert score("accuracy", torch.tensor([3, 3]), torch.tensor([3, 3])) == 1.0  # a single class
    assert score("macro-f1", torch.tensor([3, 3]), torch.tensor([3, 3])) == 1.0
    assert score("auroc", torch.zeros(4), torch.tensor([0.0, 1, 1, 0])) == 0.5  # all scores equal
    assert score("ap", torch.zeros(4), torch.tensor([0.0, 1, 0, 0])) == 0.25


@pytest.mark.parametrize("name", ["accuracy", "micro-f1", "macro-f1", "auroc", "ap", "mae"])
def test_nothing_to_score_is_refused(name: str) -> None:
    message = "at least one positive" if name in ("auroc", "ap") else "no known label or value"
    for target in (torch.empty(0, 2), torch.full((3, 2), NAN)):
        with pytest.raises(DataError, match=message):
            score(name, torch.zeros(len(target), 2), target)
    if name != "mae":  # whose integers are all known
        with pytest.raises(DataError, match=message):
            score(name, torch.zeros(3, 2), torch.full((3,), -1))


@pytest.mark.parametrize("name", ["accuracy", "micro-f1", "macro-f1", "auroc", "ap", "mae"])
@pytest.mark.parametrize("wrong", [NAN, float("inf")])
def test_diverged_predictions_are_refused(name: str, wrong: float) -> None:
    with pytest.raises(UsageError, match="1 of 3 predictions are NaN or infinite"):
        score(name, torch.tensor([0.0, wrong, 1.0]), torch.tensor([0.0, 1.0, 1.0]))


@pytest.mark.parametrize("name", ["accuracy", "micro-f1", "macro-f1", "auroc", "ap", "mae"])
def test_shapes_that_disagree_are_refused(name: str) -> None:
    for prediction, target in ((torch.zeros(3), torch.zeros(4)), (torch.zeros(3, 2), torch.zeros(3, 3))):
        with pytest.raises(UsageError, match=r"same"):
            score(name, prediction, target)


def test_wrong_classes_and_labels_are_refused() -> None:
    with pytest.raises(UsageError, match="the target has class 5, only 3 are predicted"):
        score("accuracy", torch.zeros(2, 3), torch.tensor([0, 5]))
    with pytest.raises(UsageError, match="count from 0, got -2"):
        score("macro-f1", torch.tensor([0, -2]), torch.tensor([0, 1]))
    for name in ("accuracy", "macro-f1", "auroc", "ap"):
        with pytest.raises(DataError, match="0, 1 or missing, got -1"):
            score(name, torch.zeros(2, 1), torch.tensor([[1.0], [-1.0]]))


def test_no_warning_of_torch_or_numpy() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prediction, target = labels(20, 3, 0)
        for name in ("accuracy", "micro-f1", "macro-f1", "auroc", "ap", "mae"):
            assert 0 <= score(name, prediction, target) < 10
