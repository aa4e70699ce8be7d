"""A run's folder: configuration, environment, metrics with one line an evaluation, and a lock so that one process owns it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from geco.errors import CheckpointError, GecoError
from geco.machine import environment
from geco.nn.pretrained import write_whole
from geco.train.config import Config, read_toml, to_toml

__all__ = ["RunFolder"]


class RunFolder:
    """``config.toml``, ``environment.json``, ``metrics.jsonl`` (no times in it), ``timing.jsonl``, ``result.json``.

    Args:
        path: the folder; made if it is not there.
        config: of this run; a folder that holds another one is refused, field by field.
        resume: whether to go on with what is there.
    """

    def __init__(self, path: Path, config: Config, resume: bool) -> None:
        self.path, self.config = path, config
        path.mkdir(parents=True, exist_ok=True)
        self.lock = FileLock(path / ".lock", timeout=0)
        try:
            self.lock.acquire()
        except Timeout as error:
            raise GecoError(f"another process is training in {path}; choose another --out") from error
        if (path / "config.toml").exists():
            self._check(resume)
        else:
            write_whole(path / "config.toml", to_toml(config).encode())
            write_whole(path / "environment.json", json.dumps(environment(), indent=2).encode())

    def _check(self, resume: bool) -> None:
        if not resume:
            raise GecoError(f"{self.path} holds a run already; go on with --resume auto, or choose another --out")
        old, new = read_toml(self.path / "config.toml").to_json(), self.config.to_json()
        changed = [f"{where}: {a!r} there, {b!r} now" for where, a, b in _differences(old, new)]
        if changed:
            raise CheckpointError(f"{self.path} was started with another configuration ({'; '.join(changed)})")

    def log(self, line: dict[str, Any], timing: dict[str, Any]) -> None:
        """Add one evaluation."""
        for name, values in (("metrics", line), ("timing", {"epoch": line["epoch"], **timing})):
            with (self.path / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(values) + "\n")

    def rewind(self, history: list[dict[str, Any]]) -> None:
        """Make the metrics file what it was at a checkpoint."""
        write_whole(self.path / "metrics.jsonl", "".join(json.dumps(line) + "\n" for line in history).encode())

    def finish(self, result: dict[str, Any]) -> None:
        """Write the result."""
        write_whole(self.path / "result.json", json.dumps(result, indent=2).encode())

    def close(self) -> None:
        """Let go of the folder."""
        self.lock.release()


def _differences(old: Any, new: Any, where: str = "") -> list[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted(old.keys() | new.keys())
        return [d for k in keys for d in _differences(old.get(k), new.get(k), f"{where}.{k}" if where else k)]
    return [] if old == new else [(where, old, new)]
