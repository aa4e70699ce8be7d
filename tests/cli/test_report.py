"""Trainings as a page, as a figure and as a record."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.made_runs import made_run


def test_page_and_record_of_real_runs(run: Run, tmp_path: Path) -> None:
    small = ("--train.epochs", "3", "--model.hidden", "8", "--seeds", "0", "1")
    run("train", "digits", *small, "--out", str(tmp_path / "a"))
    run("train", "digits", *small, "--model.name", "gcn", "--out", str(tmp_path / "b"))
    (tmp_path / "b" / "seed-1" / "result.json").unlink()  # as a run that goes on
    where = [str(tmp_path / name) for name in ("a", "b")]
    run("report", *where, "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert page.count("<polyline") == 2 * 7  # two runs, seven curves
    assert "1 of 2 unfinished: epoch 3 of 3" in page
    assert page.count('class="matrix"') == 2
    assert "majority class" in page
    assert re.search(r"\d\.\d{4}<span class=\"more\"> ± 0\.\d{4}</span>", page)
    run("report", *where, "-o", str(tmp_path / "record.json"))
    found = json.loads((tmp_path / "record.json").read_text())
    assert list(found) == where
    first = found[where[0]][0]
    result = json.loads((tmp_path / "a" / "seed-0" / "result.json").read_text())
    assert first["best"] == {key: result[key] for key in ("epoch", "valid", "test")}
    assert [line["epoch"] for line in first["epochs"]] == [1, 2, 3]
    assert first["config"]["model"]["name"] == "geco"
    assert first["seconds"] > 0


def test_a_record_is_whole_and_a_page_names_what_is_broken(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = made_run(tmp_path / "a" / "seed-0") / "metrics.jsonl"
    metrics.write_text(metrics.read_text() + '{"epoch": 5, "lo')
    run("report", str(tmp_path / "a"), "-o", str(tmp_path / "record.json"))
    found = json.loads((tmp_path / "record.json").read_text())
    assert [line["epoch"] for line in found[str(tmp_path / "a")][0]["epochs"]] == [1, 2, 3, 4]
    (made_run(tmp_path / "b" / "seed-0") / "metrics.jsonl").write_text("no json\n")
    with pytest.raises(SystemExit) as end:
        run("report", str(tmp_path), "-o", str(tmp_path / "record.json"))
    assert end.value.code == 2
    assert "metrics.jsonl is damaged" in capsys.readouterr().err
    run("report", str(tmp_path), "-o", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "metrics.jsonl is damaged: line 1" in page
    assert page.count("<polyline") == 7


def test_a_run_without_an_epoch_is_named_and_no_fault(run: Run, tmp_path: Path) -> None:
    made_run(tmp_path / "a" / "seed-0")
    made_run(tmp_path / "new" / "seed-0", epochs=0, finished=False)
    for name in ("page.html", "record.json"):
        run("report", str(tmp_path / "a"), str(tmp_path / "new"), "-o", str(tmp_path / name))
    assert "has no finished epoch yet" in (tmp_path / "page.html").read_text()
    assert set(json.loads((tmp_path / "record.json").read_text())) == {str(tmp_path / "a")}


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures(ending: str, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs Matplotlib, of the extra plot")
    made_run(tmp_path / "a" / "seed-0")
    out = tmp_path / f"curves.{ending}"
    run("report", str(tmp_path / "a"), "--curves", "loss", "-o", str(out))
    assert out.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_watching_follows_a_run_and_ends_cleanly(tmp_path: Path) -> None:
    folder, page = made_run(tmp_path / "a" / "seed-0", finished=False), tmp_path / "page.html"
    words = [sys.executable, "-m", "geco", "report", str(tmp_path / "a"), "--watch", "-o", str(page)]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, as heirs do
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        watcher = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        signal.signal(signal.SIGINT, heard)
    try:
        _wait_for(lambda: page.exists())
        before = page.read_text()
        assert 'data-refresh="5"' in before
        line = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
        with (folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps({**line, "epoch": 77}) + "\n")
        _wait_for(lambda: "epoch 77 of 4" in page.read_text())
        watcher.send_signal(signal.SIGINT)
        _, said = watcher.communicate(timeout=90)
    finally:
        watcher.kill()
        watcher.communicate()
    assert watcher.returncode == 0, said
    assert "Traceback" not in said
    assert "data-refresh" not in page.read_text()
    assert "epoch 77 of 4" in page.read_text()


def _wait_for(what: object) -> None:
    assert callable(what)
    end = time.monotonic() + 120
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "-o", "x.html"], "nowhere is no folder of `geco train`: there is no such folder"),
        (["a", "-o", "x.txt"], "-o must end in .html or .json, or in .png, .svg or .pdf for a figure; got x.txt"),
        (["a", "-o", "absent/x.html"], "cannot write absent/x.html: it is a folder, or its folder does not exist"),
        (["a", "--watch", "-o", "x.json"], "--watch is for pages; let -o end in .html, got x.json"),
        (["a", "--curves", "loss", "-o", "x.html"], "--curves is for figures"),
        (["a", "--curves", "los", "-o", "x.png"], "there is no curve 'los'; choose of valid, test, loss"),
        (["-o", "x.html"], "name at least one folder"),
    ],
)
def test_refuses(run: Run, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run("report", *words)
    assert end.value.code == 2
    assert message in capsys.readouterr().err
