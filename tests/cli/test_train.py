"""``geco train`` and what is done with its result, as a user types it."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from geco.cli.main import main
from tests.train.runs import assert_same, left_by

Run = Callable[..., str]
QUICK = ("--train.epochs", "3", "--model.hidden", "8", "--train.threads", "1")


def tables(folder: Path, nodes: int, labels: bool = True) -> Path:
    """Write a ring of cats and dogs, told apart by a feature."""
    folder.mkdir()
    rows = [["id", "height", *(["label"] if labels else [])]]
    rows += [[f"n{i}", str(i % 2), *(["dog" if i % 2 else "cat"] if labels else [])] for i in range(nodes)]
    edges = [["source", "target"], *([f"n{i}", f"n{(i + 2) % nodes}"] for i in range(nodes))]
    for name, lines in (("nodes", rows), ("edges", edges)):
        (folder / f"{name}.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    return folder


def test_seeds_and_table(run: Run, tmp_path: Path) -> None:
    out = run("train", "digits", *QUICK, "--seeds", "0", "1", "--out", str(tmp_path / "r"))
    assert "hidden = 8" in out
    assert "± " in out
    results = [json.loads((tmp_path / "r" / f"seed-{s}" / "result.json").read_text()) for s in (0, 1)]
    assert results[0] != results[1]
    assert all(f"{result['test']:.4f}" in out for result in results)
    assert "test" in run("eval", str(tmp_path / "r"))
    shown = run("explain", str(tmp_path / "r"), "--node", "5", "--top", "3")
    assert shown.startswith("node 5, probability of class ")
    assert "layer 2: all nodes act alike on node 5" in run(
        "explain", str(tmp_path / "r"), "--node", "5", "--by", "attention"
    )


def test_the_paper_as_it_is_written(run: Run, tmp_path: Path) -> None:
    run("train", "digits", *QUICK, "--model.filter", "paper", "--out", str(tmp_path / "r"))
    assert 'filter = "paper"' in next(tmp_path.rglob("config.toml")).read_text()


def test_eval_gives_the_score_of_the_run(run: Run, tmp_path: Path) -> None:
    run("train", "digits", *QUICK, "--out", str(tmp_path / "r"))
    result = json.loads((tmp_path / "r" / "seed-0" / "result.json").read_text())
    assert f"{result['test']:.4f}" in run("eval", str(tmp_path / "r"))


def test_own_files_from_import_to_prediction(run: Run, tmp_path: Path) -> None:
    run("data", "import", str(tables(tmp_path / "pets", 40)), "--name", "pets")
    run(
        "train",
        "pets",
        "--train.epochs",
        "40",
        "--model.hidden",
        "8",
        "--model.dropout",
        "0",
        "--out",
        str(tmp_path / "r"),
    )
    new = tables(tmp_path / "new", 80, labels=False)  # twice the size, and no labels
    run("predict", str(tmp_path / "r"), "--data", str(new), "-o", str(tmp_path / "out.csv"))
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [f"n{i}" for i in range(80)]
    assert [row["prediction"] for row in rows] == ["dog" if i % 2 else "cat" for i in range(80)]
    assert all(abs(float(row["p(cat)"]) + float(row["p(dog)"]) - 1) < 1e-4 for row in rows)


def test_molecules_from_import_to_prediction(run: Run, tmp_path: Path) -> None:
    alcohols, alkanes = [f"{'C' * n}O" for n in range(1, 13)], ["C" * n for n in range(2, 14)]
    lines = ["smiles,soluble", *(f"{s},1" for s in alcohols), *(f"{s},0" for s in alkanes)]
    (tmp_path / "m.csv").write_text("\n".join(lines))
    run(
        "data", "import", str(tmp_path / "m.csv"), "--name", "m", "--task", "labels", "--fractions", "0.6", "0.2", "0.2"
    )
    small = (
        "--train.epochs",
        "30",
        "--model.hidden",
        "8",
        "--model.dropout",
        "0",
        "--data.encodings",
        "rwse:4",
        "--model.encoding-width",
        "4",
    )
    run("train", "m", *small, "--out", str(tmp_path / "r"))
    for text, name in (("smiles\nCC(C)O\n", "CC(C)O"), ("id,smiles\npropanol,CC(C)O\n", "propanol")):
        (tmp_path / "one.csv").write_text(text)
        run("predict", str(tmp_path / "r"), "--data", str(tmp_path / "one.csv"), "-o", str(tmp_path / "out.csv"))
        found = (tmp_path / "out.csv").read_text().splitlines()
        assert found[0] == "id,p(soluble)"
        assert found[1].startswith(f"{name},0.")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["train", "digits", "--model.hiden", "8"], 2, "hidden"),
        (["train", "digits", "--model.name", "gecko"], 2, "gecko"),
        (["train", "digits", "--train.epochs", "-1"], 2, "--train.epochs must be at least 1, got -1"),
        (["train", "digits", "--optim.lr", "nan"], 2, "--optim.lr must be a finite number above 0"),
        (["train", "digits", "--config", "none.toml"], 2, "cannot read the configuration none.toml"),
        (["train", "digits", "--seeds", "1", "1"], 2, "--seeds must be different numbers"),
        (["train", "corra"], 3, "did you mean cora"),
        (["eval", "nowhere"], 4, "nowhere holds no finished epoch of a run"),
        (["predict", "nowhere", "--data", "x", "-o", "y.csv"], 4, "nowhere holds no finished epoch of a run"),
    ],
)
def test_refuses_in_one_line(words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == code
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_config_file_under_flags(run: Run, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[model]\nhidden = 4\nlayers = 3\n[train]\nepochs = 2\n")
    out = run("train", "digits", "--config", str(tmp_path / "c.toml"), "--model.layers", "1", "--dry-run")
    assert "hidden = 4" in out
    assert "layers = 1" in out
    assert "nothing was written" in out
    assert "global context by fft: one ring of 1,797 nodes" in out
    assert "parameters" in out
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("c.toml", "cache")] == []


# Dropout, dynamic order, shuffled batches, a schedule and early stopping.
LONG = [
    *(
        "train",
        "ring-copy",
        "--train.epochs",
        "20",
        "--train.patience",
        "4",
        "--train.threads",
        "1",
        "--resume",
        "auto",
    ),
    *("--model.hidden", "8", "--model.dropout", "0.3", "--model.permutation", "dynamic", "--model.eval-orders", "2"),
    *("--data.batch-size", "64", "--optim.schedule", "cosine", "--optim.warmup", "2"),
]


def begin(out: Path) -> subprocess.Popen[str]:
    """Start a run and wait until it has read its data and says how it will train."""
    command = [sys.executable, "-u", "-m", "geco", *LONG, "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("seed")
    return process


def end(process: subprocess.Popen[str], timeout: float | None = None) -> int:
    """Wait for a run to end, and return its exit code."""
    err = process.communicate(timeout=timeout)[1]
    assert "Traceback" not in err
    return process.returncode


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("number", "wanted"), [(signal.SIGKILL, 30), (signal.SIGTERM, 6), (signal.SIGUSR1, 3)])
def test_killed_runs_end_as_if_they_had_not_been(number: signal.Signals, wanted: int, tmp_path: Path) -> None:
    """Stopped at random moments and gone on, once or many times, a run leaves the same bits as one that was not."""
    process, start = begin(tmp_path / "whole"), time.monotonic()
    assert end(process) == 0
    length, moments, stops, turn = time.monotonic() - start, random.Random(int(number)), 0, 0
    whole = left_by(tmp_path / "whole" / "seed-0")
    assert json.loads(whole["result"])["epochs"] < 20, "it should have stopped early"
    while stops < wanted:
        turn += 1
        while True:
            process = begin(tmp_path / f"{turn}")
            try:
                assert end(process, moments.uniform(0, 1.0) * length) == 0
                break
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                code = end(process)
                late = (tmp_path / f"{turn}" / "seed-0" / "result.json").exists()  # the signal met Python's own end
                assert code in (-signal.SIGKILL if number == signal.SIGKILL else 143, 0) or late
                stops += not late
        assert_same(left_by(tmp_path / f"{turn}" / "seed-0"), whole)
