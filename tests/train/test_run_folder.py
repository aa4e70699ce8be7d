"""E4, E5: run folders that are lost, shared or oddly named."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from geco.cli.main import main
from geco.console import Meter
from geco.store import read_entry
from geco.train.engine import Trainer
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


def lose(kind: str, folder: Path) -> None:
    if kind == "folder":
        shutil.rmtree(folder)
    elif kind == "folder made anew":
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
        ("folder made anew", "was removed or replaced while it was trained in"),
    ],
)
def test_e4_lost_files(kind: str, message: str, moment: str, monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """E4: a metrics file that cannot be written, or a folder that is gone, stops with exit 6 and no result; nothing is made."""
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


def test_e4_lost_folder_when_interrupted(monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """E4: a run whose folder is gone does not make it anew to save what it was asked to."""
    use(monkeypatch, MANY)
    act = lambda: (shutil.rmtree(tmp_path / "run"), os.kill(os.getpid(), signal.SIGTERM))  # noqa: E731
    on_call(monkeypatch, Trainer, "step", 6, act)
    code, said = geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
    assert code == 6
    assert "was removed" in said
    assert not (tmp_path / "run").exists()


def test_e5_two_runs_at_once(monkeypatch: Patch, tmp_path: Path) -> None:
    """E5: of two runs started in one folder at the same moment one trains and one is refused; in two folders both train."""
    use(monkeypatch, ONE)
    monkeypatch.setenv("CHILD_ERR", str(tmp_path / "err"))
    for outs, wanted in ((("a", "a"), [0, 2]), (("b", "c"), [0, 0])):
        pids = [in_child(lambda out=out: main(["train", "digits", *FLAGS, "--out", str(tmp_path / out)])) for out in outs]
        assert sorted(map(wait, pids)) == wanted, (tmp_path / "err").read_text()
    results = [json.loads((tmp_path / name / "seed-0" / "result.json").read_text()) for name in "abc"]
    assert results[0] == results[1] == results[2]


def test_e5_odd_paths(monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """E5: paths that are long, or hold spaces, other scripts and characters that patterns use, work for every command."""
    use(monkeypatch, ONE)
    out = tmp_path / "Läufe 图 [x]*?" / "/".join(["long" * 50] * 12)
    words = ("train", "digits", *FLAGS, "--train.epochs", "2", "--out", out)
    assert geco(capsys, *words)[0] == 0
    assert read_entry(out / "seed-0" / "best").about["epoch"] in (1, 2)
    code, said = geco(capsys, *words, "--resume", "auto")
    assert code == 0
    assert said.endswith("is finished already\n")
    assert geco(capsys, "eval", out)[0] == 0
    code, line = refused(capsys, *words[:-1], tmp_path / ("x" * 300))
    assert code == 6
    assert "File name too long" in line


def test_e5_clock_that_jumps(whole: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path) -> None:
    """E5: a clock set back changes nothing but times."""
    use(monkeypatch, MANY)
    ticks = iter(range(10**6, 0, -1))
    monkeypatch.setattr("time.time", lambda: float(next(ticks)))
    assert geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")[0] == 0
    assert_same(left_by(tmp_path / "run" / "seed-0"), left_by(whole))
