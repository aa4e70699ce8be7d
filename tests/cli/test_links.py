"""Link prediction on own tables, as a user types it, from import to scores of pairs."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run

SMALL = ("--model.hidden", "16", "--train.epochs", "30", "--train.eval-every", "10", "--train.threads", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a graph of two circles of friends that their towns tell."""
    rng = np.random.default_rng(0)
    people = [f"p{i},{'north' if i % 2 else 'south'}" for i in range(60)]
    ends = rng.integers(0, 60, (2, 700))
    ends = ends[:, (ends[0] + ends[1]) % 2 == 0]
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "nodes.csv").write_text("\n".join(["id,town", *people]))
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"p{u},p{v}" for u, v in ends.T)]))
    return folder


def test_from_import_to_pairs(run: Run, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run("data", "import", str(folder), "--task", "link", "--name", "friends", "--metric", "ap")
    assert "predicted: whether two nodes are linked, scored by ap" in shown
    assert "links" in run("data", "info", "friends")
    runs = str(tmp_path / "r")
    assert "friends, gcn: test ap" in run("train", "friends", "--model.name", "gcn", *SMALL, "--out", runs)
    lines = run("eval", runs).splitlines()
    assert lines[0].split() == ["seed", "valid", "ap", "test", "ap"]
    assert lines[-3].split("  ")[0] == "target"
    assert lines[-1].split()[0] == "links"
    scores = dict(zip(re.findall(r"test (\S+)", lines[-3]), map(float, lines[-1].split()[1:]), strict=True))
    assert list(scores) == ["ap", "auroc", "mrr", "hits@10"]
    assert scores["ap"] > 0.6
    (tmp_path / "pairs.csv").write_text("source,target\np1,p3\np2,p4\np1,p2\np3,p4\n")
    words = ("predict", runs, "--data", str(folder), "-o", str(tmp_path / "out.csv"))
    run(*words, "--pairs", str(tmp_path / "pairs.csv"))
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["source"], row["target"]) for row in rows] == [("p1", "p3"), ("p2", "p4"), ("p1", "p2"), ("p3", "p4")]
    found = [float(row["p(link)"]) for row in rows]
    assert min(found[:2]) > 0.5 > max(found[2:])
    with pytest.raises(SystemExit) as ended:
        run(*words)
    assert ended.value.code == 2
    assert "predicts links; give the pairs of nodes to score: --pairs PAIRS.csv" in capsys.readouterr().err


def test_pairs_are_for_links(run: Run, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("data", "import", str(folder), "--label", "town", "--name", "towns", "--folds", "3")
    runs = str(tmp_path / "r")
    run("train", "towns", "--data.split", "2", "--model.name", "mlp", "--train.epochs", "1", "--out", runs)
    with pytest.raises(SystemExit):
        run("predict", runs, "--data", str(folder), "-o", str(tmp_path / "out.csv"), "--pairs", "pairs.csv")
    assert "predicts nodes; leave out --pairs" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("train", "towns", "--data.split", "3", "--model.name", "mlp", "--out", str(tmp_path / "other"))
    assert "splits 0 to 2, split 3 was asked for" in capsys.readouterr().err
