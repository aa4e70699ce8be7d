"""The study of BatchNorm and sizes, on random graphs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geco.cli.main import main as geco
from geco.studies.grouping import main
from tests.configs.fixtures import write


def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    write("peptides-func", tmp_path / "peptides-func", monkeypatch)
    small = ("--model.hidden", "24", "--model.layers", "1", "--data.batch-size", "2", "--train.epochs", "1")
    place = ("--data-dir", str(tmp_path))
    geco(["train", "peptides-func", *small, *place, "--data.group-by-size", "--out", str(tmp_path / "a")])
    main([str(tmp_path / "a"), *place, "--part", "train", "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())["results"]
    assert list(found) == [
        "running, random",
        "running, similar size",
        "of the batch, random",
        "of the batch, similar size",
    ]
    assert found["running, random"] == found["running, similar size"]  # outputs do not depend on batch mates
    assert found["running, random"] != found["of the batch, random"]
    assert "batches of similar size" in capsys.readouterr().out


def test_one_graph_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    geco(["train", "digits", "--train.epochs", "1", "--model.hidden", "8", "--out", str(tmp_path / "a")])
    with pytest.raises(SystemExit):
        main([str(tmp_path / "a")])
    assert "was trained on one graph, digits" in capsys.readouterr().err
