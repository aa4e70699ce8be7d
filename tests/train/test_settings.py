"""Settings that are wrong, do not go together, or change between a run and its continuation, through the command line.

Unknown settings, the nearest named, are also in tests/cli/test_train.py::test_refuses_in_one_line for flags and in
tests/train/test_config.py::test_refuses for files.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
import torch

from geco.cli.main import main
from geco.store import read_entry
from geco.train.config import ModelConfig
from geco.train.engine import Trainer
from tests.conftest import relative_error
from tests.train.runs import FLAGS, MANY, ONE, SMALL, geco, in_child, on_call, refused, tree, use, wait

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("where", ["flag", "file"])
def test_unknown_setting(where: str, capsys: Capture, tmp_path: Path) -> None:
    """A typing error is refused with the nearest setting."""
    (tmp_path / "c.toml").write_text("[model]\nhiden = 8\n")
    words = ("--model.hiden", "8") if where == "flag" else ("--config", tmp_path / "c.toml")
    code, line = refused(capsys, "train", "digits", *words, "--out", tmp_path / "run")
    assert code == 2
    assert "hiden" in line
    assert "hidden" in line
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--optim.lr", "nan", "--optim.lr must be a finite number above 0, got nan"),
        ("--optim.lr", "inf", "--optim.lr must be a finite number above 0, got inf"),
        ("--optim.lr", "1e39", "--optim.lr must be a finite number above 0, got 1e+39"),
        ("--optim.lr", "-1", "--optim.lr must be a finite number above 0, got -1"),
        ("--optim.lr", "1e-3x", "1e-3x"),
        ("--optim.average", "1", "--optim.average must be in [0, 1), got 1"),
        ("--train.consistency", "-1", "--train.consistency must be a finite number 0 or more, got -1"),
        ("--model.hidden", "0", "--model.hidden must be at least 1, got 0"),
        ("--model.order", "0", "--model.order must be at least 1, got 0"),
        ("--train.epochs", "-1", "--train.epochs must be at least 1, got -1"),
        ("--model.dropout", "1.5", "--model.dropout must be in [0, 1), got 1.5"),
        ("--model.ffn-ratio", "nan", "--model.ffn-ratio must be above 0, got nan"),
        ("--data.split", "99", "digits has splits 0 to 0, split 99 was asked for"),
        ("--train.device", "gpu", "--train.device gpu cannot be used here; there is cpu"),
        ("--train.keep", "1", "--train.keep must be at least 2, got 1"),
    ],
)
def test_out_of_range(
    flag: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    """Values out of range are refused with the range; so is keeping one checkpoint only, which may be damaged."""
    use(monkeypatch, ONE)
    code, line = refused(capsys, "train", "digits", flag, value, "--out", tmp_path / "run")
    assert code == (3 if flag == "--data.split" else 2)
    assert message in line
    assert tree(tmp_path) == {}


def test_mixed_precision() -> None:
    """Bf16 trains, its sparse products and FFTs in float32: losses are those of float32 to bf16's precision."""
    losses = {}
    for amp in ("off", "bf16"):
        config = SMALL.__class__(
            SMALL.data, ModelConfig(hidden=16, dropout=0.0), SMALL.optim, SMALL.train.__class__(epochs=5, amp=amp)
        )  # type: ignore[arg-type]
        trainer = Trainer(config, ONE)
        trainer.fit()
        losses[amp] = torch.tensor([line["loss"] for line in trainer.state.history])
        assert all(p.dtype == torch.float32 for p in trainer.model.parameters())
    assert relative_error(losses["bf16"], losses["off"]) < 0.02
    assert not torch.equal(losses["bf16"], losses["off"])  # it is not ignored


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (b"", 0, ""),
        (b"[1, 2]\n", 2, "is not TOML"),
        (b"- a\n- b\n", 2, "is not TOML"),
        (b"!!python/object/apply:os.system ['true']\n", 2, "is not TOML"),
        (b"\x00\xff", 2, "is not TOML"),
        (b"#" * (2**20 + 1), 2, "is over 1,048,576 bytes"),
        (b"x = " + b"[" * 100_000, 2, "is not TOML"),
    ],
)
def test_configuration_files(
    content: bytes, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    """An empty file changes nothing; one that is no TOML, too large or nested without end is refused."""
    use(monkeypatch, ONE)
    (tmp_path / "c.toml").write_bytes(content)
    found, err = geco(capsys, "train", "digits", "--config", tmp_path / "c.toml", "--dry-run")
    assert found == code, err
    assert message in err
    assert err.count("\n") == (code != 0)


def test_endless_file(capsys: Capture) -> None:
    """No more is read than a configuration can be long."""
    code, line = refused(capsys, "train", "digits", "--config", "/dev/zero")
    assert code == 2
    assert "is over 1,048,576 bytes" in line


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture) -> Path:
    """Return the folder of a run that was interrupted in its second epoch."""
    use(monkeypatch, MANY)
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 5, lambda: os.kill(os.getpid(), signal.SIGTERM))
        code, err = geco(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
    assert code == 143, err
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("flags", "differences"),
    [
        (("--model.hidden", "16"), ["model.hidden: 8 there, 16 now"]),
        (
            ("--model.hidden", "16", "--optim.lr", "0.5"),
            ["model.hidden: 8 there, 16 now", "optim.lr: 0.01 there, 0.5 now"],
        ),
        (("--train.amp", "bf16"), ["train.amp: 'off' there, 'bf16' now"]),
        (("--data.batch-size", "4"), ["data.batch_size: 8 there, 4 now"]),
        (("--train.epochs", "4"), ["train.epochs: 8 there, 4 now"]),
        (("--train.eval-every", "2", "--train.keep", "5"), ["train.eval_every: 1 there, 2 now"]),
    ],
)
def test_changed_settings(flags: tuple[str, ...], differences: list[str], stopped: Path, capsys: Capture) -> None:
    """Going on with settings that change the result is refused (exit 4), field by field; nothing is touched."""
    before = tree(stopped)
    code, line = refused(capsys, "train", "digits", *FLAGS, *flags, "--out", stopped, "--resume", "auto")
    assert code == 4
    assert f"({'; '.join(differences)})" in line
    assert tree(stopped) == before


def test_settings_that_may_change(stopped: Path, whole: Path, capsys: Capture) -> None:
    """Workers, what is kept and how often change no bit of the weights; they may change, and it is reported."""
    flags = ("--data.workers", "1", "--train.keep", "3", "--train.save-every", "2")
    code, err = geco(capsys, "train", "digits", *FLAGS, *flags, "--out", stopped, "--resume", "auto")
    assert code == 0, err
    assert "goes on with data.workers 1, not 0, train.keep 3, not 2, train.save_every 2, not 1" in err
    ends = [stopped / "seed-0", whole]
    assert len({(end / "metrics.jsonl").read_text() for end in ends}) == 1
    assert len({(end / "result.json").read_text() for end in ends}) == 1
    weights = [read_entry(end / "best").arrays for end in ends]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_more_epochs_and_patience(monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path) -> None:
    """A finished run goes on with more epochs or patience, at a constant rate as if it had been started with them."""
    use(monkeypatch, ONE)
    few, more = ("--train.epochs", "3", "--train.patience", "1"), ("--train.epochs", "6", "--train.patience", "0")
    for out, flags in (("a", few), ("a", more), ("b", more)):
        code, err = geco(capsys, "train", "digits", *FLAGS, *flags, "--out", tmp_path / out, "--resume", "auto")
        assert code == 0, err
    found = [(tmp_path / name / "seed-0" / "metrics.jsonl").read_text() for name in ("a", "b")]
    assert found[0] == found[1]
    assert json.loads((tmp_path / "a" / "seed-0" / "result.json").read_text())["epochs"] == 6
    cosine = (*few, "--optim.schedule", "cosine", "--out", tmp_path / "c")
    assert geco(capsys, "train", "digits", *FLAGS, *cosine)[0] == 0
    code, err = geco(capsys, "train", "digits", *FLAGS, *cosine, "--train.epochs", "6", "--resume", "auto")
    assert code == 0, err
    assert "goes on with train.epochs 6, not 3" in err
    assert "learning rate goes on where that of 6 epochs stands" in err


def test_folder_of_another_run(monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path) -> None:
    """A folder that holds a run, or files of something else in its place, is not written to."""
    use(monkeypatch, ONE)
    words = ("train", "digits", *FLAGS, "--train.epochs", "2", "--out", tmp_path / "run")
    assert geco(capsys, *words)[0] == 0
    before = tree(tmp_path)
    code, line = refused(capsys, *words)
    assert code == 2
    assert "holds a run already; go on with --resume auto, or choose another --out" in line
    (tmp_path / "run" / "seed-0" / "config.toml").write_text("not TOML")
    code, line = refused(capsys, *words, "--resume", "auto")
    assert code == 4
    assert "cannot go on in" in line
    assert tree(tmp_path) == {**before, "run/seed-0/config.toml": tree(tmp_path)["run/seed-0/config.toml"]}


def test_two_processes_and_a_dead_one(monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path) -> None:
    """The second of two processes in one folder is refused; the lock of one that was killed does not stay."""
    use(monkeypatch, ONE)
    words = ["train", "digits", *FLAGS, "--out", str(tmp_path / "run"), "--resume", "auto"]
    monkeypatch.setenv("CHILD_ERR", str(tmp_path / "first.err"))
    with monkeypatch.context() as patch:
        on_call(patch, Trainer, "step", 2, lambda: (tmp_path / "there.err").touch() or time.sleep(60))
        first = in_child(lambda: main(words))
    while not (tmp_path / "there.err").exists():
        time.sleep(0.01)
    before = tree(tmp_path)
    code, line = refused(capsys, *words)
    assert code == 2
    assert "another process is training in" in line
    assert tree(tmp_path) == before
    os.kill(first, signal.SIGKILL)
    assert wait(first) == -signal.SIGKILL
    assert geco(capsys, *words)[0] == 0
