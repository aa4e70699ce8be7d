"""The table of node graphs: read from records, the best model marked."""

from __future__ import annotations

import json
import random
from pathlib import Path

from geco.studies.nodes import MODELS, SEEDS, table


def test_the_best_model_is_marked_whatever_the_digits(tmp_path: Path) -> None:
    for draw in range(50):
        chance = random.Random(draw)
        means = {}
        for model in MODELS:
            seeds = [{"valid": 0.5, "test": chance.random(), "parameters": 10} for _ in SEEDS]
            means[model] = sum(seed["test"] for seed in seeds)
            (tmp_path / f"pubmed-{model}.json").write_text(json.dumps({"data": "pubmed", "model": model, "seeds": seeds}))
        rows = table(tmp_path, ["pubmed"], MODELS)[1:]
        assert [row[1] for row in rows if row[3].endswith("*")] == [max(means, key=lambda name: means[name])]


def test_models_that_are_not_done_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "pubmed-gcn.json").write_text(json.dumps({"data": "pubmed", "model": "gcn", "trials": [0.5], "seeds": []}))
    assert len(table(tmp_path, ["pubmed"], MODELS)) == 1
