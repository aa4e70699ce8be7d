"""``geco train --nproc`` as a user types it: scores, refusals, and what comes of faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch

from geco.cli.main import explained
from geco.cli.settings import TrainOptions, read
from geco.cli.train import train_until
from geco.cli.workers import as_worker
from geco.distributed.launch import WorkerFailed, launch
from geco.errors import Interrupted
from geco.store import read_entry
from tests.cli.workers_work import with_fault
from tests.train.runs import assert_same, left_by, refused

pytestmark = pytest.mark.dist
WORDS = [
    *("echo", "--data.batch-size", "201", "--model.hidden", "8", "--model.layers", "1", "--model.dropout", "0.2"),
    *("--train.epochs", "3", "--train.statistics", "2", "--model.permutation", "dynamic", "--model.eval-orders", "1"),
]
TIMEOUT = 10.0


def options(out: Path, *more: str) -> TrainOptions:
    return read([*WORDS, "--out", str(out), "--timeout", f"{TIMEOUT:g}", *more])


def train(out: Path, *words: str) -> subprocess.Popen[str]:
    """Start `geco train` over two processes."""
    command = [sys.executable, "-m", "geco", "train", *WORDS, "--out", str(out), "--nproc", "2", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two processes without faults, by the command."""
    out = tmp_path_factory.mktemp("whole") / "run"
    process = train(out)
    shown, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert errors == ""
    assert shown.count("echo, geco: test accuracy ") == 1, "one process shows it, once"
    return out


def test_scores_are_about_those_of_one_process(whole: Path, tmp_path: Path) -> None:
    """With dropout, which is drawn by each process, losses are alike and no more."""
    alone = subprocess.run(
        [sys.executable, "-m", "geco", "train", *WORDS, "--out", str(tmp_path / "run")], capture_output=True, text=True
    )
    assert alone.returncode == 0, alone.stderr
    lines = [(out / "seed-0" / "metrics.jsonl").read_text().splitlines() for out in (whole, tmp_path / "run")]
    losses = [[json.loads(line)["loss"] for line in part] for part in lines]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)
    assert sorted(p.name for p in (whole / "seed-0").iterdir()) == sorted(
        p.name for p in (tmp_path / "run" / "seed-0").iterdir()
    )


def test_with_processes_that_make_batches(whole: Path, tmp_path: Path) -> None:
    """They are gone at the end, which does not wait for them."""
    process = train(tmp_path / "run", "--data.workers", "1")
    process.communicate(timeout=100)
    assert process.returncode == 0
    found, wanted = ((out / "seed-0" / "metrics.jsonl").read_text() for out in (tmp_path / "run", whole))
    assert found == wanted


@pytest.mark.parametrize(("rank", "place"), [(1, "step"), (0, "saving")])
def test_killed_and_started_again(rank: int, place: str, whole: Path, tmp_path: Path) -> None:
    """The end is bit by bit that of a run without the fault."""
    work = with_fault("SIGKILL", rank, place)
    launch(work, options(tmp_path / "run"), 2, timeout=TIMEOUT, restarts=1, explain=explained)
    assert_same(left_by(tmp_path / "run" / "seed-0"), left_by(whole / "seed-0"))


def test_killed(tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match="rank 1 was killed by SIGKILL") as error:
        launch(with_fault("SIGKILL", 1, "step"), options(tmp_path / "run"), 2, timeout=TIMEOUT, explain=explained)
    assert error.value.exit_code == 6
    last = sorted((tmp_path / "run" / "seed-0" / "last").glob("[0-9]*"))[-1]
    assert read_entry(last).about["state"]["epoch"] == 1


def test_a_wish_to_stop_that_one_rank_alone_hears(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match=r"stopped after batch 2 of epoch 1, saved in .*; go on with --resume auto"):
        launch(with_fault("SIGTERM", 1, "step"), options(tmp_path / "run"), 2, timeout=TIMEOUT, explain=explained)
    more = options(tmp_path / "run", "--resume", "auto")
    launch(partial(as_worker, train_until), more, 2, timeout=TIMEOUT, explain=explained)
    assert_same(left_by(tmp_path / "run" / "seed-0"), left_by(whole / "seed-0"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_is_asked_to_stop(number: int, tmp_path: Path) -> None:
    process = train(tmp_path / "run", "--train.epochs", "10000")
    end = time.monotonic() + 60
    while not (tmp_path / "run" / "seed-0" / "last").exists() and time.monotonic() < end:
        time.sleep(0.1)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert errors.startswith("stopping after this step; once more to stop at once\ngeco: error: stopped after batch ")
    assert errors.count("\n") == 2


def test_torchrun(whole: Path, tmp_path: Path) -> None:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "geco"]
    words = ["train", *WORDS, "--out", str(tmp_path / "run"), "--train.threads", "1"]
    done = subprocess.run([*start, *words], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("echo, geco: test accuracy ") == 1
    found, wanted = (read_entry(out / "seed-0" / "best").arrays for out in (tmp_path / "run", whole))
    for name, value in wanted.items():
        assert torch.equal(found[name], value), name


def test_refusals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words, code, said in (
        (["digits", "--nproc", "2"], 2, "digits is one graph, and 2 processes can only share out many; leave out"),
        (["echo", "--nproc", "0"], 2, "--nproc must be at least 1 and --max-restarts at least 0, got 0 and 0"),
        (["echo", "--nproc", "2", "--jobs", "2"], 2, "leave out --jobs"),
        (["echo", "--nproc", "2", "--timeout", "0"], 2, "--timeout must be a number of seconds above 0, got 0"),
    ):
        found, line = refused(capsys, "train", *words, "--out", tmp_path / "run")
        assert (found, said in line) == (code, True), line
    assert not (tmp_path / "run").exists()
