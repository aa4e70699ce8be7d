"""The studies run end to end at toy sizes and write what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from geco.studies import batch, scale, step
from geco.studies.measure import held_bytes


def test_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = ["geco conv", "plain composition", "fused attention", "sgformer"]
    step.main(
        [
            "--nodes",
            "50",
            "--real",
            "--channels",
            "8",
            "--repeats",
            "1",
            "--json",
            str(tmp_path / "a.json"),
            "--models",
            *models,
        ]
    )
    found = json.loads((tmp_path / "a.json").read_text())
    assert [row["model"] for row in found["results"]] == models
    assert all(row["step"] > 0 and row["held"] > 0 for row in found["results"])
    assert found["environment"]["torch"] == torch.__version__
    assert "plain composition" in capsys.readouterr().out


def test_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch.main(["--graphs", "3", "--channels", "8", "--repeats", "1", "--cpu", "--json", str(tmp_path / "b.json")])
    assert "padded attention" in capsys.readouterr().out
    found = json.loads((tmp_path / "b.json").read_text())["results"]
    for kind in ("random", "similar sizes"):
        assert all(found[kind][model]["held"] > 0 for model in ("geco conv", "attention", "padded attention"))


def test_similar_sizes_are_similar() -> None:
    spread = [max(found) / min(found) for similar in (False, True) for found, _ in [batch.sizes(16, None, similar)]]
    assert spread[1] < 1.2 < spread[0]


def test_scale(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in scale.KEEP_PAGES:
        monkeypatch.setenv(name, scale.KEEP_PAGES[name])
    scale.main(["--nodes", "20", "40", "--channels", "4", "--repeats", "1"])
    assert "GiB" in capsys.readouterr().out


def test_held_bytes_counts_what_autograd_holds() -> None:
    x = torch.randn(100, requires_grad=True)
    assert held_bytes(lambda: x.sin().cos(), [x]) == 400  # cos holds sin(x); sin holds x, which exists anyway
