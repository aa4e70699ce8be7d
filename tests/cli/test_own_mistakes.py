"""What people do with their own data that would give wrong numbers if nobody said a word: as typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from geco.cli.main import main
from geco.train.trained_run import load_run

QUICK = ("--train.epochs", "2", "--model.hidden", "4", "--train.threads", "1")
NODES = 40
Capture = pytest.CaptureFixture[str]
Cells = Callable[[int], object]


def files(folder: Path, *, edges: list[str] | None = None, **columns: Cells) -> Path:
    """Write a ring of nodes with the given columns."""
    folder.mkdir(exist_ok=True)
    rows = [",".join(["id", *columns]), *(",".join([f"n{i}", *(str(c(i)) for c in columns.values())]) for i in range(NODES))]
    (folder / "nodes.csv").write_text("\n".join(rows))
    ring = [f"n{i},n{(i + 1) % NODES}" for i in range(NODES)]
    (folder / "edges.csv").write_text("\n".join(edges or ["source,target", *ring]))
    return folder


def geco(capsys: Capture, *words: str | Path, code: int = 0) -> str:
    """Return all that a command prints; it must end with this code."""
    ended = 0
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        ended = int(end.code or 0)
    shown = capsys.readouterr()
    assert ended == code, shown
    return shown.out + shown.err


def trained(capsys: Capture, folder: Path, out: Path, *flags: str) -> str:
    """Import and train, and return all that was printed."""
    said = geco(capsys, "data", "import", folder, "--name", "mine", "--replace", *flags)
    return said + geco(capsys, "train", "mine", *QUICK, "--out", out)


def age(i: int) -> int:
    return i % 5


def kind(i: int) -> str:
    return ("cat", "dog")[i % 2]


@pytest.mark.parametrize("weight", [False, True])
def test_directed_edges_stay_directed_in_training_and_prediction(
    capsys: Capture, tmp_path: Path, weight: bool
) -> None:
    lines = [f"n0,n{i}{',1' if weight else ''}" for i in range(1, NODES)]
    folder = files(tmp_path / "in", edges=["source,target" + ",weight" * weight, *lines], age=age, label=kind)
    said = trained(capsys, folder, tmp_path / "r", "--directed")
    assert f"{NODES - 1} directed edges" in said
    words = ("predict", tmp_path / "r", "--data", folder, "-o")
    geco(capsys, *words, tmp_path / "a.csv")
    text = (folder / "nodes.csv").read_text()
    (folder / "nodes.csv").write_text(text.replace("n7,2", "n7,90"))  # nothing goes out of n7
    geco(capsys, *words, tmp_path / "b.csv")
    before, after = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in "ab")
    run = load_run(tmp_path / "r")
    assert run.info.directed
    if run.config.model.filter == "none":
        changed = [line.split(",")[0] for line, other in zip(before, after, strict=True) if line != other]
        assert changed == ["n7"]


def test_scores_on_data_that_changed_are_said_to_be(capsys: Capture, tmp_path: Path) -> None:
    folder = files(tmp_path / "in", age=age, label=kind)
    trained(capsys, folder, tmp_path / "r")
    assert "has changed" not in geco(capsys, "eval", tmp_path / "r")
    again = ("data", "import", folder, "--name", "mine", "--replace")
    geco(capsys, *again)
    assert "has changed" not in geco(capsys, "eval", tmp_path / "r"), "imported alike"
    geco(capsys, *again, "--seed", "1")
    wanted = "warning: mine has changed since the run was trained: what was trained on may be in what is scored"
    assert wanted in geco(capsys, "eval", tmp_path / "r")
    files(folder, age=age, label=lambda i: ("bat", "dog")[i % 2])
    geco(capsys, *again)
    said = geco(capsys, "eval", tmp_path / "r", code=3)
    assert "it asks for 2 class of nodes bat, dog, then for 2 class of nodes cat, dog; train again" in said
