"""What a run folder tells of the training of one seed, finished or not, without loading its network."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from geco.data.dataset import Info
from geco.errors import UsageError
from geco.store import has_entry, read_about
from geco.train.metrics import METRICS

__all__ = ["NotYet", "SeedRecord", "read_seed"]

TABLES = ("data", "model", "optim", "train")


class NotYet(UsageError):
    """A run without a finished epoch."""


@dataclass(frozen=True)
class SeedRecord:
    """The training of one seed.

    Args:
        folder: of the run.
        config: its settings, as tables.
        toml: the same as text.
        environment: versions and machine; empty if they are not there.
        info: what the data set asks for.
        epochs: evaluations in order: ``epoch``, ``loss``, ``valid``, ``test`` and more; seconds of ``train`` and
            ``evaluate``, and ``memory`` in bytes, where they are known.
        result: what the run ended with; empty as long as it has not.
        kept: what was kept beside the best weights for reports: ``outcome``, ``parameters``, ``baseline``; empty for
            runs of before.
    """

    folder: Path
    config: dict[str, Any]
    toml: str
    environment: dict[str, Any]
    info: Info
    epochs: list[dict[str, Any]]
    result: dict[str, Any]
    kept: dict[str, Any]

    @property
    def seed(self) -> int:
        """Number that all that is drawn depends on."""
        return int(self.config.get("seed", 0))

    @property
    def higher(self) -> bool:
        """Whether a higher score is better."""
        return METRICS[self.info.metric].better == "higher"

    @cached_property
    def best(self) -> dict[str, Any]:
        """The evaluation that was chosen: the first of those that validate best."""
        sign = 1 if self.higher else -1
        return max(self.epochs, key=lambda line: sign * line["valid"] if math.isfinite(line["valid"]) else -math.inf)

    @property
    def state(self) -> str:
        """How far it is."""
        if self.result:
            return "finished"
        return f"epoch {self.epochs[-1]['epoch']} of {self.config['train'].get('epochs', '?')}"

    @property
    def parameters(self) -> int | None:
        """Number of trained weights, if it is known."""
        return self.result.get("parameters", self.kept.get("parameters"))

    @property
    def memory(self) -> float | None:
        """Peak memory in bytes, if it is known."""
        found = [line["memory"] for line in self.epochs if line.get("memory")]
        return max(found, default=None)

    @property
    def baseline(self) -> dict[str, dict[str, float]]:
        """Scores of a guess without features, by its name."""
        return dict(self.result.get("baseline") or self.kept.get("baseline") or {})

    def seconds(self, part: str) -> list[float]:
        """Return seconds of an epoch's ``train`` or ``evaluate``, where they are known."""
        return [line[part] for line in self.epochs if part in line]


def read_seed(folder: Path) -> SeedRecord:
    """Return what a folder tells, or raise UsageError with what is wrong with it; NotYet if no epoch is finished.

    Args:
        folder: of one seed, such as ``runs/mine/seed-0``; somebody may be training in it.
    """
    try:
        return _read(folder)
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        name = getattr(error, "filename", None) or folder
        raise UsageError(f"{name} cannot be read: {why}") from error


def _read(folder: Path) -> SeedRecord:
    if not (folder / "config.toml").is_file():
        raise UsageError(f"{folder} is no folder of `geco train`: there is no config.toml in it")
    toml = (folder / "config.toml").read_text("utf-8")
    config = _config(folder, toml)
    epochs = _lines(folder / "metrics.jsonl")
    _check(folder / "metrics.jsonl", epochs)
    if not epochs or not has_entry(folder / "best"):
        raise NotYet(f"{folder} has no finished epoch yet")
    try:
        about = read_about(folder / "best")
        info, kept = Info.from_json(about["info"]), about.get("report") or {}
        METRICS[info.metric]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{folder / 'best'} is damaged or not of this version of geco: {error}") from error
    clock = {line["epoch"]: line for line in _lines(folder / "timing.jsonl") if _number(line.get("epoch"))}
    epochs = [{**_measured(clock.get(line["epoch"], {})), **line} for line in epochs]
    environment, result = (_object(folder / f"{name}.json") for name in ("environment", "result"))
    return SeedRecord(folder, config, toml, environment, info, epochs, result, kept if isinstance(kept, dict) else {})


def _config(folder: Path, toml: str) -> dict[str, Any]:
    try:
        config = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{folder / 'config.toml'} is not TOML: {error}") from error
    missing = [name for name in TABLES if not isinstance(config.get(name), dict)]
    if missing or not isinstance(config.get("seed", 0), int):
        what = f"it has no table {missing[0]}" if missing else "its seed is no number"
        raise UsageError(f"{folder / 'config.toml'} is not that of a run of `geco train`: {what}")
    return config


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file that a run may be writing to, or was killed while it did: without one that has no
    end.
    """
    whole = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
    found = []
    for number, line in enumerate(whole, 1):
        if not line.endswith("\n"):
            break
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise UsageError(
                f"{path} is damaged: line {number}: {error}; `geco train --resume auto` writes it again"
            ) from error
        if not isinstance(found[-1], dict):
            raise UsageError(f"{path} is damaged: line {number} holds no evaluation")
    return found


def _check(path: Path, epochs: list[dict[str, Any]]) -> None:
    """Refuse evaluations without the numbers that all have."""
    for number, line in enumerate(epochs, 1):
        wrong = [key for key in ("epoch", "loss", "valid", "test") if not _number(line.get(key))]
        if wrong:
            raise UsageError(f"{path} is damaged: line {number} has no number {wrong[0]}")


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _measured(line: Mapping[str, Any]) -> dict[str, float]:
    return {key: line[key] for key in ("train", "evaluate", "memory") if _number(line.get(key))}


def _object(path: Path) -> dict[str, Any]:
    """Return what a file of JSON holds; nothing if it is not there."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is damaged: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} is damaged: it holds no object")
    return found
