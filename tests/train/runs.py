"""What tests of runs share: small data, `geco train` in this process or in a child, and what it left on disk."""

from __future__ import annotations

import hashlib
import multiprocessing.util
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from geco.cli.main import main
from geco.data import load_dataset
from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import erdos_renyi, ring_copy
from geco.store import read_entry
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig

ONE = erdos_renyi(60, degree=4, seed=1)
MANY = ring_copy(3, graphs=40)
SMALL = Config(
    DataConfig("test", batch_size=8),
    ModelConfig(hidden=8, layers=2, dropout=0.3, permutation="dynamic", eval_orders=2),
    OptimConfig(lr=0.01, warmup=1),
    TrainConfig(epochs=4),
)
# As flags, and more: dropout, dynamic order, shuffled batches, schedule, early stopping, running mean; GECO has
# buffers.
FLAGS = [
    *(
        "--model.hidden",
        "8",
        "--model.layers",
        "1",
        "--model.dropout",
        "0.3",
        "--model.permutation",
        "dynamic",
        "--model.eval-orders",
        "2",
    ),
    *("--data.batch-size", "8", "--optim.schedule", "plateau", "--optim.plateau-patience", "1", "--optim.warmup", "1"),
    *("--optim.average", "0.9"),
    *("--train.epochs", "8", "--train.patience", "3", "--train.threads", "1"),
]


def geco(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """Run a command here; return its exit code and what it printed on standard error."""
    code: Any = 0
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        code = end.code
    return code, capsys.readouterr().err


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """Run a command that must fail; return its exit code and its one line."""
    code, err = geco(capsys, *words)
    assert code != 0, "it was not refused"
    lines = [line for line in err.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 1, err
    assert lines[0].startswith("geco: error: ")
    return code, lines[0]


def use(monkeypatch: pytest.MonkeyPatch, dataset: GraphDataset) -> None:
    """Make a data set the one that every name loads, here and in children."""
    named = replace(dataset, info=replace(dataset.info, name="digits"))
    monkeypatch.setattr(load_dataset, "load", lambda *_, **__: named)


def in_child(work: Callable[[], object]) -> int:
    """Start work in a forked process, with standard error in a file; return its id."""
    pid = os.fork()
    if pid:
        return pid
    code: Any = 0
    try:
        multiprocessing.util._run_after_forkers()  # else it shares files through a thread that only its parent has
        os.setsid()  # a process group of its own, so that signals to it stay in it
        with Path(os.environ["CHILD_ERR"]).open("a") as sys.stderr:
            os.dup2(sys.stderr.fileno(), 2)
            try:
                work()
            except SystemExit as end:
                code = end.code
            except BaseException:
                traceback.print_exc()
                code = 99
    finally:
        os._exit(code if isinstance(code, int) else 98)


def wait(pid: int) -> int:
    """Return the exit code of a child; that of one killed by a signal is negative."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def child(monkeypatch: pytest.MonkeyPatch, folder: Path, work: Callable[[], object]) -> tuple[int, str]:
    """Do work in a child and wait; return its exit code and what it printed on standard error."""
    err = folder.parent / f"{folder.name}.err"
    err.write_text("")
    monkeypatch.setenv("CHILD_ERR", str(err))
    return wait(in_child(work)), err.read_text()


def train_in_child(monkeypatch: pytest.MonkeyPatch, out: Path, *words: str) -> tuple[int, str]:
    """Run `geco train` in a child."""
    return child(monkeypatch, out, lambda: main(["train", "digits", *FLAGS, "--out", str(out), *words]))


def on_call(monkeypatch: pytest.MonkeyPatch, home: Any, name: str, number: int, act: Callable[[], object]) -> None:
    """Do something right before the given call of a function, counted from 1."""
    true, calls = getattr(home, name), [0]

    def counted(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            act()
        return true(*args, **options)

    monkeypatch.setattr(home, name, counted)


def left_by(folder: Path) -> dict[str, Any]:
    """Return everything a run left, by bit, but for times."""
    last = read_entry(sorted((folder / "last").glob("[0-9]*"))[-1])
    best = read_entry(folder / "best")
    return {
        "metrics": (folder / "metrics.jsonl").read_text(),
        "result": (folder / "result.json").read_text(),
        "about": (last.about, best.about),
        "arrays": {
            **{f"last {k}": v for k, v in last.arrays.items()},
            **{f"best {k}": v for k, v in best.arrays.items()},
        },
    }


def assert_same(a: dict[str, Any], b: dict[str, Any]) -> None:
    """Compare what two runs left, bit by bit."""
    assert a["metrics"] == b["metrics"]
    assert a["result"] == b["result"]
    assert a["about"] == b["about"]
    assert a["arrays"].keys() == b["arrays"].keys()
    for name, value in a["arrays"].items():
        assert torch.equal(value, b["arrays"][name]), name


def damage(path: Path, how: str) -> None:
    """Spoil an entry on disk."""
    data = path / "data.safetensors"
    if how == "truncated":
        os.truncate(data, data.stat().st_size // 2)
    elif how == "flipped":
        raw = bytearray(data.read_bytes())
        raw[-5] ^= 1
        data.write_bytes(raw)
    elif how == "empty":
        data.write_bytes(b"")
    else:
        (path / "manifest.json").write_text("")


def tree(folder: Path) -> dict[str, str]:
    """Return a hash of every file below a folder but locks."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in (".lock", ".err")]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
