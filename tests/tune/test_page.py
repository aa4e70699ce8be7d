from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geco.errors import NumericalError
from geco.train.engine import Trainer
from geco.tune.page import importances, study_page, write_page
from geco.tune.slots import GONE
from geco.tune.tuner import Tuner
from tests.train.runs import on_call
from tests.tune.studies import DATA, PLAN, SPACE, run


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Tuner:
    """A study of which one trial failed and one attempt was cut short."""
    out = tmp_path_factory.mktemp("study")
    lost = Tuner(replace(PLAN, trials=6, pruner="none"), DATA, out)
    with lost.slots:
        lost.slots.claim()

    def fail() -> Any:
        raise NumericalError("the loss is <nan>")

    with pytest.MonkeyPatch.context() as patch:
        on_call(patch, Trainer, "step", 6, fail)
        return run(out, trials=6, pruner="none")


def test_it_shows_every_trial_and_every_reason(tuner: Tuner) -> None:
    html = study_page(tuner, "geco tune test").html()
    for heading in ("History", "What mattered", "Score of the complete trials against each setting", "Trials"):
        assert f"<h2>{heading}</h2>" in html
    for name in SPACE:
        assert name in html
    assert "the loss is &lt;nan&gt;" in html
    assert GONE in html
    assert f"{tuner.best.value:.4f}" in html
    assert not re.search(r"(src|href)=\"?(https?:)?//", html)
    assert "5 complete, 1 failed" in html


def test_importances_are_shares_of_one(tuner: Tuner) -> None:
    found = importances(tuner)
    assert set(found) <= set(SPACE)
    assert sum(found.values()) == pytest.approx(1.0)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_a_study_without_complete_trials_has_a_page_too(tmp_path: Path) -> None:
    empty = Tuner(PLAN, DATA, tmp_path)
    assert importances(empty) == {}
    write_page(empty, "geco tune test")
    assert "No trial is complete yet." in (tmp_path / "page.html").read_text("utf-8")
