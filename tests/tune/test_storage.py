from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import optuna
import pytest

from geco.errors import DataError, GecoError, ResourceError, UsageError
from geco.tune import storage
from geco.tune.storage import open_study, stored

ABOUT = {"settings": {"model": {"name": "geco"}}, "space": {"optim.lr": "Real(0.1, 1)"}, "data": {"metric": "mae"}}


def refused(path: Path, kind: type[GecoError], about: dict[str, object] = ABOUT) -> str:
    """Return the one line a file is refused with; nothing in the file may have changed."""
    before = path.read_bytes()
    with pytest.raises(kind) as caught:
        open_study(path, about, higher=True)
    assert path.read_bytes() == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A study's file."""
    path = tmp_path_factory.mktemp("study") / "study.db"
    open_study(path, ABOUT, higher=False)
    return path.read_bytes()


@pytest.fixture
def path(made: bytes, tmp_path: Path) -> Path:
    """A file of its own."""
    (tmp_path / "study.db").write_bytes(made)
    return tmp_path / "study.db"


def test_a_study_is_joined_by_what_is_the_same(path: Path) -> None:
    study = open_study(path, ABOUT, higher=False)
    assert study.direction == optuna.study.StudyDirection.MINIMIZE
    assert study._storage.get_heartbeat_interval() == storage.HEARTBEAT  # type: ignore[attr-defined]


def test_another_study_is_refused_with_all_that_differs(path: Path) -> None:
    other = {**ABOUT, "settings": {"model": {"name": "gcn"}}, "space": {"optim.lr": "Real(0.1, 2)"}}
    line = refused(path, UsageError, other)
    assert "settings.model.name: 'geco' there, 'gcn' now" in line
    assert "space.optim.lr" in line
    assert "choose another --out" in line


def test_a_study_of_another_version_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "FORMAT", storage.FORMAT + 1)
    assert "another version of GECO" in refused(path, UsageError)


def test_a_file_of_another_version_of_optuna_is_refused(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE alembic_version SET version_num = 'v99.0'")
        file.commit()
    assert "another version of Optuna" in refused(path, UsageError)


def test_a_study_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    optuna.create_study(storage=f"sqlite:///{path}", study_name="mine")
    assert "not of `geco tune`: mine" in refused(path, UsageError)


def test_a_study_whose_making_was_cut_short_is_made_whole(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("DELETE FROM study_user_attributes")
        file.commit()
    assert open_study(path, ABOUT, higher=False).user_attrs["about"]["data"] == {"metric": "mae"}


@pytest.mark.parametrize("how", ["text", "half", "middle"])
def test_a_damaged_file_is_named_and_left_alone(path: Path, how: str) -> None:
    raw = path.read_bytes()
    middle = bytes(len(raw) // 2)
    path.write_bytes({"text": b"hello " * 900, "half": raw[: len(raw) // 2], "middle": raw[:4096] + middle}[how])
    line = refused(path, DataError)
    assert str(path) in line
    assert "damaged" in line


def test_a_locked_file_is_waited_for_and_then_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "WAIT", 0.1)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "locked by another program" in refused(path, ResourceError)
    open_study(path, ABOUT, higher=False)


@pytest.mark.parametrize("why", ["database or disk is full", "attempt to write a readonly database"])
def test_a_file_that_cannot_be_written(why: str) -> None:
    with pytest.raises(ResourceError, match=why), stored(Path("study.db")):
        raise sqlite3.OperationalError(why)
