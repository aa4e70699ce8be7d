from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geco.errors import GecoError, Interrupted, NumericalError, ResourceError, UsageError
from geco.train.engine import Trainer
from geco.tune.slots import GONE, latest
from geco.tune.trial import Limits
from geco.tune.tuner import Plan, Tuner, with_metric
from tests.train.runs import child, in_child, on_call, wait
from tests.tune.studies import DATA, PLAN, came_to, nothing, run

Patch = pytest.MonkeyPatch
SHORT = replace(PLAN.config, train=replace(PLAN.config.train, epochs=3))


def killed_and_gone_on_with(folder: Path, monkeypatch: Patch, number: int, step: int, **plan: Any) -> Tuner:
    """Stop a study by a signal at a step of its training, then work on it to the end."""

    def work() -> None:
        stopped: list[int] = []
        signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
        run(folder, stopped=lambda: bool(stopped), **plan)

    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", step, lambda: os.kill(os.getpid(), number))
        code, err = child(patch, folder, work)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 99), err
    return run(folder, **plan)


def test_a_study_that_was_killed_comes_to_the_same_trials(monkeypatch: Patch, tmp_path: Path) -> None:
    plan = {"trials": 4, "config": SHORT}
    wanted = came_to(run(tmp_path / "through", **plan))
    tuner = killed_and_gone_on_with(tmp_path / "killed", monkeypatch, signal.SIGKILL, 5, **plan)
    assert came_to(tuner) == wanted
    first = wanted[0][0]
    assert first == {"optim.lr": 0.01, "model.hidden": 8, "model.layers": 1, "model.dropout": first["model.dropout"]}
    assert len({repr(params) for params, *_ in wanted.values()}) == 4
    assert [trial.state.name for trial in tuner.study.get_trials()].count("FAIL") == 1
    assert len(tuner.study.get_trials()) == 5


@pytest.mark.slow
@pytest.mark.parametrize(("pruner", "step"), [("median", 32), ("hyperband", 14)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_same_with_trials_that_are_drawn_by_what_was_found(
    pruner: str, step: int, number: int, monkeypatch: Patch, tmp_path: Path
) -> None:
    plan = {"trials": 13, "config": SHORT, "pruner": pruner}  # ten are drawn at random
    wanted = came_to(run(tmp_path / "through", **plan))
    tuner = killed_and_gone_on_with(tmp_path / "killed", monkeypatch, number, step, **plan)
    assert came_to(tuner) == wanted
    assert [trial.state.name for trial in tuner.study.get_trials()].count("FAIL") == 1


def test_one_of_two_workers_is_killed_and_no_trial_is_lost(monkeypatch: Patch, tmp_path: Path) -> None:
    out = tmp_path / "study"
    Tuner(replace(PLAN, trials=5), DATA, out)
    monkeypatch.setenv("CHILD_ERR", str(tmp_path / "err"))
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 6, lambda: os.kill(os.getpid(), signal.SIGKILL))
        killed = in_child(lambda: run(out, trials=5))
    other = in_child(lambda: run(out, trials=5))
    assert wait(killed) == -signal.SIGKILL
    assert wait(other) == 0, (tmp_path / "err").read_text()
    tuner = Tuner(replace(PLAN, trials=5), DATA, out)
    slots = latest(tuner.study)
    assert sorted(slots) == list(range(5))
    assert all(trial.state.name in ("COMPLETE", "PRUNED") for trial in slots.values())
    failed = [trial for trial in tuner.study.get_trials() if trial.state.name == "FAIL"]
    assert len(failed) == 1
    assert slots[failed[0].user_attrs["slot"]].user_attrs["deaths"] == 1
    assert slots[failed[0].user_attrs["slot"]].params == failed[0].params


def test_the_best_is_by_validation_and_the_first_of_equals(tmp_path: Path) -> None:
    tuner = run(tmp_path, trials=4, pruner="none")
    trials = tuner.complete
    assert len(trials) == 4
    values = [trial.value for trial in trials]
    assert tuner.best.number == trials[values.index(max(values))].number  # type: ignore[type-var]
    best = tuner.config(tuner.best.params)
    assert Trainer(best, DATA).fit()["valid"] == tuner.best.value
    tuner.higher = False
    assert tuner.best.value == min(values)  # type: ignore[type-var]


def fail_with(error: Exception) -> Callable[..., float]:
    """Return a step that goes wrong."""

    def step(*_: object) -> float:
        raise error

    return step


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [(NumericalError("the loss is nan"), NumericalError, 5), (MemoryError(), ResourceError, 6),
     (UsageError("heads"), UsageError, 2)],
)  # fmt: skip
def test_where_no_trial_is_finished_the_commonest_reason_is_said(
    error: Exception, kind: type[GecoError], code: int, monkeypatch: Patch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Trainer, "step", fail_with(error))
    tuner = run(tmp_path, trials=2)
    with pytest.raises(kind, match=r"no trial in .* was finished.*2 of 2 that failed: ") as caught:
        _ = tuner.best
    assert caught.value.exit_code == code
    assert "none is complete yet" in tuner.line(latest(tuner.study)[1])


def test_a_trial_that_fails_does_not_stop_the_others(monkeypatch: Patch, tmp_path: Path) -> None:
    on_call(monkeypatch, Trainer, "step", 6, lambda: fail_with(NumericalError("the loss is nan"))())
    tuner = run(tmp_path, trials=3, pruner="none")
    ended = latest(tuner.study)
    assert [ended[number].state.name for number in range(3)] == ["COMPLETE", "FAIL", "COMPLETE"]
    assert ended[1].user_attrs["reason"] == "the loss is nan"
    assert "trial 2 of 3: failed: the loss is nan" in tuner.line(ended[1])


def test_the_time_for_all_ends_the_trial_that_runs(tmp_path: Path) -> None:
    tuner = run(tmp_path, trials=2, seconds=1e-9)
    with pytest.raises(ResourceError, match=r"no trial in .* is finished yet; give more --timeout"):
        _ = tuner.best
    assert len(came_to(run(tmp_path, trials=2))) == 2


def test_a_stop_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="the same command goes on"):
        run(tmp_path, stopped=lambda: True)


def test_what_cannot_change_and_what_can(tmp_path: Path) -> None:
    run(tmp_path, trials=1)
    elsewhere = replace(PLAN.config, train=replace(PLAN.config.train, threads=0))
    run(tmp_path, trials=2, limits=Limits(seconds=100.0), config=elsewhere)
    for changes, wanted in (
        ({"config": replace(PLAN.config, seed=1)}, "settings.seed: 0 there, 1 now"),
        ({"space": {name: PLAN.space[name] for name in ("optim.lr", "model.hidden")}}, "space.model.dropout"),
        ({"pruner": "none"}, "pruner: 'median' there, 'none' now"),
    ):
        with pytest.raises(UsageError, match=re.escape(wanted)):
            Tuner(replace(PLAN, **changes), DATA, tmp_path)  # type: ignore[arg-type]
    other = replace(DATA, arrays={**DATA.arrays, "node/x": DATA.arrays["node/x"] + 1})
    with pytest.raises(UsageError, match=re.escape("data.fingerprint")):
        Tuner(PLAN, other, tmp_path)


def test_without_optuna_it_says_what_to_install(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r'pip install "geco-graph\[tune\]"'):
        Tuner(PLAN, DATA, tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_another_metric_must_suit() -> None:
    assert with_metric(DATA, "") is DATA
    assert with_metric(DATA, "macro-f1").info.metric == "macro-f1"
    with pytest.raises(UsageError, match="does not suit"):
        with_metric(DATA, "mae")


def test_lines_name_the_reason_of_a_process_that_was_gone(tmp_path: Path) -> None:
    tuner = Tuner(replace(PLAN, trials=1), DATA, tmp_path)
    with tuner.slots:
        tuner.slots.claim()
    trial = latest(tuner.study)[0]
    trial.state = type(trial.state)["FAIL"]
    assert GONE in tuner.line(trial)


def test_a_plan_shows_each_trial_while_it_runs(tmp_path: Path) -> None:
    shown: list[int] = []

    def show(number: int) -> Any:
        shown.append(number)
        return nothing(number)

    plan = Plan(PLAN.config, PLAN.space, 2, pruner="none")
    told: list[str] = []
    tuner = Tuner(plan, DATA, tmp_path)
    tuner.run(lambda: False, show, lambda trial: told.append(tuner.line(trial)))
    assert shown == [0, 1]
    assert [line[:14] for line in told] == ["trial 1 of 2: ", "trial 2 of 2: "]
    assert (tmp_path / "space.toml").exists()
