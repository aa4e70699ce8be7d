"""The record of a study: what is finished, with the settings it was done with; written after every unit."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geco.errors import UsageError
from geco.machine import environment
from geco.store import write_file
from geco.studies.claims.study import LeftOut, Result, Unit
from geco.train.config import Config

__all__ = ["StudyRecord"]

VERSIONS = ("commit", "date", "torch", "threads")  # of each unit; a record may grow over weeks


class StudyRecord:
    """A JSON file that is never written over with anything else than itself and more.

    Args:
        path: the file. One that is damaged, or of another study or scale, is refused and stays as it is.
        name: of the study.
        scale: ``quick``, ``default`` or ``full``.

    Example:
        >>> import tempfile
        >>> from geco.studies.claims.study import Measurement
        >>> path = Path(tempfile.mkdtemp()) / "record.json"
        >>> record = StudyRecord(path, "echo", "quick")
        >>> record.keep(Unit("a", Measurement(lambda known: {}, {})), {"score": 0.5}, 1.25)
        >>> StudyRecord(path, "echo", "quick").results
        {'a': {'score': 0.5}}
    """

    def __init__(self, path: Path, name: str, scale: str) -> None:
        self.path, self._environment = path, environment()
        self.known: dict[str, Any] = {"study": name, "scale": scale, "commands": [], "units": {}}
        if path.exists():
            found = _read(path)
            for key, wanted in (("study", name), ("scale", scale)):
                if found[key] != wanted:
                    raise UsageError(f"{path} is of the {key} {found[key]!r}, not {wanted!r}; choose another --out")
            self.known = found

    @property
    def results(self) -> dict[str, Result]:
        """What every finished unit gave, by key."""
        return {key: unit["result"] for key, unit in self.known["units"].items()}

    def check(self, units: Sequence[Unit]) -> None:
        """Refuse to go on if one of the units is known with other settings than now."""
        for unit in units:
            if unit.key in self.known["units"]:
                before = _completed(self.known["units"][unit.key]["settings"])
                changed = _difference(before, _plain(unit.work.settings))
                if changed:
                    raise UsageError(
                        f"{self.path} holds {unit.key} with other settings ({changed}); choose another --out, or move "
                        "this folder away to start again: nothing in it was changed"
                    )

    def begin(self, command: str, left_out: Sequence[LeftOut]) -> None:
        """Note the command and what it leaves out, with versions and machine; nothing is written yet."""
        commands = [known for known in self.known["commands"] if known != command]
        gone = [{"what": item.what, "why": item.why} for item in left_out]
        about = {"commands": [*commands, command], "environment": self._environment, "left_out": gone}
        self.known = {**{k: v for k, v in self.known.items() if k != "units"}, **about, "units": self.known["units"]}

    def keep(self, unit: Unit, result: Result, seconds: float) -> None:
        """Add a finished unit, and write it."""
        versions = {key: value for key, value in self._environment.items() if key in VERSIONS}
        about = {"settings": unit.work.settings, "facts": unit.facts, "result": result, "seconds": round(seconds, 2)}
        load = {"load": round(os.getloadavg()[0], 1)} if hasattr(os, "getloadavg") else {}  # not on Windows
        self.known["units"][unit.key] = _plain({**about, **versions, **load})
        self.write()

    def write(self) -> None:
        """Write the file in place of what it was."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_file(self.path, (json.dumps(self.known, indent=1, ensure_ascii=False) + "\n").encode())


def _read(path: Path) -> dict[str, Any]:
    advice = f"move it away or choose another --out; trainings finished below {path.parent} are not lost"
    try:
        found = json.loads(path.read_text("utf-8"))
        units = found["units"].values()
        whole = all(isinstance(unit[part], dict) for unit in units for part in ("settings", "facts", "result"))
        if not whole or not isinstance(found["commands"], list) or not {"study", "scale"} <= found.keys():
            raise ValueError("parts of it are missing")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is no record of `geco study`, or damaged ({error}); {advice}") from error
    return dict(found)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return values as they come back from a file."""
    found: dict[str, Any] = json.loads(json.dumps(values))
    return found


def _completed(settings: dict[str, Any]) -> dict[str, Any]:
    """Return recorded settings with the defaults of those that came later."""
    if not isinstance(settings.get("config"), dict):
        return settings
    tables = {}
    for name, value in Config().to_json().items():
        given = settings["config"].get(name, value)
        tables[name] = {**value, **given} if isinstance(value, dict) and isinstance(given, dict) else given
    return {**settings, "config": {**settings["config"], **tables}}


def _difference(old: Any, new: Any, where: str = "") -> str:
    """Return the first setting that differs, or nothing."""
    if isinstance(old, dict) and isinstance(new, dict):
        inner = (_difference(old.get(k), new.get(k), f"{where}.{k}" if where else k) for k in {**old, **new})
        return next(filter(None, inner), "")
    return "" if old == new else f"{where}: {old!r} there, {new!r} now"
