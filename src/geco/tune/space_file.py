"""A search space as TOML: a setting of `geco train` with a list of values, or with ``low`` and ``high`` and, if wanted,
``log`` or ``step``. All of it is checked before anything is trained. Nothing here imports torch or Optuna.
"""

from __future__ import annotations

import difflib
import json
import math
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from geco.errors import UsageError
from geco.train.config import Config, from_table, read_table
from geco.tune.space import Choice, Real, Setting, Space, Whole

__all__ = ["TUNED", "read_space", "space_of", "space_toml", "with_values"]

WHOLE = ("model", "optim")  # sections of which everything may be tried but names
MORE = ("data.encodings", "data.batch_size", "train.class_weights", "train.consistency")
BOUNDS = ("low", "high", "log", "step")


def _tuned() -> dict[str, Any]:
    """Return the type of each setting that may be tried."""
    sections = {name: typing.get_type_hints(kind) for name, kind in typing.get_type_hints(Config).items()
                if name in (*WHOLE, "data", "train")}  # fmt: skip
    known = {f"{section}.{name}": kind for section, kinds in sections.items() for name, kind in kinds.items()}
    named = ("model.name", *MORE)
    return {name: kind for name, kind in known.items() if (name.split(".")[0] in WHOLE) != (name in named)}


TUNED = _tuned()


def read_space(path: Path, base: Config) -> Space:
    """Return the space in a file, or refuse it with the setting that is wrong.

    Args:
        path: of the file.
        base: the configuration whose settings are replaced.
    """
    return space_of(read_table(path, "search space"), base, str(path))


def space_of(table: dict[str, Any], base: Config, where: str) -> Space:
    """Return the space that a table holds.

    Example:
        >>> space_of({"model": {"hidden": [8, 16]}}, Config(), "my.toml")
        {'model.hidden': Choice(values=(8, 16))}
        >>> space_of({"model": {"hiden": [8]}}, Config(), "my.toml")
        Traceback (most recent call last):
        geco.errors.UsageError: my.toml: unknown setting model.hiden; did you mean model.hidden?
    """
    space = {name: _setting(name, given, f"{where}: {name}") for name, given in _entries(table, where)}
    if not space:
        raise UsageError(f"{where} holds no setting to try; add one, such as [optim] lr = [0.01, 0.001]")
    for name, setting in space.items():
        values = setting.values if isinstance(setting, Choice) else (setting.low, setting.high)
        for value in values:
            _check(name, value, space, base, where)
    return space


def with_values(base: Config, values: dict[str, Any], where: str) -> Config:
    """Return a configuration with some settings replaced.

    Example:
        >>> with_values(Config(), {"model.hidden": 8}, "a trial").model.hidden
        8
    """
    table: dict[str, Any] = {}
    for name, value in values.items():
        section, _, key = name.partition(".")
        table.setdefault(section, {})[key] = list(value) if isinstance(value, tuple) else value
    return from_table(table, base, where)


def space_toml(space: Space) -> str:
    """Return a space as TOML that `read_space` reads back.

    Example:
        >>> print(space_toml({"model.layers": Whole(1, 3), "model.hidden": Choice((8, 16))}))
        [model]
        layers = {low = 1, high = 3}
        hidden = [8, 16]
    """
    sections: dict[str, list[str]] = {}
    for name, setting in space.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, []).append(f"{key} = {_written(setting)}\n")
    return "\n".join(f"[{section}]\n{''.join(lines)}" for section, lines in sections.items())


def _written(setting: Setting) -> str:
    if isinstance(setting, Choice):
        return json.dumps(list(setting.values))
    step = "" if setting.step in (None, 1) else f", step = {setting.step}"
    log = ", log = true" if setting.log else ""
    return f"{{low = {setting.low}, high = {setting.high}{log}{step}}}"


def _entries(table: dict[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a table by full name."""
    for section, inner in table.items():
        if section not in {name.split(".")[0] for name in TUNED}:
            raise UsageError(f"{where}: {_unknown(section)}")
        if not isinstance(inner, dict):
            raise UsageError(f"{where}: {section} must be a table of settings, such as [{section}]; got {inner!r}")
        for key, given in inner.items():
            if f"{section}.{key}" not in TUNED:
                raise UsageError(f"{where}: {_unknown(f'{section}.{key}')}")
            yield f"{section}.{key}", given


def _unknown(name: str) -> str:
    section, _, key = name.partition(".")
    if key and hasattr(getattr(Config(), section, None), key):
        others = f"everything of {' and '.join(WHOLE)} may be, and {', '.join(MORE)}"
        return f"{name} is the same for all trials and cannot be tried; {others}"
    known = [*TUNED, *dict.fromkeys(other.split(".")[0] for other in TUNED)]
    near = difflib.get_close_matches(name, known, 1) or [n for n in TUNED if n.endswith(f".{key or name}")][:1]
    return f"unknown setting {name}; {f'did you mean {near[0]}?' if near else '`geco train --help` lists them'}"


def _setting(name: str, given: Any, what: str) -> Setting:
    if isinstance(given, list):
        values = [tuple(value) if isinstance(value, list) else value for value in given]
        if not values or any(value in values[:number] for number, value in enumerate(values)):
            raise UsageError(f"{what} must be a list of different values, at least one; got {given!r}")
        return Choice(tuple(values))
    if isinstance(given, dict):
        return _range(name, given, what)
    raise UsageError(f"{what} must be a list of values, or {{low = ..., high = ...}}; got {given!r}")


def _range(name: str, given: dict[str, Any], what: str) -> Real | Whole:
    kind = TUNED[name]
    if kind not in (int, float):
        raise UsageError(f"{what} is not a number and has no range; give a list of values")
    for key in given:
        if key not in BOUNDS:
            near = difflib.get_close_matches(key, BOUNDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(BOUNDS)}"
            raise UsageError(f"{what}: unknown bound {key}; {hint}")
    if missing := [key for key in ("low", "high") if key not in given]:
        raise UsageError(f"{what} has no {' and no '.join(missing)}; a range needs both")
    numbers = {key: given[key] for key in ("low", "high", "step") if key in given}
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
            raise UsageError(f"{what}: {key} must be {'a whole number' if kind is int else 'a number'}, got {value!r}")
    if not isinstance(given.get("log", False), bool):
        raise UsageError(f"{what}: log must be true or false, got {given['log']!r}")
    _contradictions(given, what)
    if kind is int:
        return Whole(**given)
    step = numbers.get("step")
    return Real(float(given["low"]), float(given["high"]), given.get("log", False), step and float(step))


def _contradictions(given: dict[str, Any], what: str) -> None:
    low, high, log, step = given["low"], given["high"], given.get("log", False), given.get("step")
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise UsageError(f"{what}: low must be at most high and both finite, got low {low} and high {high}")
    if log and low <= 0:
        raise UsageError(f"{what}: log needs low above 0, got {low}")
    if step is None:
        return
    if not (math.isfinite(step) and step > 0):
        raise UsageError(f"{what}: step must be above 0, got {step}")
    if log:
        raise UsageError(f"{what}: log and step exclude each other; leave one out")
    if not Real(low, high, step=step).holds(high):
        raise UsageError(f"{what}: steps of {step} do not lead from low {low} to high {high}; choose another high")


def _check(name: str, value: Any, space: Space, base: Config, where: str) -> None:
    """Refuse a value that no configuration may have; one that suits only some values of another setting may stay, as
    trials without them fail with that reason.
    """
    try:
        with_values(base, {name: value}, where)
    except UsageError:
        for other, setting in space.items():
            for chosen in setting.values if isinstance(setting, Choice) and other != name else ():
                try:
                    with_values(base, {other: chosen, name: value}, where)
                except UsageError:
                    continue
                return
        raise
