from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import optuna
import pytest

from geco.tune.drawing import distributions
from geco.tune.slots import DEATHS, Slots, latest
from geco.tune.storage import open_study
from tests.tune.studies import SPACE, empty


def worker(folder: Path, total: int = 2, **more: Any) -> Slots:
    """Return a worker of a study, with a connection of its own."""
    if not (folder / "study.db").exists():
        (folder / "study.db").write_bytes(empty())
    study = open_study(folder / "study.db", {}, higher=True)
    return Slots(study, folder, total, distributions(SPACE), more.get("first", {}), more.get("seed", 0))


def states(slots: Slots) -> list[str]:
    """Return how each trial stands, attempts that were cut short too."""
    return [trial.state.name for trial in slots.study.get_trials(deepcopy=False)]


def test_each_slot_is_claimed_once(tmp_path: Path) -> None:
    with worker(tmp_path) as one, worker(tmp_path) as two:
        trials = [one.claim(), two.claim()]
        assert all(trial is not None for trial in trials)
        assert one.claim() is None
        assert two.claim() is None
        assert sorted(latest(one.study)) == [0, 1]
        assert one.open
        for slots, trial in zip((one, two), trials, strict=True):
            assert slots.end(trial, "COMPLETE", 0.5, seconds=1.0)  # type: ignore[arg-type]
        assert not one.open
        assert one.claim() is None


def test_a_study_can_be_made_longer(tmp_path: Path) -> None:
    with worker(tmp_path, total=1) as slots:
        trial = slots.claim()
        assert trial is not None
        slots.end(trial, "PRUNED")
    with worker(tmp_path, total=2) as slots:
        trial = slots.claim()
        assert trial is not None
        assert trial.user_attrs["slot"] == 1


def test_the_first_trial_is_what_is_given(tmp_path: Path) -> None:
    with worker(tmp_path, first={"model.hidden": 8, "optim.lr": 0.01}) as slots:
        trial = slots.claim()
        assert trial is not None
        assert trial.params["model.hidden"] == 8
        assert trial.params["optim.lr"] == 0.01


def test_the_slot_of_a_process_that_is_gone_is_trained_again_with_its_settings(tmp_path: Path) -> None:
    gone = worker(tmp_path)
    with gone:
        lost = gone.claim()
    assert lost is not None
    with worker(tmp_path) as slots:
        again = slots.claim()
        assert again is not None
        assert again.params == lost.params
        assert (again.user_attrs["slot"], again.user_attrs["deaths"]) == (0, 1)
        assert states(slots) == ["FAIL", "RUNNING"]
        assert not gone.end(lost, "COMPLETE", 0.9)  # it was given up as gone, and says so
        assert slots.end(again, "COMPLETE", 0.8)
        assert latest(slots.study)[0].value == 0.8


def test_a_process_that_was_killed_while_it_claimed_is_gone(tmp_path: Path) -> None:
    with worker(tmp_path) as slots:
        slots.study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.WAITING, user_attrs={"slot": 0}))
        slots.study._storage.set_trial_state_values(1, optuna.trial.TrialState.RUNNING)
        trial = slots.claim()
        assert trial is not None
        assert trial.user_attrs["slot"] == 0
        assert states(slots) == ["FAIL", "RUNNING"]


def test_slots_that_were_never_drawn_are_drawn_as_they_would_have_been(tmp_path: Path) -> None:
    for folder in ("through", "killed"):
        (tmp_path / folder).mkdir()
    with worker(tmp_path / "through", total=3) as slots:
        trials = [slots.claim() for _ in range(3)]
        wanted = {trial.user_attrs["slot"]: trial.params for trial in trials if trial is not None}
    with worker(tmp_path / "killed", total=3) as slots:
        for number in (2, 1, 0):  # the oldest that waits is not of the first slot
            slots._add(number, {})
        trials = [slots.claim() for _ in range(3)]
        found = {trial.user_attrs["slot"]: trial.params for trial in trials if trial is not None}
    assert found == wanted
    assert len(wanted) == 3


@pytest.mark.parametrize("facts", [["again"], ["again", "reason"], []])
def test_a_stop_that_is_killed_half_way_loses_no_slot(tmp_path: Path, facts: list[str]) -> None:
    with worker(tmp_path, total=1) as slots:
        trial = slots.claim()
        assert trial is not None
        for name in facts:
            trial.set_user_attr(name, {"again": True, "reason": "stopped"}[name])
    with worker(tmp_path, total=1) as slots:
        again = slots.claim()
        assert again is not None
        assert again.user_attrs["deaths"] == (0 if facts else 1)


def test_a_slot_whose_processes_are_always_gone_is_given_up(tmp_path: Path) -> None:
    for _ in range(DEATHS):
        with worker(tmp_path, total=1) as slots:
            assert slots.claim() is not None
    with worker(tmp_path, total=1) as slots:
        assert slots.claim() is None
        assert states(slots) == ["FAIL"] * DEATHS
        assert not slots.open


def test_a_trial_that_was_stopped_is_trained_again_however_often(tmp_path: Path) -> None:
    with worker(tmp_path, total=1) as slots:
        for _ in range(DEATHS + 1):
            trial = slots.claim()
            assert trial is not None
            slots.end(trial, "FAIL", reason="stopped", again=True)
        assert slots.claim() is not None


def test_a_trial_that_failed_for_a_reason_stays_failed(tmp_path: Path) -> None:
    with worker(tmp_path, total=1) as slots:
        trial = slots.claim()
        assert trial is not None
        slots.end(trial, "FAIL", reason="the loss is nan", code=5)
        assert slots.claim() is None
        assert latest(slots.study)[0].user_attrs["reason"] == "the loss is nan"


@pytest.mark.parametrize(("seconds", "given_up"), [(100, False), (1000, True)])
def test_trials_of_other_machines_live_by_their_heartbeat(tmp_path: Path, seconds: int, given_up: bool) -> None:
    other = worker(tmp_path, total=1)
    other.host = "elsewhere"
    with other:
        assert other.claim() is not None
    with worker(tmp_path, total=1) as slots:
        back = f"UPDATE trial_heartbeats SET heartbeat = datetime('now', '-{seconds} seconds')"
        with contextlib.closing(sqlite3.connect(tmp_path / "study.db")) as file:
            file.execute(back)
            file.commit()
        assert (slots.claim() is not None) == given_up
        assert states(slots)[0] == ("FAIL" if given_up else "RUNNING")


def test_a_trial_gives_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geco.tune.slots.HEARTBEAT", 0.01)
    with worker(tmp_path, total=1) as slots:
        trial = slots.claim()
        assert trial is not None
        beats: list[int] = []
        monkeypatch.setattr(slots.study._storage, "record_heartbeat", lambda number: beats.append(number))
        with slots.beating(trial):
            while len(beats) < 3:
                pass
        assert set(beats) == {trial._trial_id}


def test_workers_leave_no_files(tmp_path: Path) -> None:
    with worker(tmp_path) as slots:
        slots.claim()
    with worker(tmp_path) as slots:
        slots.claim()
    assert not list(tmp_path.glob(".worker-*"))
