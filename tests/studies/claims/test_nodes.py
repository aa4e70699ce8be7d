"""Every model tuned with the same number of trials: the quick study runs, goes on, and says how many there were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geco.data.embedded.synthetic import erdos_renyi
from geco.errors import DataError, ResourceError
from geco.studies.claims.nodes import MODELS, SCALES, answer, plan
from geco.studies.claims.runner import Options, run_study
from geco.studies.claims.study import Done, Training, Tuning, Winner
from geco.studies.claims.tuning import tune, won
from geco.train.config import Config, from_table
from geco.tune import tuner
from geco.tune.tuner import Tuner
from tests.studies.claims.grids import SCALES as ALL
from tests.studies.claims.grids import run_quick

pytest.importorskip("optuna")
GCN = Training(from_table({"model": {"name": "gcn"}, "train": {"epochs": 2}}, Config(), "test"))
FOUND = {"metric": "accuracy", "valid": 0.5, "settings": {"model.hidden": 8}, "tuned": 1.0}


def quick(folder: Path) -> dict[str, Any]:
    """Run the quick study, whose scores need not be in its record, and return the units."""
    found: dict[str, Any] = run_quick("nodes", folder, scores=False)["units"]
    return found


def test_quick_runs_every_model_has_as_many_trials_and_a_second_call_trains_nothing(tmp_path: Path) -> None:
    units = quick(tmp_path)
    assert len(units) == 6
    for model in ("geco", "gcn"):
        tuned = units[f"random/{model}/tuning"]["result"]
        assert tuned["trials"] == sum(tuned["ends"].values()) == 2
        for seed in (0, 1):
            found = units[f"random/{model}/seed-{seed}"]["result"]
            assert found["hidden"] == tuned["settings"]["model.hidden"]
            assert 0 <= found["test"] <= 1
    page = (tmp_path / "page.html").read_text()
    assert "each of the 2 models had 2 trials" in page
    assert "Best settings" in page
    assert "geco on random" in page
    assert quick(tmp_path) == units


def test_a_tuning_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train, calls = tuner.train_trial, list[int]()

    def counted(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return train(*given)

    monkeypatch.setattr(tuner, "train_trial", counted)
    with pytest.raises(KeyboardInterrupt):
        tune(Tuning(GCN, 2), erdos_renyi(60, degree=4), tmp_path)
    found = tune(Tuning(GCN, 2), erdos_renyi(60, degree=4), tmp_path)
    assert (found["trials"], found["ends"], len(calls)) == (2, {"complete": 2}, 3)


def test_a_tuning_without_a_winner_is_a_result_and_its_trainings_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: Any) -> None:
        raise ResourceError("no trial was finished")

    monkeypatch.setattr(Tuner, "run", fail)
    found = tune(Tuning(GCN, 2), erdos_renyi(60, degree=4), tmp_path / "one")
    assert found == {"failed": "no trial was finished"}
    with pytest.raises(DataError, match="the tuning a found no settings: no trial was finished"):
        won(Winner("a", GCN), {"a": found})
    with pytest.raises(DataError, match="it is not done"):
        won(Winner("a", GCN), {})
    said = run_study("nodes", Options("quick", (0, 1), tmp_path / "all"))
    assert "none finished" in str(said.tables[-1].rows)
    assert "none: no trial was finished" in str(said.charts[-1])
    assert "left out" in (tmp_path / "all" / "page.html").read_text().lower()


def test_the_winner_has_the_settings_that_were_found_and_its_own_seed() -> None:
    config = won(Winner("a", GCN), {"a": FOUND}).config
    assert (config.model.hidden, config.model.name, config.train.epochs) == (8, "gcn", 2)


@pytest.mark.parametrize("scale", ALL)
def test_all_models_are_planned_alike(scale: Any) -> None:
    units = plan(scale, [0, 11]).units
    tunings = [unit for unit in units if isinstance(unit.work, Tuning)]
    assert {unit.work.trials for unit in tunings if isinstance(unit.work, Tuning)} == {SCALES[scale].trials}
    assert len(tunings) == len(SCALES[scale].models) * len(SCALES[scale].data)
    assert set(SCALES[scale].models) <= set(MODELS)
    for unit in units:
        if isinstance(unit.work, Winner):
            config = unit.work.training.config
            assert config.data.split == (config.seed % 10 if config.data.name == "tolokers" else 0)
            assert unit.work.of in {other.key for other in tunings}


def test_models_with_fewer_trials_are_named() -> None:
    def tuned(model: str, trials: int) -> Done:
        return Done({"data": "a", "variant": model}, {**FOUND, "trials": trials, "ends": {"complete": trials}})

    assert "On a each of the 2 models had 3 trials." in answer([tuned("geco", 3), tuned("gcn", 3)]).words
    uneven = answer([tuned("geco", 3), tuned("gcn", 1)]).words
    assert "On a models had 1 (gcn) to 3 trials, so they are not tuned alike." in uneven
    assert answer([]).tables == []
