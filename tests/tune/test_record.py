from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from geco.train.engine import Trainer
from geco.tune.record import study_record, write_record
from geco.tune.tuner import Tuner
from tests.tune.studies import DATA, PLAN, run


def test_it_has_what_the_best_can_be_trained_by(tmp_path: Path) -> None:
    tuner = run(tmp_path, trials=2, pruner="none")
    write_record(tuner, "geco tune test")
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["command"] == "geco tune test"
    assert (record["workers"], record["cut_short"]) == (1, 0)
    assert [trial["trial"] for trial in record["trials"]] == [1, 2]
    best = record["trials"][record["best"] - 1]
    config = tuner.config(best["settings"])
    assert Trainer(config, DATA).fit()["valid"] == best["valid"]
    assert '"test":' not in json.dumps(record)


def test_a_study_that_has_not_begun_has_a_record_too(tmp_path: Path) -> None:
    record = study_record(Tuner(replace(PLAN, trials=2), DATA, tmp_path), "geco tune test")
    assert (record["best"], record["trials"]) == (None, [])
