"""Run folders that are lost, shared or oddly named, and what TensorBoard is given."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from geco.cli.main import main
from geco.data.embedded.synthetic import erdos_renyi
from geco.errors import CheckpointError, Interrupted, UsageError
from geco.meter import Meter
from geco.store import read_entry
from geco.train.config import Config, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.run_folder import RunFolder
from tests.train.runs import (
    FLAGS,
    MANY,
    ONE,
    assert_same,
    geco,
    in_child,
    left_by,
    on_call,
    refused,
    tree,
    use,
    wait,
)

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
BOARD = Config(model=ModelConfig("mlp", hidden=4), train=TrainConfig(epochs=3, tensorboard=True))


def lose(kind: str, folder: Path) -> None:
    if kind == "folder":
        shutil.rmtree(folder)
    elif kind == "folder made again":
        shutil.rmtree(folder)
        (folder / "last").mkdir(parents=True)
        (folder / ".lock").touch()
    else:
        (folder / "metrics.jsonl").unlink()
        (folder / "metrics.jsonl").mkdir()


@pytest.mark.parametrize("moment", ["tell", "step"])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("metrics file", "Is a directory"),
        ("folder", "was removed or replaced while it was trained in"),
        ("folder made again", "was removed or replaced while it was trained in"),
    ],
)
def test_lost_files(kind: str, message: str, moment: str, monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """A metrics file that cannot be written, or a folder that is gone, stops with exit 6 and no result; nothing is
    made.
    """
    use(monkeypatch, MANY)
    folder = tmp_path / "run" / "seed-0"
    after: dict[str, str] = {}

    def act() -> None:
        lose(kind, folder)
        after.update(tree(tmp_path))

    on_call(monkeypatch, *((Meter, "show", 2) if moment == "tell" else (Trainer, "step", 6)), act)
    code, line = refused(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
    assert code == 6
    assert message in line
    assert not list(tmp_path.rglob("result.json"))
    if kind != "metrics file":
        assert tree(tmp_path) == after


def test_lost_folder_when_interrupted(monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """A run whose folder is gone does not make it again to save what it was asked to."""
    use(monkeypatch, MANY)
    act = lambda: (shutil.rmtree(tmp_path / "run"), os.kill(os.getpid(), signal.SIGTERM))  # noqa: E731
    on_call(monkeypatch, Trainer, "step", 6, act)
    code, err = geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
    assert code == 6
    assert "was removed" in err
    assert not (tmp_path / "run").exists()


def test_two_runs_at_once(monkeypatch: Patch, tmp_path: Path) -> None:
    """Of two runs started in one folder at the same moment one trains and one is refused; in two folders both train."""
    use(monkeypatch, ONE)
    monkeypatch.setenv("CHILD_ERR", str(tmp_path / "err"))
    for outs, wanted in ((("a", "a"), [0, 2]), (("b", "c"), [0, 0])):
        pids = [
            in_child(lambda out=out: main(["train", "digits", *FLAGS, "--out", str(tmp_path / out)])) for out in outs
        ]
        assert sorted(map(wait, pids)) == wanted, (tmp_path / "err").read_text()
    results = [json.loads((tmp_path / name / "seed-0" / "result.json").read_text()) for name in "abc"]
    assert results[0] == results[1] == results[2]


def test_odd_paths(monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """Paths that are long, or hold spaces, other scripts and characters that patterns use, work for every command."""
    use(monkeypatch, ONE)
    out = tmp_path / "Läufe 图 [x]*?" / "/".join(["long" * 50] * 12)
    words = ("train", "digits", *FLAGS, "--train.epochs", "2", "--out", out)
    assert geco(capsys, *words)[0] == 0
    assert read_entry(out / "seed-0" / "best").about["epoch"] in (1, 2)
    code, err = geco(capsys, *words, "--resume", "auto")
    assert code == 0
    assert err.endswith("is finished already\n")
    assert geco(capsys, "eval", out)[0] == 0
    code, line = refused(capsys, *words[:-1], tmp_path / ("x" * 300))
    assert code == 6
    assert "File name too long" in line


def test_clock_that_jumps(whole: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """A clock set back changes nothing but times."""
    use(monkeypatch, MANY)
    ticks = iter(range(10**6, 0, -1))
    monkeypatch.setattr("time.time", lambda: float(next(ticks)))
    assert geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")[0] == 0
    assert_same(left_by(tmp_path / "run" / "seed-0"), left_by(whole))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Put a writer that only listens in the place of TensorBoard's."""
    written: list[tuple[Any, ...]] = []

    class SummaryWriter:
        def __init__(self, folder: str, purge_step: int) -> None:
            written.append(("from", purge_step))

        def add_scalar(self, name: str, value: float, epoch: int) -> None:
            written.append((name, value, epoch))

        def close(self) -> None:
            written.append(("closed",))

    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    return written


def test_every_evaluation_is_told(told: list[tuple[Any, ...]], tmp_path: Path) -> None:
    result = Trainer(BOARD, erdos_renyi(30, degree=3), tmp_path / "run").fit()
    assert [row[2] for row in told if row[0] == "valid"] == [1, 2, 3]
    assert ("test", result["test"], result["epoch"]) in told
    assert told[-1] == ("closed",)


def test_going_on_forgets_what_came_after_the_checkpoint(told: list[tuple[Any, ...]], tmp_path: Path) -> None:
    stops = iter([False, False, True])
    with pytest.raises(Interrupted):
        Trainer(BOARD, erdos_renyi(30, degree=3), tmp_path / "run", stop=lambda: next(stops)).fit()
    before = len(told)
    Trainer(BOARD, erdos_renyi(30, degree=3), tmp_path / "run", resume=True).fit()
    assert [row for row in told[before:] if row[0] == "from"] == [("from", 2)]  # epoch 1 is not forgotten
    assert [row[2] for row in told[before:] if row[0] == "valid"] == [2, 3]


def test_without_tensorboard_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UsageError, match="pip install"):
        Trainer(BOARD, erdos_renyi(30, degree=3), tmp_path / "run")
    plain = replace(BOARD, train=replace(BOARD.train, tensorboard=False))
    Trainer(plain, erdos_renyi(30, degree=3), tmp_path / "other").fit()


@pytest.mark.parametrize(("name", "refused"), [("geco", False), ("hyena", False), ("gcn", False), ("polynormer", True)])
def test_more_epochs_may_follow_if_none_depends_on_their_number(name: str, refused: bool, tmp_path: Path) -> None:
    config = Config(model=ModelConfig(name), optim=OptimConfig(schedule="constant"), train=TrainConfig(epochs=3))
    begun = RunFolder(tmp_path / "run", config, resume=False)
    begun.log({"epoch": 1}, {})
    begun.close()
    longer = replace(config, train=TrainConfig(epochs=4))
    wrong = pytest.raises(CheckpointError, match=r"train\.epochs: 3 there, 4 now")
    with wrong if refused else contextlib.nullcontext():
        RunFolder(tmp_path / "run", longer, resume=True).close()
