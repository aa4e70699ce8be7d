"""The file of a study: opened, checked and, if it is new, made. What is wrong with it is one line; nothing in it is
changed then.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geco.errors import DataError, ResourceError, UsageError

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import RDBStorage

__all__ = ["FORMAT", "NAME", "check_optuna", "open_study", "quiet", "stored"]

FORMAT = 1  # of what this package keeps in a study
NAME = "geco"  # of the one study in a file; Hyperband's brackets depend on it
WAIT = 60.0  # seconds for others to let go of the file
HEARTBEAT, GRACE = 60, 180  # seconds between two signs of life of a trial, and from the last one to its being given up


def check_optuna() -> None:
    """Refuse to go on without Optuna, saying how to install it."""
    if importlib.util.find_spec("optuna") is None:
        raise UsageError('tuning needs Optuna: pip install "geco-graph[tune]"')


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Leave out Optuna's notices that heartbeats may change, and that only its own loop sends them; so does
    `geco.tune.slots`.
    """
    from optuna.exceptions import ExperimentalWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        warnings.filterwarnings("ignore", "Heartbeat of storage is supposed")
        yield


@contextlib.contextmanager
def stored(path: Path) -> Iterator[None]:
    """Say in one line what goes wrong with the file of a study."""
    import sqlalchemy.exc
    from optuna.exceptions import StorageInternalError

    try:
        yield
    except (sqlite3.Error, sqlalchemy.exc.SQLAlchemyError, StorageInternalError) as error:
        why = str(error.__cause__ or error).partition("\n")[0]
        if "locked" in why or "busy" in why:
            raise ResourceError(
                f"{path} has been locked by another program for {WAIT:.0f} s; end that and start again, all finished "
                "trials are in it"
            ) from error
        if "full" in why or "readonly" in why or "unable to open" in why:
            raise ResourceError(f"{path} cannot be written: {why}; all finished trials are in it") from error
        raise DataError(f"{path} is no study or damaged ({why}); move it away to begin again") from error


def open_study(path: Path, about: dict[str, Any], higher: bool) -> Study:
    """Return the study in a file, made if there is none; one of something else is refused.

    Args:
        path: of the file; only one process may do this at a time.
        about: what a study depends on, by name, in JSON's types.
        higher: whether a higher score is better.
    """
    about = json.loads(json.dumps({"format": FORMAT, **about}))
    new = not path.exists() or path.stat().st_size == 0
    with stored(path), quiet():
        import optuna
        from optuna.study import StudyDirection

        logging.getLogger("optuna").setLevel(logging.ERROR)
        if not new:
            _probe(path)
        storage = _storage(path)
        names = [] if new else optuna.get_all_study_names(storage)
        if NAME in names:
            study = optuna.load_study(study_name=NAME, storage=storage)
            _compare(path, study, about)
            return study
        if names:
            raise UsageError(f"{path} holds a study that is not of `geco tune`: {names[0]}; choose another --out")
        direction = StudyDirection.MAXIMIZE if higher else StudyDirection.MINIMIZE
        study = optuna.create_study(storage=storage, study_name=NAME, direction=direction)
        study.set_user_attr("about", about)
        return study


def _probe(path: Path) -> None:
    """Find a file that is damaged or locked before Optuna writes to it."""
    with contextlib.closing(sqlite3.connect(path, timeout=WAIT)) as file:
        found = file.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        file.execute("BEGIN IMMEDIATE")
        file.rollback()


def _storage(path: Path) -> RDBStorage:
    import optuna

    options = {"connect_args": {"timeout": WAIT}}
    try:
        url = f"sqlite:///{path.absolute()}"
        return optuna.storages.RDBStorage(url, options, heartbeat_interval=HEARTBEAT, grace_period=GRACE)
    except RuntimeError as error:
        if isinstance(error, ResourceError):
            raise
        raise UsageError(
            f"{path} was written by another version of Optuna than {optuna.__version__}; use that one, or choose "
            "another --out"
        ) from error


def _compare(path: Path, study: Study, about: dict[str, Any]) -> None:
    """Refuse a study of something else, naming all that differs."""
    found = study.user_attrs.get("about")
    if found is None:
        return study.set_user_attr("about", about)  # it was being made by a process that was killed
    if found.get("format") != FORMAT:
        raise UsageError(f"{path} is of another version of GECO; use that one, or choose another --out")
    different = _differences(found, about)
    if different:
        raise UsageError(
            f"{path} holds another study ({'; '.join(different[:5])}); give the same settings to join it, or choose "
            "another --out"
        )
    return None


def _differences(old: Any, new: Any, where: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*old, *(key for key in new if key not in old)]
        return [line for key in keys for line in _differences(old.get(key), new.get(key), f"{where}.{key}".lstrip("."))]
    return [] if old == new else [f"{where}: {old!r} there, {new!r} now"]
