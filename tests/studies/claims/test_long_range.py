from __future__ import annotations

import json
from pathlib import Path

import pytest

from geco.cli.main import main
from geco.data.load_dataset import made
from geco.names import MIXERS
from geco.studies.claims.long_range import MODELS, TASKS, answer, plan
from geco.studies.claims.study import Done


def done(task: str, model: str, distance: int, *scores: float) -> list[Done]:
    facts = {"task": task, "model": model, "distance": distance}
    return [Done({**facts, "seed": seed}, {"test": score}) for seed, score in enumerate(scores)]


def test_quick_trains_every_model_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["study", "long-range", "--quick", "--out", str(tmp_path)])
    record = json.loads((tmp_path / "record.json").read_text())
    there = {name for name, model in MODELS.items() if model.get("mixer", "geco") in MIXERS}
    assert {unit["facts"]["model"] for unit in record["units"].values()} == there
    assert {item["what"] for item in record["left_out"]} == set(MODELS) - there
    assert all(0 <= unit["result"]["test"] <= 1 for unit in record["units"].values())
    assert "echo: test accuracy by distance" in capsys.readouterr().out


def test_all_models_are_equally_deep_and_see_the_same_graphs() -> None:
    units = plan("default", [0, 1]).units
    assert {unit.work.config.model.layers for unit in units} == {4}
    for name in TASKS:
        mine = [unit for unit in units if unit.facts["task"] == name]
        assert {unit.facts["distance"] for unit in mine} == set(TASKS[name].distances["default"])
        for distance in TASKS[name].distances["default"]:
            assert len({unit.work.made for unit in mine if unit.facts["distance"] == distance}) == 1
    first = [unit.facts["seed"] for unit in units]
    assert first == sorted(first)  # every model has one run before any has two


@pytest.mark.parametrize("name", TASKS)
def test_chance_is_that_of_the_task(name: str) -> None:
    task = TASKS[name]
    dataset = made(task.data("default", task.distances["default"][0]))
    assert dataset.info.num_targets == task.choices
    assert len(dataset) == task.graphs["default"]


def test_the_answer_says_how_far_each_is_right_and_where_geco_is_not() -> None:
    found = answer([
        *done("echo", "GCN", 2, 1.0, 0.98), *done("echo", "GCN", 4, 0.125, 0.13),
        *done("echo", "GECO", 2, 0.99, 0.99), *done("echo", "GECO", 4, 0.5, 0.7),
        *done("tree-copy", "GPS (attention)", 6, 1.0, 1.0), *done("tree-copy", "GECO", 6, 0.9, 0.9),
    ])  # fmt: skip
    assert "Echo (up to 4) is solved by GCN, GECO up to 2." in found.words
    assert "Tree-copy (up to 6) is solved by GPS (attention) at every distance; by GECO at none." in found.words
    assert "GECO itself does not solve tree-copy at 6 (0.90), echo at 4 (0.60)." in found.words
    assert "ahead of it by more than 0.02 on tree-copy at 6." in found.words
    assert found.tables[1].rows[1][2].text == "0.600"


def test_a_run_that_diverged_counts_as_nothing_right() -> None:
    failed = Done({"task": "echo", "model": "GECO", "distance": 2, "seed": 0}, {"failed": "the loss is nan"})
    assert "echo at 2 (0.00)" in answer([failed]).words
