"""A start that fails leaves nothing in the way of the next one, of going on, or of a report."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from geco.names import BASELINES
from geco.train.config import Config, TrainConfig
from geco.train.run_folder import RunFolder
from tests.train.runs import ONE, geco, refused, use

Capture = pytest.CaptureFixture[str]
QUICK = ("train", "digits", "--model.hidden", "8", "--train.epochs", "2", "--train.threads", "1")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (("--train.tensorboard",), 2),
        (("--train.wandb",), 2),
        (("--optim.lr", "1e20", "--optim.warmup", "0", "--optim.clip", "0", "--model.name", next(iter(BASELINES))), 5),
        (("--train.device", "cuda:7"), 2),
        (("--data.split", "9"), 3),
    ],
)
@pytest.mark.parametrize("next_words", [(), ("--resume", "auto")])
def test_the_corrected_command_trains(
    wrong: tuple[str, ...],
    code: int,
    next_words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    tmp_path: Path,
) -> None:
    for module in ("torch.utils.tensorboard", "wandb"):
        monkeypatch.setitem(sys.modules, module, None)
    use(monkeypatch, ONE)
    out = tmp_path / "runs" / "mine"
    assert refused(capsys, *QUICK, *wrong, "--out", out)[0] == code
    assert not (tmp_path / "runs").exists()
    assert geco(capsys, *QUICK, "--out", out, *next_words)[0] == 0
    assert (out / "seed-0" / "result.json").is_file()


def test_a_folder_that_was_there_stays(monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    use(monkeypatch, ONE)
    (tmp_path / "run" / "seed-0").mkdir(parents=True)
    (tmp_path / "run" / "seed-0" / "notes.txt").write_text("mine")
    refused(capsys, *QUICK, "--train.wandb", "--out", tmp_path / "run")
    assert [path.name for path in (tmp_path / "run" / "seed-0").iterdir()] == ["notes.txt"]


def test_one_killed_before_its_first_checkpoint_is_taken_over(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    use(monkeypatch, ONE)
    killed = RunFolder(tmp_path / "a" / "seed-0", Config(train=TrainConfig(epochs=99)), resume=False)
    killed.lock.release()  # as the end of its process does
    assert (tmp_path / "a" / "seed-0" / "config.toml").is_file()
    assert geco(capsys, *QUICK, "--out", tmp_path / "b")[0] == 0
    code, said = geco(capsys, "report", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "page.html")
    assert code == 0
    assert f"{tmp_path / 'a' / 'seed-0'}: not shown: it has no finished epoch yet\n1 run in" in said
    assert geco(capsys, *QUICK, "--out", tmp_path / "a", "--resume", "auto")[0] == 0
