"""The study of statistics, on small data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geco.data.embedded.synthetic import erdos_renyi
from geco.studies import statistics
from geco.studies.statistics import WAYS, Compared, main
from geco.train.config import Config, DataConfig, ModelConfig, TrainConfig
from geco.train.engine import Trainer

CONFIG = Config(DataConfig("t"), ModelConfig(name="gcn", hidden=8), train=TrainConfig(epochs=6, eval_every=2))


def test_the_same_training_is_judged_in_every_way() -> None:
    dataset = erdos_renyi(60, degree=4, seed=1)
    study = Compared(CONFIG, dataset)
    study.fit()
    wanted = Trainer(CONFIG, dataset)  # the engine's own way is one pass over one graph
    wanted.fit()
    assert [(line["valid"], line["test"]) for line in wanted.state.history] == [
        (line["valid"], line["test"]) for line in study.found["1 pass"]
    ]
    best = wanted.state.best
    assert study.best()["1 pass"] == {key: best[key] for key in ("epoch", "valid", "test")}
    assert len({json.dumps(lines) for lines in study.found.values()}) > 1


def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(statistics, "load", lambda name, folder: erdos_renyi(60, degree=4, seed=1))
    main(
        ["--cases", "cora, defaults, gcn", "--seeds", "0", "1", "--epochs", "3", "--json", str(tmp_path / "found.json")]
    )
    found = json.loads((tmp_path / "found.json").read_text())["results"]["cora, defaults, gcn"]
    assert list(found) == list(WAYS)
    assert [line["seed"] for line in found["8 passes"]] == [0, 1]
    assert "1 pass, no dropout" in capsys.readouterr().out
