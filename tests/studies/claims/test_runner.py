from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from geco.data.registry import Embedded
from geco.errors import DataError, NumericalError, UsageError
from geco.pages import Table
from geco.studies.claims import catalogue, runner, training
from geco.studies.claims.catalogue import Entry
from geco.studies.claims.runner import Options, run_study
from geco.studies.claims.study import Answer, Done, LeftOut, Measurement, Plan, Study, Training, Unit
from geco.train.config import Config, from_table

TINY = Embedded("echo", "node", "class", "accuracy", "echo:echo", (1, 12, 3))
SETTINGS: dict[str, Any] = {
    "data": {"name": "echo"},
    "model": {"name": "gcn", "hidden": 4, "layers": 1},
    "train": {"epochs": 2},
}


def tiny(seed: int, **model: Any) -> Training:
    config = from_table({**SETTINGS, "model": {**SETTINGS["model"], **model}, "seed": seed}, Config(), "test")
    return Training(config, TINY)


def measured(key: str, run: Callable[[], dict[str, Any]], **settings: Any) -> Unit:
    return Unit(key, Measurement(lambda known: run(), settings), {"key": key})


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Callable[..., Answer]]:
    """Make a study of given units, and return what runs it."""

    def make(*units: Unit, left_out: Sequence[LeftOut] = ()) -> Callable[..., Answer]:
        def answer(done: Sequence[Done]) -> Answer:
            rows = [[unit.facts.get("key", "training"), json.dumps(unit.result)] for unit in done]
            return Answer(f"{len(done)} units", [], [Table(["unit", "result"], rows, "All")])

        made = Study(lambda scale, seeds: Plan("As planned.", units, left_out), answer)
        monkeypatch.setitem(catalogue.STUDIES, "toy", Entry("toy.module", "What is it?", "1 s", "2 s", "3 s"))
        monkeypatch.setattr(runner, "resolve_name", lambda name: made)
        return lambda out, **options: run_study("toy", Options("quick", (0, 1), out, **options))

    return make


def test_what_is_finished_is_kept_and_not_done_again(tmp_path: Path, study: Any) -> None:
    calls: list[str] = []

    def once(name: str) -> dict[str, Any]:
        calls.append(name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return {"score": 0.5}

    run = study(measured("a", lambda: once("a")), measured("b", lambda: once("b")))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    assert list(json.loads((tmp_path / "record.json").read_text())["units"]) == ["a"]
    assert run(tmp_path).words == "2 units"
    assert run(tmp_path).words == "2 units"
    assert calls == ["a", "b", "b"]


def test_a_killed_training_goes_on_and_scores_as_if_it_had_not_been(
    tmp_path: Path, study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = study(Unit("gcn/seed-0", tiny(0)), Unit("gcn/seed-1", tiny(1)))
    run(tmp_path / "whole")
    save, saved = training.Trainer._save, list[int]()

    def killed(self: training.Trainer) -> None:
        save(self)
        saved.append(self.state.epoch)
        if len(saved) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(training.Trainer, "_save", killed)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut")
    run(tmp_path / "cut")
    assert saved[:2] == [1, 2]  # the first epoch was not trained again
    whole, cut = (json.loads((tmp_path / name / "record.json").read_text())["units"] for name in ("whole", "cut"))
    for key, unit in whole.items():
        same = {name: value for name, value in unit["result"].items() if "seconds" not in name}
        assert same.items() <= cut[key]["result"].items()
    assert whole["gcn/seed-0"]["settings"]["made"] == ["echo:echo", 1, 12, 3]


def test_data_that_is_not_there_is_named_and_the_rest_is_done(
    tmp_path: Path, study: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    absent = tiny(0)
    absent = replace(absent, made=None, config=replace(absent.config, data=replace(absent.config.data, name="reddit")))

    def damaged() -> dict[str, Any]:
        raise DataError("the file\nis damaged")

    units = [Unit("reddit/seed-0", absent), measured("bad", damaged), measured("good", lambda: {"score": 1.0})]
    answer = study(*units, left_out=[LeftOut("exphormer", "it is not there yet")])(tmp_path / "out", data_dir=tmp_path)
    assert answer.words.endswith("1 units")
    record = json.loads((tmp_path / "out" / "record.json").read_text())
    assert [item["what"] for item in record["left_out"]] == ["exphormer", "reddit", "bad"]
    told, page = capsys.readouterr().err, (tmp_path / "out" / "page.html").read_text()
    for word in ("exphormer", "reddit", "the file is damaged"):
        assert word in told
        assert word in page


def test_a_run_that_diverges_is_a_result(tmp_path: Path, study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(self: object) -> None:
        raise NumericalError("the loss is nan")

    monkeypatch.setattr(training.Trainer, "fit", diverge)
    study(Unit("gcn/seed-0", tiny(0)))(tmp_path)
    assert "the loss is nan" in (tmp_path / "record.json").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"study": "toy", "scale": "quick", "commands": [], "units": {"a": 1}}', "damaged"),
        ('{"study": "other", "scale": "quick", "commands": [], "units": {}}', "of the study 'other'"),
        ('{"study": "toy", "scale": "full", "commands": [], "units": {}}', "of the scale 'full'"),
    ],
)
def test_a_record_that_is_not_ours_is_refused_and_stays(tmp_path: Path, study: Any, text: str, message: str) -> None:
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(UsageError, match=message) as error:
        study(measured("a", dict))(tmp_path)
    assert "choose another --out" in str(error.value)
    assert (tmp_path / "record.json").read_text() == text


def test_other_settings_are_refused_before_anything_is_done(tmp_path: Path, study: Any) -> None:
    study(measured("a", dict, nodes=3), Unit("gcn/seed-0", tiny(0)))(tmp_path)
    before = (tmp_path / "record.json").read_bytes()
    with pytest.raises(UsageError, match="nodes: 3 there, 4 now"):
        study(measured("new", lambda: pytest.fail("work was done")), measured("a", dict, nodes=4))(tmp_path)
    with pytest.raises(UsageError, match=r"config.model.layers: 1 there, 2 now"):
        study(Unit("gcn/seed-0", tiny(0, layers=2)))(tmp_path)
    assert (tmp_path / "record.json").read_bytes() == before


def test_settings_that_came_later_are_taken_as_their_defaults(tmp_path: Path, study: Any) -> None:
    run = study(Unit("gcn/seed-0", tiny(0)))
    run(tmp_path)
    record = json.loads((tmp_path / "record.json").read_text())
    del record["units"]["gcn/seed-0"]["settings"]["config"]["model"]["heads"]
    (tmp_path / "record.json").write_text(json.dumps(record))
    assert run(tmp_path).words == f"{runner.QUICK}\n1 units"


def test_one_process_owns_a_folder(tmp_path: Path, study: Any) -> None:
    with FileLock(tmp_path / ".lock"), pytest.raises(UsageError, match="another process"):
        study(measured("a", dict))(tmp_path)


def test_folders_and_seeds_are_checked_first(tmp_path: Path, study: Any) -> None:
    run = study(measured("a", lambda: pytest.fail("work was done")))
    with pytest.raises(UsageError, match="does not exist"):
        run(tmp_path, data_dir=tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        run(tmp_path / "file")
    for seeds in ((0,), (1, 1), (-1, 0)):
        with pytest.raises(UsageError, match="two or more different"):
            run_study("toy", Options("quick", seeds, tmp_path))
