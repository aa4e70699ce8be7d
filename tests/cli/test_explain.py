"""``geco explain`` as a user types it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.runs import refused

Run = Callable[..., str]
QUICK = ("--train.epochs", "1", "--model.hidden", "8", "--train.threads", "1")


@pytest.fixture
def digits(run: Run, tmp_path: Path, drawn: object) -> str:
    """A run on graphs, two classes of each."""
    run("train", "digits", *QUICK, "--out", str(tmp_path / "r"))
    return str(tmp_path / "r")


def test_graphs_to_a_table_a_page_and_a_picture(run: Run, digits: str, tmp_path: Path) -> None:
    for name in ("a.csv", "a.json", "a.html"):
        out = run("explain", digits, "--graph", "0", "2", "--top", "4", "-o", str(tmp_path / name))
        assert out.count("without node") == 2
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["asked"] for row in rows} == {"graph 0", "graph 2"}
    assert len(json.loads((tmp_path / "a.json").read_text())) == 2
    assert (tmp_path / "a.html").read_text().count("<figure") == 2
    run("explain", digits, "--graph", "1", "-o", str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_molecules_by_their_ids(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    lines = [f"m{i},{'C' * (i % 6 + 1)}{'O' if i % 2 else ''},{i % 2}" for i in range(30)]
    (tmp_path / "m.csv").write_text("\n".join(["id,smiles,soluble", *lines]) + "\n")
    run("data", "import", str(tmp_path / "m.csv"), "--name", "m", "--task", "labels")
    run("train", "m", *QUICK, "--out", str(tmp_path / "r"))
    assert run("explain", str(tmp_path / "r"), "--graph", "m7").startswith("graph m7, probability of soluble")
    (tmp_path / "new.csv").write_text("id,smiles\nbad,Q\nnew,CCO\n")
    words = ("--graph", "new", "--data", str(tmp_path / "new.csv"), "-o", str(tmp_path / "m.svg"))
    assert run("explain", str(tmp_path / "r"), *words).startswith("graph new, probability")
    assert (tmp_path / "m.svg").read_text().count("<ellipse") == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--node", "3"), "leave out --node"),
        (("--graph", "9"), "graphs are numbered 0 to 3, got 9"),
        ((), "there are 4 graphs; say which"),
        (("--graph", "0", "-o", "a.txt"), "its name must end in one of .csv, .json, .html, .svg, .png"),
        (("--graph", "0", "1", "-o", "a.svg"), "a.svg holds one picture, 2 were asked for"),
        (("--graph", "0", "--target", "7"), "targets are numbered 0 to 1, got 7"),
        (("--graph", "0", "--top", "0"), "--top must be at least 1"),
        (("--graph", "0", "--by", "attention"), "say which, by --node"),
    ],
)
def test_wrong_use_is_explained(
    digits: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    capsys.readouterr()
    code, line = refused(capsys, "explain", digits, *words)
    assert code == 2
    assert said in line
