from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import optuna
import pytest
import torch

from geco.data.dataset import GraphDataset
from geco.errors import UsageError
from geco.train.build import encoded
from geco.train.config import Config
from geco.train.engine import Trainer
from geco.tune.trial import NO_LIMITS, Ended, Limits, Stopped, check_limits, train_trial
from tests.tune.studies import BASE, DATA


def quiet(line: dict[str, Any]) -> None:
    """Show nothing."""


def trained(
    config: Config = BASE,
    data: GraphDataset = DATA,
    limits: Limits = NO_LIMITS,
    tell: Callable[[dict[str, Any]], None] = quiet,
    pruner: optuna.pruners.BasePruner | None = None,
) -> tuple[Ended, optuna.Trial]:
    """Train one trial and return it with how it ended."""
    trial = optuna.create_study(direction="maximize", pruner=pruner).ask()
    return train_trial(trial, lambda: config, data, limits, tell, lambda: False), trial


def other_test_part(data: GraphDataset) -> GraphDataset:
    """Return the same data with other targets in the test part."""
    y = data.arrays["node/y"].clone()
    test = data.split(0).test
    y[test] = (y[test] + 1) % data.info.num_targets
    return replace(data, arrays={**data.arrays, "node/y": y})


def test_it_is_the_training_of_the_engine_by_validation() -> None:
    ended, trial = trained()
    result = Trainer(BASE, DATA).fit()
    assert (ended.state, ended.value) == ("COMPLETE", result["valid"])
    assert ended.facts["epoch"] == result["epoch"]
    assert ended.facts["parameters"] == result["parameters"]
    steps = trial.study.get_trials()[0].intermediate_values
    assert list(steps) == [1, 2, 3, 4]
    assert list(steps.values()) == sorted(steps.values())  # the best so far


def test_the_test_part_is_neither_looked_at_nor_kept() -> None:
    lines: list[dict[str, Any]] = []
    one, _ = trained(tell=lines.append)
    other = other_test_part(DATA)
    assert Trainer(BASE, other).fit()["test"] != Trainer(BASE, DATA).fit()["test"]
    two, _ = trained(data=other, tell=lines.append)
    assert len(lines) == 8
    assert lines[:4] == lines[4:]
    assert one.value == two.value
    assert "test" not in repr([lines, one, two])


def test_encodings_may_be_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path))
    config = replace(BASE, data=replace(BASE.data, encodings=("degree",)), model=replace(BASE.model, hidden=32))
    ended, _ = trained(config)
    assert ended.facts["parameters"] == Trainer(config, encoded(DATA, config)).parameters
    assert ended.facts["parameters"] != trained(replace(config, data=BASE.data))[0].facts["parameters"]


def test_a_bad_one_is_left_early() -> None:
    never = optuna.pruners.ThresholdPruner(lower=2.0)
    ended, _ = trained(pruner=never)
    assert (ended.state, ended.facts["epochs"]) == ("PRUNED", 1)
    last = replace(BASE, train=replace(BASE.train, epochs=1))
    assert trained(last, pruner=never)[0].state == "COMPLETE"  # there is nothing left to leave out


@pytest.mark.parametrize(
    ("error", "code", "wanted"),
    [
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9\nframe"),
            6,
            "out of mem",
        ),
        (MemoryError(), 6, "out of memory"),
        (RuntimeError("shapes do not match"), 1, "RuntimeError: shapes do not match"),
        (ValueError("heads must divide\nthe width"), 2, "heads must divide the width"),
    ],
)
def test_what_goes_wrong_is_the_reason(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, wanted: str
) -> None:
    def fail(*_: object) -> float:
        raise error

    monkeypatch.setattr(Trainer, "step", fail)
    ended, _ = trained()
    assert (ended.state, ended.value, ended.facts["code"]) == ("FAIL", None, code)
    assert wanted in ended.facts["reason"]
    assert "\n" not in ended.facts["reason"]


def test_our_own_mistakes_are_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> float:
        raise KeyError("a name of ours")

    monkeypatch.setattr(Trainer, "step", fail)
    with pytest.raises(KeyError, match="a name of ours"):
        trained()


def test_numbers_that_are_not_finite() -> None:
    ended, _ = trained(replace(BASE, optim=replace(BASE.optim, lr=1e30, clip=0.0, warmup=0)))
    assert (ended.state, ended.facts["code"]) == ("FAIL", 5)
    assert "not finite" in ended.facts["reason"] or "the loss is" in ended.facts["reason"]


def test_a_refused_combination() -> None:
    def refuse() -> Config:
        raise UsageError("--model.filter-gain is for --model.filter paper")

    trial = optuna.create_study().ask()
    ended = train_trial(trial, refuse, DATA, NO_LIMITS, quiet, lambda: False)
    assert ended.facts["reason"] == "--model.filter-gain is for --model.filter paper"


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [(Limits(seconds=1e-6), "over --trial-timeout 1e-06 s"), (Limits(gib=1e-6), "over --trial-memory 1e-06")],
)
def test_limits_are_the_reason(limits: Limits, wanted: str) -> None:
    ended, _ = trained(limits=limits)
    assert (ended.state, ended.facts["code"]) == ("FAIL", 6)
    assert wanted in ended.facts["reason"]
    assert ended.facts["seconds"] >= 0


def test_the_memory_of_one_trial_is_not_counted_for_the_next() -> None:
    def large(line: dict[str, Any]) -> None:
        torch.ones(2**26).sum()  # 256 MiB, let go at once

    first, _ = trained(tell=large)
    second, _ = trained()
    assert first.facts["memory"] > second.facts["memory"] + 2**27


def test_a_stop_is_no_end() -> None:
    trial = optuna.create_study().ask()
    with pytest.raises(Stopped):
        train_trial(trial, lambda: BASE, DATA, NO_LIMITS, quiet, lambda: True)


@pytest.mark.parametrize("limits", [Limits(-1.0), Limits(float("nan")), Limits(gib=-2.0), Limits(gib=float("inf"))])
def test_limits_that_mean_nothing(limits: Limits) -> None:
    with pytest.raises(UsageError, match="must be a finite number 0 or more"):
        check_limits(limits, BASE)
