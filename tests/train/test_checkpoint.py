"""Checkpoints as processes are killed, disks fill, files rot and versions change: the old one or the new one, never neither.

D5 to D8 are in tests/train/test_resume.py. D2 at the loop is in
tests/train/test_engine.py::test_damaged_newest_checkpoint and test_all_checkpoints_damaged.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from geco import store
from geco.errors import ResourceError
from geco.store import Entry, read_entry, write_entry
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
    child,
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
def test_d1_killed_while_saving(kills: int, monkeypatch: Patch, tmp_path: Path) -> None:
    """D1: SIGKILL at random moments of saving leaves the old or the new checkpoint, whole, and so for the best weights."""
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


def test_d1_between_the_two_moves_of_a_replacement(monkeypatch: Patch, tmp_path: Path) -> None:
    """D1: killed after the old entry was moved away and before the new one came, the old one is read, and put back."""
    path = tmp_path / "best"
    write_entry(path, Entry({"x": torch.ones(2)}, {"epoch": 1}))

    def die() -> None:
        on_call(monkeypatch, store.os, "replace", 2, lambda: os.kill(os.getpid(), signal.SIGKILL))
        write_entry(path, Entry({"x": torch.zeros(2)}, {"epoch": 2}))

    assert child(monkeypatch, path, die)[0] == -signal.SIGKILL
    assert not path.exists()
    assert read_entry(path).about == {"epoch": 1}
    store.sweep(path)
    assert path.is_dir()
    assert read_entry(path).about == {"epoch": 1}
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("how", ["flipped", "empty"])
def test_d2_damaged_newest_and_damaged_best(how: str, whole: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """D2: going on takes the checkpoint before a damaged one and says so (exit 0); a damaged one that is named is exit 4."""
    use(monkeypatch, MANY)
    words = ("train", "digits", *FLAGS, "--resume", "auto", "--out")
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 10, lambda: os.kill(os.getpid(), signal.SIGTERM))
        assert geco(capsys, *words, tmp_path / "run")[0] == 143
    folder = tmp_path / "run" / "seed-0"
    damage(sorted((folder / "last").glob("[0-9]*"))[-1], how)
    code, said = geco(capsys, *words, tmp_path / "run")
    assert code == 0
    assert "is damaged" in said
    assert "going back to the one before it" in said
    assert_same(left_by(folder), left_by(whole))
    damage(folder / "best", how)
    before = tree(tmp_path)
    code, line = refused(capsys, "eval", tmp_path / "run")
    assert code == 4
    assert "best is damaged" in line
    assert tree(tmp_path) == before


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_d3_disk_full_in_mid_run(whole: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """D3: a disk that fills ends the run with exit 6 and what it needs; the checkpoint before is whole, and serves to go on."""
    use(monkeypatch, MANY)
    with monkeypatch.context() as patch:
        on_call(patch, checkpoint, "save", 3, lambda: limit_files(4096))
        code, said = train_in_child(patch, tmp_path / "run")
    assert code == 6
    assert said.count("\n") == 1
    assert "no space, needs " in said
    assert "MiB, has " in said
    folder = tmp_path / "run" / "seed-0"
    assert [path.name for path in sorted((folder / "last").iterdir())] == ["000001-000000", "000002-000000"]
    assert not (folder / "result.json").exists()
    assert geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run", "--resume", "auto")[0] == 0
    assert_same(left_by(folder), left_by(whole))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_d3_disk_full_when_it_is_flushed(number: int, monkeypatch: Patch, tmp_path: Path) -> None:
    """D3: some file systems notice a full disk or a quota only when they are told to write."""
    path = tmp_path / "best"
    write_entry(path, Entry({"x": torch.ones(2)}, {"epoch": 1}))

    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ResourceError, match=r"no space, needs 0.0 MiB, has .* MiB free .* that was there is changed"):
            write_entry(path, Entry({"x": torch.zeros(2)}, {"epoch": 2}))
    assert read_entry(path).about == {"epoch": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["best"]


def test_d3_small_file_system(tmp_path: Path) -> None:
    """D3: a file system of 1 MiB; what fits stays, what does not says what it needs and what there is."""
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this process may not mount a file system")
    try:
        write_entry(tmp_path / "a", Entry({"x": torch.ones(2**16)}, {}))
        with pytest.raises(ResourceError, match=r"no space, needs 4\.0 MiB, has 0\.[0-9] MiB free"):
            write_entry(tmp_path / "a", Entry({"x": torch.zeros(2**20)}, {}))
        assert bool(read_entry(tmp_path / "a").arrays["x"].all())
        assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_d4_nothing_goes_through_the_temporary_folder(monkeypatch: Patch, tmp_path: Path) -> None:
    """D4: a temporary folder on another file system, or none at all, does not matter: parts are written beside their place."""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    monkeypatch.setattr("tempfile.tempdir", None)
    Trainer(replace(SMALL, train=TrainConfig(epochs=1)), ONE, tmp_path / "run").fit()
    assert read_entry(tmp_path / "run" / "best").about["epoch"] == 1


@pytest.mark.parametrize("call", [1, 2])
def test_d4_not_permitted_at_the_last_moment(call: int, monkeypatch: Patch, tmp_path: Path) -> None:
    """D4: refused at either move of the commit, it is an error and never "saved"; the old one stays."""
    path = tmp_path / "best"
    write_entry(path, Entry({"x": torch.ones(2)}, {"epoch": 1}))

    def deny() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        on_call(patch, store.os, "replace", call, deny)
        with pytest.raises(PermissionError):
            write_entry(path, Entry({"x": torch.zeros(2)}, {"epoch": 2}))
    assert read_entry(path).about == {"epoch": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["best"]


def test_d4_exit_code(monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """D4: in a run it is exit 6."""
    use(monkeypatch, ONE)

    def deny() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "best")

    on_call(monkeypatch, checkpoint, "write_entry", 1, deny)
    code, line = refused(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
    assert code == 6
    assert "Permission denied" in line
