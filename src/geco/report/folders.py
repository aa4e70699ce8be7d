"""Finds the trainings below folders, and what is no training, with the reason."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from geco.errors import UsageError
from geco.train.record import NotYet, SeedRecord, read_seed

__all__ = ["Found", "Problem", "find", "moved"]

SIGNS = ("config.toml", "metrics.jsonl", "result.json", "environment.json")  # any of them, and somebody trained here
INNER = ("best", "last", "tensorboard", "wandb", "mlruns")  # of a run
LOG = ("config.toml", "metrics.jsonl", "result.json")  # what tells that a run has moved on


@dataclass(frozen=True)
class Problem:
    """A folder that cannot be shown."""

    folder: Path
    why: str
    early: bool = False  # nothing is wrong: no epoch is finished yet


@dataclass(frozen=True)
class Found:
    """What is there: records of the seeds of each run, by its folder, and problems."""

    runs: dict[Path, list[SeedRecord]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def find(paths: Sequence[Path]) -> Found:
    """Return all trainings in folders or anywhere below them, seeds put together by their run, and all problems.

    Args:
        paths: folders of runs, of single seeds, or above runs.
    """
    found = Found()
    read: set[Path] = set()
    for path in paths:
        if not path.is_dir():
            why = "it is a file; name the folder it is in" if path.exists() else "there is no such folder"
            found.problems.append(Problem(path, why))
            continue
        for folder in _candidates(path, found.problems):
            if folder.resolve() not in read:
                read.add(folder.resolve())
                _take(folder, found)
    _name_alone(found, paths)
    return found


def _candidates(path: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield folders in which somebody trained, in the order of their names, numbers by value."""
    before, any_found = len(problems), False
    refuse = lambda error: problems.append(Problem(Path(error.filename), f"it cannot be read: {error.strerror}"))  # noqa: E731
    for place, folders, files in os.walk(path, onerror=refuse):
        here, inner = Path(place), [name for name in folders if name in INNER]
        if any(name in files or name in folders for name in SIGNS) or "best" in inner:
            any_found = True
            yield here
        elif here.name.startswith("seed-") and not folders:
            any_found = True
            problems.append(Problem(here, "it is empty: nothing was trained here"))
        folders[:] = sorted((name for name in folders if name not in inner and not name.startswith(".")), key=_by_value)
    if not any_found and len(problems) == before:
        empty = not any(path.iterdir())
        problems.append(Problem(path, "it is empty" if empty else "there is no run of `geco train` in it or below it"))


def _by_value(name: str) -> list[tuple[int, str]]:
    """Return what sorts names as people do: run-2 before run-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _take(folder: Path, found: Found) -> None:
    try:
        record = read_seed(folder)
    except UsageError as error:
        why = str(error).replace(f"{folder} ", "it ", 1).removeprefix(f"{folder}/")
        found.problems.append(Problem(folder, why, isinstance(error, NotYet)))
        return
    home = folder.parent if folder.name.startswith("seed-") else folder
    found.runs.setdefault(home, []).append(record)


def _name_alone(found: Found, paths: Sequence[Path]) -> None:
    """Call a single seed that was asked for by itself by its own folder."""
    for home, seeds in list(found.runs.items()):
        if len(seeds) == 1 and seeds[0].folder in paths and home not in paths:
            renamed = {key if key != home else seeds[0].folder: v for key, v in found.runs.items()}
            found.runs.clear()
            found.runs.update(renamed)


def moved(paths: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return what changes when any of the trainings moves on, or another one begins."""
    state = []
    for path in paths:
        for folder in _candidates(path, []) if path.is_dir() else ():
            for name in LOG:
                try:
                    about = (folder / name).stat()
                except OSError:
                    continue
                state.append((str(folder / name), about.st_size, about.st_mtime_ns))
    return tuple(state)
