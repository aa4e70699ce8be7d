"""Trainings as a page and as a record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_page_and_record(run: Run, tmp_path: Path) -> None:
    small = ("--train.epochs", "3", "--model.hidden", "8", "--seeds", "0", "1")
    run("train", "digits", *small, "--out", str(tmp_path / "a"))
    run("train", "digits", *small, "--model.name", "gcn", "--out", str(tmp_path / "b"))
    (tmp_path / "b" / "seed-1" / "result.json").unlink()  # as a run that goes on
    where = [str(tmp_path / name) for name in ("a", "b")]
    run("report", *where, "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert page.count("<polyline") == 6  # of two scores and the loss
    assert "2, 1 unfinished" in page
    assert "±" in page
    run("report", *where, "-o", str(tmp_path / "record.json"))
    found = json.loads((tmp_path / "record.json").read_text())
    assert list(found) == where
    first = found[where[0]][0]
    result = json.loads((tmp_path / "a" / "seed-0" / "result.json").read_text())
    assert first["best"] == {key: result[key] for key in ("epoch", "valid", "test")}
    assert [line["epoch"] for line in first["epochs"]] == [1, 2, 3]
    assert first["config"]["model"]["name"] == "geco"
    assert first["seconds"] > 0


def test_a_run_that_was_killed_or_damaged(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("train", "digits", "--train.epochs", "2", "--model.hidden", "8", "--out", str(tmp_path / "a"))
    metrics = tmp_path / "a" / "seed-0" / "metrics.jsonl"
    metrics.write_text(metrics.read_text() + '{"epoch": 3, "lo')
    run("report", str(tmp_path / "a"), "-o", str(tmp_path / "record.json"))
    found = json.loads((tmp_path / "record.json").read_text())
    assert [line["epoch"] for line in found[str(tmp_path / "a")][0]["epochs"]] == [1, 2]
    metrics.write_text("no json\n")
    with pytest.raises(SystemExit) as end:
        run("report", str(tmp_path / "a"), "-o", str(tmp_path / "record.json"))
    assert end.value.code == 2
    assert "metrics.jsonl is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "-o", "x.html"], "nowhere is no folder of `geco train`"),
        (["a", "-o", "x.pdf"], "-o must end in .html or .json, got x.pdf"),
    ],
)
def test_refuses(run: Run, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run("report", *words)
    assert end.value.code == 2
    assert message in capsys.readouterr().err
