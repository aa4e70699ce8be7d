"""Variants of a study: refused before training where wrong, trained once, gone on with, tabled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from geco.configs import shipped
from geco.errors import NumericalError, UsageError
from geco.studies import echo, parts, variants
from geco.studies.variants import Budget, Settings, Study, configure, main
from geco.train.config import read_toml

SMALL: dict[str, Settings] = {
    "shipped": {},
    "k-1": {"model.order": 1},
    "natural": {"model.permutation": "natural"},
    "gcn-none": {"model.name": "hybrid", "model.local": "gcn", "model.mixer": "none"},
}
STUDY = Study("geco.studies.small", "# Small\n", SMALL, {"digits": Budget("digits", 1, "Images.")})
Seen = list[tuple[str, int, int]]  # data set, K and seed of what was trained


def record(folder: Path, name: str = "digits") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Train nothing, and tell what would have been."""
    seen: Seen = []

    def train(config: variants.Config, _data_dir: Path | None) -> dict[str, Any]:
        seen.append((config.data.name, config.model.order, config.seed))
        score = 0.5 + config.seed / 10
        found = {"valid": score, "test": score, "epoch": 1, "metric": "accuracy", "parameters": 1}
        return {**found, "seconds": 1.0, "commit": "abc"}

    monkeypatch.setattr(variants, "_train", train)
    return seen


def test_runs_are_trained_kept_and_not_done_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "small"
    words = ["--seeds", "0", "--results", str(folder)]
    main(STUDY, None, words)
    found = record(folder)
    assert list(found["variants"]) == list(SMALL)
    assert {"torch", "commit"} <= set(found["environment"])
    for name, variant in found["variants"].items():
        (run,) = variant["runs"]
        assert (run["seed"], run["epoch"], run["metric"]) == (0, 1, "accuracy")
        assert 0 < run["valid"] <= 1
        assert run["seconds"] > 0
        assert variant["settings"] == SMALL[name]
        assert variant["command"] == f"python -m geco.studies.small --data digits --parts {name} --epochs digits=1"
    tests = {variant["runs"][0]["test"] for variant in found["variants"].values()}
    assert len(tests) > 1  # settings reach the network
    before = (folder / "digits.json").read_text()
    main(STUDY, None, words)
    assert (folder / "digits.json").read_text() == before
    text = (tmp_path / "small.md").read_text()
    assert "- digits: accuracy, 1 epochs, settings `digits`. Images." in text
    assert "| k-1 | " in text
    assert "k-1" in capsys.readouterr().out


def test_any_data_set_can_be_asked_for_by_name(tmp_path: Path) -> None:
    words = [
        "--data",
        "ring-copy",
        "--parts",
        "k-1",
        "--seeds",
        "3",
        "--epochs",
        "1",
        "--results",
        str(tmp_path / "small"),
    ]
    main(STUDY, None, words)
    assert [run["seed"] for run in record(tmp_path / "small", "ring-copy")["variants"]["k-1"]["runs"]] == [3]


def test_seeds_are_the_outer_loop_and_new_ones_are_added(trained: Seen, tmp_path: Path) -> None:
    words = ["--parts", "shipped", "k-1", "--results", str(tmp_path / "small"), "--seeds"]
    main(STUDY, None, [*words, "0", "2"])
    assert trained == [("digits", 2, 0), ("digits", 1, 0), ("digits", 2, 2), ("digits", 1, 2)]
    trained.clear()
    main(STUDY, None, [*words, "0", "1", "2"])
    assert trained == [("digits", 2, 1), ("digits", 1, 1)]
    assert [run["seed"] for run in record(tmp_path / "small")["variants"]["k-1"]["runs"]] == [0, 1, 2]
    assert "| k-1 | 0.6000 ± 0.1000 (3) |" in (tmp_path / "small.md").read_text()


def test_a_variant_of_other_settings_is_begun_anew_and_others_are_kept(trained: Seen, tmp_path: Path) -> None:
    words = ["--parts", "shipped", "k-1", "--seeds", "0", "--results", str(tmp_path / "small")]
    main(STUDY, None, words)
    trained.clear()
    changed = Study(STUDY.module, STUDY.text, {**SMALL, "k-1": {"model.order": 3}}, STUDY.data)
    main(changed, None, words)
    assert trained == [("digits", 3, 0)]
    main(changed, None, [*words, "--epochs", "2"])
    assert len(trained) == 3  # another number of epochs is another training


def test_settings_that_came_later_do_not_make_a_record_old(trained: Seen, tmp_path: Path) -> None:
    words = ["--parts", "k-1", "--seeds", "0", "--results", str(tmp_path / "small")]
    main(STUDY, None, words)
    found = record(tmp_path / "small")
    del found["variants"]["k-1"]["config"]["model"]["heads"]  # as if written when there was no such setting
    (tmp_path / "small" / "digits.json").write_text(json.dumps(found))
    main(STUDY, None, words)
    assert len(trained) == 1
    found["variants"]["k-1"]["config"]["model"]["gone"] = 1
    (tmp_path / "small" / "digits.json").write_text(json.dumps(found))
    main(STUDY, None, words)
    assert len(trained) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model.filtre": "mean"}, r"variant wrong: unknown setting model\.filtre"),
        ({"modell.order": 1}, r"variant wrong: unknown setting modell; did you mean model\?"),
        ({"model.permutation": "sorted"}, r"variant wrong: model\.permutation must be one of auto, natural"),
        ({"model.order": 0}, "must be at least 1, got 0"),
    ],
)
def test_wrong_settings_are_refused_before_any_training(
    settings: Settings, message: str, trained: Seen, tmp_path: Path
) -> None:
    study = Study(STUDY.module, STUDY.text, {**SMALL, "wrong": settings}, STUDY.data)
    with pytest.raises(UsageError, match=message):
        main(study, None, ["--results", str(tmp_path / "small")])
    assert trained == []
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize("word", ["many", "0", "cora=5", "digits=", "digits=-1"])
def test_wrong_epochs_are_refused(word: str, trained: Seen, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--epochs takes N or DATA=N with one of digits"):
        main(STUDY, None, ["--epochs", word, "--results", str(tmp_path)])
    assert trained == []


def test_a_run_that_diverges_is_recorded_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fit(self: variants.Trainer) -> dict[str, Any]:
        raise NumericalError("the loss is nan in epoch 0")

    monkeypatch.setattr(variants.Trainer, "fit", fit)
    main(STUDY, None, ["--parts", "k-1", "--seeds", "0", "--results", str(tmp_path / "small")])
    (run,) = record(tmp_path / "small")["variants"]["k-1"]["runs"]
    assert run["failed"] == "the loss is nan in epoch 0"
    assert "| k-1 | 1 of 1 diverged |" in (tmp_path / "small.md").read_text()


def test_a_table_alone_trains_nothing(trained: Seen, tmp_path: Path) -> None:
    main(STUDY, None, ["--table", "--results", str(tmp_path / "small")])
    assert trained == []


def test_a_variant_is_put_over_the_shipped_configuration() -> None:
    base = read_toml(shipped()["peptides-func-small"])
    config = configure("peptides-func", parts.DATA["peptides-func"], "k-3", {"model.order": 3}, 2)
    assert (config.model.order, config.train.epochs, config.seed) == (3, 15, 2)
    assert (config.data, config.optim) == (base.data, base.optim)
    assert configure("tolokers", parts.DATA["tolokers"], "shipped", {}, 2).data.split == 2
    assert configure("cora", parts.DATA["cora"], "shipped", {}, 0).data.name == "cora"


def test_contenders_on_echo_have_equal_depth_width_and_training() -> None:
    assert list(echo.STUDY.data) == ["echo", "echo-64"]
    for name, budget in echo.STUDY.data.items():
        bodies = [
            configure(name, budget, variant, {"model.name": variant}, 0) for variant in ("geco", "gcn", "transformer")
        ]
        assert {(body.model.layers, body.model.hidden) for body in bodies} == {(3, 64)}
        assert len({repr((body.data, body.optim, body.train)) for body in bodies}) == 1
    changed = {key for settings in echo.STUDY.variants.values() for key in settings}
    assert changed == {"model.name", "model.filter", "model.permutation"}


@pytest.mark.parametrize(
    "variant", ["shipped", "k-1", "k-2", "k-3", "none-geco", "gcn-geco", "gcn-none", "gatedgcn-none"]
)
def test_variants_of_settings_there_are_today(variant: str) -> None:
    for name, budget in parts.DATA.items():
        assert configure(name, budget, variant, parts.VARIANTS[variant], 0).data.name == name
