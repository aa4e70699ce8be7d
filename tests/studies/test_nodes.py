"""The table of node graphs: read from records, the best model marked."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from geco.studies.nodes import CHOOSING, MODELS, SEEDS, TRIALS, Tuned, add_costs, table

RULES = {"tried": TRIALS["pubmed"], "judged": CHOOSING["pubmed"]}


def test_the_best_model_is_marked_whatever_the_digits(tmp_path: Path) -> None:
    for draw in range(50):
        chance = random.Random(draw)
        means = {}
        for model in MODELS:
            seeds = [{"valid": 0.5, "test": chance.random(), "parameters": 10} for _ in SEEDS]
            means[model] = sum(seed["test"] for seed in seeds)
            known = {"data": "pubmed", "model": model, **RULES, "seeds": seeds}
            (tmp_path / f"pubmed-{model}.json").write_text(json.dumps(known))
        rows = table(tmp_path, ["pubmed"], MODELS)[1:]
        assert [row[1] for row in rows if row[3].endswith("*")] == [max(means, key=lambda name: means[name])]


def test_models_that_are_not_done_are_left_out(tmp_path: Path) -> None:
    known = {"data": "pubmed", "model": "gcn", **RULES, "trials": [0.5], "seeds": []}
    (tmp_path / "pubmed-gcn.json").write_text(json.dumps(known))
    assert len(table(tmp_path, ["pubmed"], MODELS)) == 1


@pytest.mark.parametrize(("key", "other"), [('"epochs": 60', '"epochs": 61'), ('"judged": 3', '"judged": 1')])
def test_a_record_of_other_trials_or_another_rule_is_begun_anew(key: str, other: str, tmp_path: Path) -> None:
    path = tmp_path / "pubmed-gcn.json"
    Tuned(path, "pubmed", "gcn").keep(trials=[0.5])
    assert Tuned(path, "pubmed", "gcn").known["trials"] == [0.5]
    path.write_text(path.read_text().replace(key, other))
    assert Tuned(path, "pubmed", "gcn").known == {}


def test_costs_are_of_models_with_a_chosen_trial(tmp_path: Path) -> None:
    record = Tuned(tmp_path / "pubmed-gcn.json", "pubmed", "gcn")
    add_costs({"gcn": record}, None, turns=1)
    assert not record.path.exists()
