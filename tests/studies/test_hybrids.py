"""The study of hybrids, on data in the schema of Peptides-func."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geco.studies.hybrids import MIXERS, main
from tests.configs.fixtures import write


def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    write("peptides-func", tmp_path / "peptides-func", monkeypatch)
    where = ["--data-dir", str(tmp_path), "--json", str(tmp_path / "found.json")]
    main([*where, "--mixers", *MIXERS, "--steps", "2", "--ops", "1"])
    results = json.loads((tmp_path / "found.json").read_text())["results"]
    found, shares = results["mixers"], results["operations"]
    assert results["steps"] == 1  # all graphs fit into one batch
    assert list(found) == list(MIXERS)
    assert all(row["train"] > 0 and row["loading"] > 0 and row["parameters"] > 100_000 for row in found.values())
    assert (
        found["attention"]["parameters"] == found["attention, no dropout"]["parameters"] < found["geco"]["parameters"]
    )
    assert 0.3 < sum(shares.values()) <= 1
    assert "geco" in capsys.readouterr().out
