"""What is kept of the test part is what the network made of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import torch

from geco.data.embedded.synthetic import erdos_renyi
from geco.train.config import Config, ModelConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.outcome import POINTS, outcome
from geco.train.record import read_seed
from tests.made_runs import CLASSES, VALUES


def test_confusion_counts_true_by_predicted() -> None:
    scores = torch.tensor([[2.0, 1.0], [0.0, 1.0], [0.0, 1.0], [3.0, 1.0]])
    found = outcome((scores, torch.tensor([0, 0, 1, 1])), CLASSES)
    assert found == {"names": ["cat", "dog"], "confusion": [[1, 1], [1, 1]]}
    assert outcome((scores, torch.tensor([0, 0, 0, 0])), CLASSES)["confusion"] == [[2, 2], [0, 0]]


def test_pairs_are_known_values_evenly_apart() -> None:
    true = torch.arange(10_000.0).repeat(2, 1).T.contiguous()
    true[0, 1] = torch.nan
    found = outcome((true + 0.5, true), VALUES)["pairs"]
    assert [len(part) for part in found[0]] == [POINTS // 2] * 2
    assert [len(part) for part in found[1]] == [POINTS // 2 - 1] * 2
    assert (found[0][0][0], found[0][0][-1]) == (0.0, 9999.0)
    assert found[0][1][0] == 0.5
    assert len(json.dumps(found)) < 30_000


def test_nothing_is_kept_where_it_would_be_large_or_says_nothing() -> None:
    judged = (torch.zeros(1, 41), torch.zeros(1, dtype=torch.long))
    assert outcome(judged, replace(CLASSES, num_targets=41, names=())) == {}
    assert outcome(judged, replace(CLASSES, target="labels")) == {}
    assert outcome(judged, replace(CLASSES, level="link")) == {}


def test_a_run_keeps_it_beside_its_best_weights(tmp_path: Path) -> None:
    dataset = erdos_renyi(60, degree=3, features=4, classes=3)
    config = Config(model=ModelConfig("mlp", hidden=4), train=TrainConfig(epochs=3))
    result = Trainer(config, dataset, tmp_path / "run").fit()
    record = read_seed(tmp_path / "run")
    counts = torch.tensor(record.kept["outcome"]["confusion"])
    assert counts.shape == (3, 3)
    assert float(counts.diag().sum() / counts.sum()) == result["test"]
    assert record.kept["parameters"] == result["parameters"]
    assert record.baseline == result["baseline"]
    assert (record.memory or 2**24) >= 2**24
