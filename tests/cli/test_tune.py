from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock

from geco.cli.main import main
from geco.data.dataset import GraphDataset
from geco.train.config import Config
from geco.tune.space_file import read_space
from tests.cli.conftest import Run
from tests.train.runs import refused, tree

Capture = pytest.CaptureFixture[str]
SMALL = ["--train.epochs", "2", "--train.threads", "1", "--model.hidden", "8"]


@pytest.fixture
def space(tmp_path: Path) -> str:
    """A file with little to try."""
    path = tmp_path / "space.toml"
    path.write_text("[optim]\nlr = {low = 0.001, high = 0.1, log = true}\n[model]\nlayers = [1, 2]\n")
    return str(path)


def test_from_a_name_to_settings_that_train(
    drawn: GraphDataset, run: Run, tmp_path: Path, space: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"
    monkeypatch.setattr("geco.tune.trial.collect", lambda: None)  # it looks through all of pytest too
    words = ["tune", "digits", *SMALL, "--space", space, "--trials", "3", "--out", str(out)]
    main([*words, "--seeds", "0", "1"])
    found = capsys.readouterr()
    assert found.err.count("trial ") >= 3
    assert "best accuracy" in found.err
    assert "over 2 seeds" in found.out
    assert "mean" in found.out
    for name in (
        "study.db",
        "space.toml",
        "best.toml",
        "page.html",
        "record.json",
        "best/seed-0/result.json",
        "best/seed-1/config.toml",
    ):
        assert (out / name).exists(), name
    before = tree(out / "best")
    again = run("train", "--config", str(out / "best.toml"), "--out", str(tmp_path / "again"))
    valid = [line.split()[1] for line in found.out.splitlines() if line.startswith("0  ")]
    assert valid == [line.split()[1] for line in again.splitlines() if line.startswith("0  ")]

    main([*words, "--seeds", "0", "1"])  # nothing is left to do
    assert tree(out / "best") == before
    with FileLock(out / ".best.lock"):
        capsys.readouterr()
        main([*words, "--seeds", "0", "1"])
        assert "another worker trains the best settings" in capsys.readouterr().err

    whole = tree(out)
    code, line = refused(capsys, *words, "--seed", "5")
    assert (code, "holds another study" in line) == (2, True)
    (out / "study.db").write_bytes(b"no study" * 1000)
    code, line = refused(capsys, *words)
    assert (code, "damaged" in line) == (3, True)
    assert {name: digest for name, digest in tree(out).items() if name != "study.db"} == {
        name: digest for name, digest in whole.items() if name != "study.db"
    }


def test_the_space_that_is_shown_can_be_read(drawn: GraphDataset, run: Run, tmp_path: Path) -> None:
    text = run("tune", "digits", "--model.name", "gat", "--show-space")
    (tmp_path / "space.toml").write_text(text)
    assert "model.heads" in read_space(tmp_path / "space.toml", Config())
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--trials", "0"], "--trials must be at least 1"),
        (["--timeout", "-1"], "--timeout must be a finite number"),
        (["--trial-timeout", "nan"], "--trial-timeout must be a finite number"),
        (["--seeds", "1", "1"], "--seeds must be different numbers"),
        (["--space", "none.toml"], "cannot read the search space"),
        (["--metric", "mae"], "does not suit"),
        (["--metric", "acuracy"], "no metric is called"),
        (["--model.name", "gekko"], "gekko"),
        (["--pruner", "mean"], "pruner"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    drawn: GraphDataset, words: list[str], wanted: str, tmp_path: Path, capsys: Capture
) -> None:
    code, line = refused(capsys, "tune", "digits", "--out", tmp_path / "study", *words)
    assert code == 2
    assert wanted in line
    assert not (tmp_path / "study").exists()


def test_unknown_data(tmp_path: Path, capsys: Capture) -> None:
    code, _ = refused(capsys, "tune", "corra", "--out", tmp_path / "study")
    assert code in (2, 3)
    assert not os.listdir(tmp_path)
