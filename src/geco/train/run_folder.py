"""A run's folder: configuration, environment, metrics with one line an evaluation, and a lock so that one process owns
it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from filelock import FileLock, Timeout

from geco.distributed.agreement import differences
from geco.errors import CheckpointError, ResourceError, UsageError
from geco.machine import environment
from geco.names import BASELINES
from geco.nn.resolve import accepted
from geco.store import sweep, write_file
from geco.train.boards import BOARDS, Board, check_boards, flat, open_boards
from geco.train.config import Config, read_toml, to_toml

__all__ = ["RunFolder"]

logger = logging.getLogger(__name__)

# Settings that may change when a run goes on: where and how fast it runs, what is kept, when it ends. Another device or
# number of threads rounds differently; the rest changes no bit of what a step does.
RUN = ("device", "threads", "deterministic", "save_every", "keep", "patience", *BOARDS)
KEPT = ("best", "last", "result.json")  # any of them, or a line of metrics, and the folder holds a run
FREE = ("data.workers", *(f"train.{name}" for name in RUN))


class RunFolder:
    """``config.toml``, ``environment.json``, ``metrics.jsonl`` (no times in it), ``timing.jsonl``, ``result.json``.

    A start that fails before anything is worth keeping leaves no folder, or an empty one that was there before; one
    that was killed so early leaves a folder that the next start takes over.

    Args:
        path: the folder; made if it is not there.
        config: of this run; a folder that holds another one is refused, field by field, but for settings that may
            change.
        resume: whether to go on with what is there.
    """

    def __init__(self, path: Path, config: Config, resume: bool) -> None:
        self.path, self.config = path, config
        self._made = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        self.lock = FileLock(path / ".lock", timeout=0)
        try:
            self.lock.acquire()
        except Timeout as error:
            raise UsageError(f"another process is training in {path}; choose another --out") from error
        self._mine = _identity(path / ".lock")
        self.boards: list[Board] = []
        self._changes: list[tuple[str, Any, Any]] = []
        try:
            check_boards(config.train)
            self._open(resume)
            self.boards = [] if resume else open_boards(path, config, 0)
        except BaseException:
            self.close()
            raise

    @property
    def _begun(self) -> bool:
        metrics = self.path / "metrics.jsonl"
        return any((self.path / name).exists() for name in KEPT) or (metrics.exists() and metrics.stat().st_size > 0)

    def _open(self, resume: bool) -> None:
        if not self._begun or not (self.path / "config.toml").exists():
            write_file(self.path / "environment.json", json.dumps(environment(), indent=2).encode())
            write_file(
                self.path / "config.toml", to_toml(self.config).encode()
            )  # last: with it, the folder holds a run
        elif not resume:
            raise UsageError(f"{self.path} holds a run already; go on with --resume auto, or choose another --out")
        else:
            self._check_changes()
            sweep(self.path / "best")

    def _stored(self) -> dict[str, Any]:
        try:
            return read_toml(self.path / "config.toml", _before(self.config), run=True).to_json()
        except UsageError as error:
            raise CheckpointError(f"cannot go on in {self.path}: {error}") from error

    def _check_changes(self) -> None:
        """Refuse all settings that have changed if there is one that may not."""
        self._changes = differences(self._stored(), self.config.to_json())
        refused = [
            f"{name}: {old!r} there, {new!r} now" for name, old, new in self._changes if not self._free(name, old, new)
        ]
        if refused:
            raise CheckpointError(
                f"{self.path} was started with another configuration ({'; '.join(refused)}); "
                "give the same settings to go on, or choose another --out"
            )

    def _change(self) -> None:
        """Take over the settings that have changed."""
        if self._changes:
            named = ", ".join(f"{name} {new!r}, not {old!r}" for name, old, new in self._changes)
            logger.info(f"{self.path} goes on with {named}")
            longer = any(name == "train.epochs" for name, *_ in self._changes)
            if longer and self.config.optim.schedule in ("cosine", "linear"):
                logger.info(f"the learning rate goes on where that of {self.config.train.epochs} epochs stands by now")
            (self.path / "result.json").unlink(missing_ok=True)  # it may no longer be the end
            write_file(self.path / "config.toml", to_toml(self.config).encode())

    def _free(self, name: str, old: Any, new: Any) -> bool:
        """Tell whether a setting may change; more epochs may follow, unless the network has stages of them."""
        model = self.config.model
        more = name == "train.epochs" and new > old and (model.local_epochs > 0 or not _staged(model.name))
        return name in FREE or more

    def check(self) -> None:
        """Refuse to write into a folder that was removed, or made again by another process, while this one trained."""
        if _identity(self.path / ".lock") != self._mine:
            raise ResourceError(
                f"{self.path} was removed or replaced while it was trained in; nothing more is written to it"
            )

    def log(self, line: dict[str, Any], timing: dict[str, float], memory: int | None = None) -> None:
        """Add one evaluation: its numbers; apart from them its seconds, and the peak memory in bytes if it is known."""
        self.check()
        peak = {} if memory is None else {"memory": memory}
        seconds = {f"seconds/{name}": value for name, value in timing.items()}
        for board in self.boards:
            board.log({**flat(line), **seconds, **peak}, line["epoch"])
        timing = {**timing, **peak}
        for name, values in (("metrics", line), ("timing", {"epoch": line["epoch"], **timing})):
            with (self.path / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(values) + "\n")

    def rewind(self, history: list[dict[str, Any]]) -> None:
        """Go on from a checkpoint that was found sound: with the settings of now, and the metrics of then; boards are
        told to forget what came after it.
        """
        self._change()
        self.boards = open_boards(self.path, self.config, history[-1]["epoch"] + 1 if history else 0)
        write_file(self.path / "metrics.jsonl", "".join(json.dumps(line) + "\n" for line in history).encode())

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result."""
        self.check()
        write_file(self.path / "result.json", json.dumps(result, indent=2).encode())

    def close(self) -> None:
        """Let go of the folder; one that holds nothing is cleared away."""
        for board in self.boards:
            board.close()
        failed = _identity(self.path / ".lock") == self._mine and not self._begun
        if failed:
            for name in ("config.toml", "environment.json", "metrics.jsonl", "boards.json"):
                (self.path / name).unlink(missing_ok=True)
            shutil.rmtree(self.path / "tensorboard", ignore_errors=True)
        self.lock.release()
        if failed:
            with contextlib.suppress(OSError):  # others may have put something there meanwhile
                (self.path / ".lock").unlink(missing_ok=True)
                for folder in self._made:
                    folder.rmdir()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _staged(name: str) -> bool:
    """Tell whether what a network does in an epoch depends on how many there are."""
    set_epoch = getattr(resolve_name(BASELINES[name]), "set_epoch", None) if name in BASELINES else None
    return set_epoch is not None and "epochs" in accepted(set_epoch, {"epochs": 0})


def _before(config: Config) -> Config:
    """Return what a run did whose file does not say it: as this one, but with BatchNorm's own running statistics, and
    from no other run.
    """
    return replace(config, train=replace(config.train, statistics=0), init_from="")
