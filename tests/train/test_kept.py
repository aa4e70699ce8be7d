"""What is kept of a run is read when it is asked for; what is damaged is said with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from geco.errors import CheckpointError, UsageError
from geco.train.engine import Trainer
from geco.train.kept import Kept, read_data, write_data
from tests.train.runs import MANY, SMALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what a small run left."""
    path = tmp_path_factory.mktemp("kept") / "seed-0"
    Trainer(SMALL, MANY, path).fit()
    return path


def test_in_memory_is_what_is_on_disk(folder: Path) -> None:
    trainer = Trainer(SMALL, MANY)
    result, kept = trainer.fit(), Kept(folder)
    assert (kept.result, kept.history) == (result, trainer.state.history)
    assert kept.best.about == {**trainer.kept.about, "data": MANY.fingerprint}
    assert [line["epoch"] for line in kept.timing] == [line["epoch"] for line in trainer.timing] == [1, 2, 3, 4]


def test_a_copy_holds_the_same(folder: Path, tmp_path: Path) -> None:
    Kept(folder).write(tmp_path / "copy")
    for name in ("metrics.jsonl", "timing.jsonl", "result.json", "environment.json", "config.toml"):
        assert (tmp_path / "copy" / name).read_text() == (folder / name).read_text(), name
    with pytest.raises(UsageError, match="holds a run already; choose another folder"):
        Kept(folder).write(tmp_path / "copy")


def test_a_line_that_was_not_ended_is_left_out(folder: Path, tmp_path: Path) -> None:
    Kept(folder).write(tmp_path / "r")
    path = tmp_path / "r" / "metrics.jsonl"
    path.write_text(path.read_text() + '{"epoch": 5, "lo')
    assert len(Kept(tmp_path / "r").history) == 4
    path.write_text("{\n" + path.read_text())
    with pytest.raises(CheckpointError, match=r"metrics.jsonl is damaged"):
        _ = Kept(tmp_path / "r").history


def test_a_run_without_best_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"is damaged .*; train it again"):
        _ = Kept(tmp_path).best


def test_data_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_data(tmp_path / "data", MANY)
    assert read_data(tmp_path / "data").fingerprint == MANY.fingerprint
