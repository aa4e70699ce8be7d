"""Runs that are interrupted stop cleanly, and go on.

Also elsewhere: whole processes in tests/cli/test_train.py::test_killed_runs_end_as_if_they_had_not_been, workers that
ignore signals in tests/data/test_loaders.py::test_interrupt_is_left_to_the_main_process.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from geco.cli.main import main
from geco.train import checkpoint
from geco.train.engine import Trainer
from tests.train.runs import (
    FLAGS,
    MANY,
    assert_same,
    in_child,
    left_by,
    on_call,
    train_in_child,
    use,
    wait,
)

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "USR1": signal.SIGUSR1}
PLACES: dict[str, tuple[Any, str, int]] = {
    "first step": (Trainer, "step", 1),
    "step": (Trainer, "step", 6),
    "validation": (Trainer, "judged", 2),
    "saving": (checkpoint, "save", 2),
    "saving the best": (checkpoint, "save_best", 1),
}


def send(number: int) -> Callable[[], None]:
    """Return what sends a signal to this process and all it started, as a terminal or a batch system does."""
    return lambda: os.killpg(os.getpgid(0), number)


def interrupted(monkeypatch: Patch, out: Path, place: str, number: int, *flags: str) -> str:
    """Interrupt a run at a place and check how it left."""
    with monkeypatch.context() as patch:
        on_call(patch, *PLACES[place], send(number))
        code, err = train_in_child(patch, out, *flags)
    assert code == 143, err
    assert "stopping after this step; once more to stop at once" in err
    assert err.count("geco: error: stopped after batch") == 1
    assert err.count("\n") == 2
    return err


@pytest.mark.parametrize(
    ("name", "place"),
    [
        *(("TERM", place) for place in PLACES),
        ("INT", "step"),
        ("INT", "validation"),
        ("USR1", "step"),
        ("USR1", "saving"),
    ],
)
def test_signal(name: str, place: str, whole: Path, monkeypatch: Patch, tmp_path: Path) -> None:
    """A signal in a step, in validation or while saving: saved at the next boundary, exit 143; resumed bit by bit."""
    use(monkeypatch, MANY)
    err = interrupted(monkeypatch, tmp_path / "run", place, SIGNALS[name])
    wanted = {"first step": "batch 1 of epoch 0", "step": "batch 2 of epoch 1", "validation": "batch 0 of epoch 2"}
    assert wanted.get(place, "batch 0 of epoch") in err
    code, err = train_in_child(monkeypatch, tmp_path / "run", "--resume", "auto")
    assert code == 0, err
    assert_same(left_by(tmp_path / "run" / "seed-0"), left_by(whole))


@pytest.mark.parametrize(("name", "place"), [("INT", "step"), ("TERM", "validation"), ("USR1", "first step")])
def test_signal_with_workers(name: str, place: str, whole: Path, monkeypatch: Patch, tmp_path: Path) -> None:
    """With processes that make batches, which get the signal too and must not die of it first."""
    use(monkeypatch, MANY)
    interrupted(monkeypatch, tmp_path / "run", place, SIGNALS[name], "--data.workers", "2")
    code, err = train_in_child(monkeypatch, tmp_path / "run", "--resume", "auto")
    assert code == 0, err
    found, wanted = left_by(tmp_path / "run" / "seed-0"), left_by(whole)
    assert_same({**found, "about": ()}, {**wanted, "about": ()})  # the best weights may have been written with workers


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("USR1", 143)])
def test_second_signal(name: str, code: int, whole: Path, monkeypatch: Patch, tmp_path: Path) -> None:
    """A second signal does not wait for the step; what was saved before it is whole."""
    use(monkeypatch, MANY)
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 6, lambda: (send(SIGNALS[name])(), send(SIGNALS[name])()))
        found, err = train_in_child(patch, tmp_path / "run")
    assert found == code, err
    assert "stopped after batch" not in err
    assert [path.name for path in (tmp_path / "run" / "seed-0" / "last").iterdir()] == ["000001-000000"]
    assert train_in_child(monkeypatch, tmp_path / "run", "--resume", "auto")[0] == 0
    assert_same(left_by(tmp_path / "run" / "seed-0"), left_by(whole))


@pytest.mark.slow
def test_signals_at_random_moments(whole: Path, monkeypatch: Patch, tmp_path: Path) -> None:
    """Signals of all kinds at random moments of a run, again and again until it has ended; then of the next run."""
    use(monkeypatch, MANY)
    moments, codes, ended = random.Random(0), [], 0
    monkeypatch.setenv("CHILD_ERR", str(tmp_path / "err"))
    for _ in range(60):
        run = tmp_path / f"run-{ended}"
        pid = in_child(lambda run=run: main(["train", "digits", *FLAGS, "--out", str(run), "--resume", "auto"]))
        time.sleep(moments.uniform(0.15, 0.8))  # not before the command is there
        os.kill(pid, moments.choice(list(SIGNALS.values())))
        codes.append(wait(pid))
        if codes[-1] == 0:
            assert_same(left_by(run / "seed-0"), left_by(whole))
            ended += 1
    assert set(codes) <= {0, 130, 143}, (tmp_path / "err").read_text()
    assert codes.count(143) > 3
    assert ended > 3, codes
