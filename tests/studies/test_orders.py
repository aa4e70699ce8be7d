"""The study of orders, on small graphs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import erdos_renyi
from geco.studies import orders


def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def load(name: str, *_: object) -> GraphDataset:
        found = erdos_renyi(300, degree=2, graphs=1) if name == "one" else erdos_renyi(20, degree=2, graphs=9)
        return replace(found, info=replace(found.info, name=name))

    monkeypatch.setattr(orders, "load", load)
    orders.main(["--graphs", "one", "--many", "some", "--sample", "5", "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())["results"]
    mean = {row["order"]: row["mean"] for row in found["one graph"]}
    assert len(mean) == 7
    assert mean["clusters (structure_order)"] < mean["random"]
    assert found["many graphs"]["graphs"] == 9
    assert found["many graphs"]["unchanged"] > 0.5  # without colours refinement may leave twins in rings
    assert "within 128" in capsys.readouterr().out
