"""Checkpoints as processes are killed, disks fill and files rot: the old one or the new one, never neither.

Entries on disk are in tests/test_store.py, going on in tests/train/test_engine_resume.py, damage in the loop in
tests/train/test_engine.py::test_damaged_newest_checkpoint and test_all_checkpoints_damaged.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from geco.store import read_entry
from geco.train import checkpoint
from geco.train.checkpoint import State, newest, save, save_best
from geco.train.config import TrainConfig
from geco.train.engine import Trainer
from tests.train.runs import (
    FLAGS,
    MANY,
    ONE,
    SMALL,
    assert_same,
    damage,
    geco,
    in_child,
    left_by,
    on_call,
    refused,
    train_in_child,
    tree,
    use,
    wait,
)

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def save_for_ever(folder: Path) -> None:
    """Save states of 12 MiB in which every weight is the number of the epoch."""
    model = nn.Linear(1024, 1024, bias=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0)
    model.weight.grad = torch.zeros_like(model.weight)
    optimizer.step()
    for epoch in range(1, 10**6):
        nn.init.constant_(model.weight, epoch)
        save_best(folder / "best", State(epoch, best={"epoch": epoch}), model, {})
        save(folder / "last", State(epoch), {"model": model}, optimizer, {}, keep=2)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [4, pytest.param(120, marks=pytest.mark.slow)])
def test_killed_while_saving(kills: int, monkeypatch: Patch, tmp_path: Path) -> None:
    """SIGKILL at random moments of saving leaves the old or the new checkpoint, whole, and so for the best weights."""
    moments = random.Random(0)
    monkeypatch.setenv("CHILD_ERR", str(tmp_path / "err"))
    for turn in range(kills):
        folder = tmp_path / str(turn)
        folder.mkdir()
        pid = in_child(lambda folder=folder: save_for_ever(folder))
        while not (folder / "last" / "000001-000000").exists():
            time.sleep(0.005)
        time.sleep(moments.uniform(0.0, 0.2))
        os.kill(pid, signal.SIGKILL)
        assert wait(pid) == -signal.SIGKILL, (tmp_path / "err").read_text()
        best = read_entry(folder / "best")
        found = newest(folder / "last")
        assert found is not None
        assert bool((best.arrays["weight"] == best.about["epoch"]).all())
        assert bool((found.arrays["model/weight"] == found.about["state"]["epoch"]).all())
        assert 0 <= best.about["epoch"] - found.about["state"]["epoch"] <= 1  # one of the two was being written
        assert not list((folder / "last").glob(".*")), "what the killed process left is swept"
        assert not list((folder / "last").glob("damaged-*")), "nothing half-written has the name of a checkpoint"
        shutil.rmtree(folder)


@pytest.mark.parametrize("how", ["flipped", "empty"])
def test_damaged_newest_and_damaged_best(
    how: str, whole: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path
) -> None:
    """Going on takes the checkpoint before a damaged one and warns (exit 0); a damaged one that is named is exit
    4.
    """
    use(monkeypatch, MANY)
    words = ("train", "digits", *FLAGS, "--resume", "auto", "--out")
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 10, lambda: os.kill(os.getpid(), signal.SIGTERM))
        assert geco(capsys, *words, tmp_path / "run")[0] == 143
    folder = tmp_path / "run" / "seed-0"
    damage(sorted((folder / "last").glob("[0-9]*"))[-1], how)
    code, err = geco(capsys, *words, tmp_path / "run")
    assert code == 0
    assert "is damaged" in err
    assert "going back to the one before it" in err
    assert_same(left_by(folder), left_by(whole))
    damage(folder / "best", how)
    before = tree(tmp_path)
    code, line = refused(capsys, "eval", tmp_path / "run")
    assert code == 4
    assert "best is damaged" in line
    assert tree(tmp_path) == before


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_disk_full_in_mid_run(whole: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """A disk that fills ends the run with exit 6 and what it needs; the checkpoint before is whole, and serves to go
    on.
    """
    use(monkeypatch, MANY)
    with monkeypatch.context() as patch:
        on_call(patch, checkpoint, "save", 3, lambda: limit_files(4096))
        code, err = train_in_child(patch, tmp_path / "run")
    assert code == 6
    assert err.count("\n") == 1
    assert "no space, needs " in err
    assert "MiB, has " in err
    folder = tmp_path / "run" / "seed-0"
    assert [path.name for path in sorted((folder / "last").iterdir())] == ["000001-000000", "000002-000000"]
    assert not (folder / "result.json").exists()
    assert geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run", "--resume", "auto")[0] == 0
    assert_same(left_by(folder), left_by(whole))


def test_nothing_goes_through_the_temporary_folder(monkeypatch: Patch, tmp_path: Path) -> None:
    """A temporary folder on another file system, or none at all, does not matter: parts are written beside their
    place.
    """
    monkeypatch.setenv("TMPDIR", "/nowhere")
    monkeypatch.setattr("tempfile.tempdir", None)
    Trainer(replace(SMALL, train=TrainConfig(epochs=1)), ONE, tmp_path / "run").fit()
    assert read_entry(tmp_path / "run" / "best").about["epoch"] == 1


def test_not_permitted_to_save(monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """A checkpoint that may not be moved into place ends the run with exit 6."""
    use(monkeypatch, ONE)

    def deny() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "best")

    on_call(monkeypatch, checkpoint, "write_entry", 1, deny)
    code, line = refused(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
    assert code == 6
    assert "Permission denied" in line
