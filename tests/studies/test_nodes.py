"""The table of node graphs: read from records, the best model marked."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from geco.studies.nodes import CHOOSING, MODELS, SEEDS, TRIALS, Tuned, add_costs, table, write_configs
from geco.train.config import read_toml

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


def test_only_settings_that_differ_are_written(tmp_path: Path) -> None:
    """GECO's file always; a baseline's where another trial was chosen for it; none where the seeds are not done."""
    for model, valid in (("geco", [0.1, 0.2, 0.3]), ("gcn", [0.1, 0.2, 0.3]), ("gat", [0.3, 0.2, 0.1])):
        Tuned(tmp_path / f"tolokers-{model}.json", "tolokers", model).keep(trials=valid, seeds=[{}] * len(SEEDS))
    Tuned(tmp_path / "tolokers-sage.json", "tolokers", "sage").keep(trials=[0.3, 0.2, 0.1], seeds=[])
    write_configs(tmp_path, tmp_path, ["tolokers"], MODELS)
    assert sorted(path.name for path in tmp_path.glob("*.toml")) == ["tolokers-gat.toml", "tolokers.toml"]
    chosen = read_toml(tmp_path / "tolokers.toml")
    assert (chosen.data.name, chosen.model.name, chosen.model.hidden) == ("tolokers", "geco", 128)
    assert "epochs = 120" in (tmp_path / "tolokers-gat.toml").read_text()
    assert "heads" not in (tmp_path / "tolokers-gat.toml").read_text()
