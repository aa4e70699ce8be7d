"""Settings from TOML and flags. Nothing here imports torch.

A value comes from the flag, else from the file given by ``--config``, else from the data set's own file in
`geco/configs`, else from the defaults in `geco.train.settings`. Shipped files hold only what differs from those. What
is wrong is refused with the name of the setting, what was got and what may be given.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
import types
import typing
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from geco.errors import UsageError
from geco.train.settings import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig

__all__ = [
    "Config",
    "DataConfig",
    "ModelConfig",
    "OptimConfig",
    "TrainConfig",
    "as_saved",
    "from_table",
    "read_table",
    "read_toml",
    "to_toml",
]

RENAMED = {"model.norm": "adjacency"}  # settings of before 2026-11-19, in run folders and files of users
T = TypeVar("T")
LARGEST = 2**20  # bytes of a configuration file


def read_toml(path: str | Path, base: Config | None = None, *, run: bool = False) -> Config:
    """Return the configuration in a file, on top of another one; ``run`` is for that of a run, maybe an old
    one.
    """
    table = read_table(path, "configuration")
    return from_table(as_saved(table) if run else table, base or Config(), str(path))


def read_table(path: str | Path, what: str) -> dict[str, Any]:
    """Return what a TOML file holds, or refuse it in words of ``what`` it should be."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise UsageError(f"{path} is over {LARGEST:,} bytes, no {what} is; is it the right file?")
        return tomllib.loads(text.decode())
    except OSError as error:
        raise UsageError(f"cannot read the {what} {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error


def as_saved(table: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a run with what an earlier version meant where it did not have one yet.

    Example:
        >>> as_saved({"model": {"name": "hyena", "permutation": "static"}})["model"]
        {'scaling': 'none', 'targets': 'raw', 'edges': 'partly', 'name': 'hyena', 'permutation': 'natural', ...}
        >>> as_saved({"model": {"permutation": "structure"}})
        {'model': {'scaling': 'none', 'targets': 'raw', 'edges': 'partly', 'structure_version': 1, ...}}
    """
    model = table.get("model")
    if not isinstance(model, dict):
        return table
    first = {"structure_version": 1} if model.get("permutation") == "structure" else {}
    model = {"scaling": "none", "targets": "raw", "edges": "partly", **first, **model}
    if "hyena_length" not in model and "hyena" in (model.get("name"), model.get("mixer")):
        order = {"permutation": "natural"} if model.get("name") == "hyena" else {}
        model = {**model, **order, "hyena_length": 1024}
    return {**table, "model": model}


def from_table(table: dict[str, Any], base: T, where: str, prefix: str = "") -> T:
    """Return a configuration with the values of a table put over it; unknown and ill-typed settings are refused.

    Example:
        >>> from_table({"model": {"norm": "row"}}, Config(), "an old file").model.adjacency
        'row'
    """
    kinds = typing.get_type_hints(type(base))
    changes = {}
    for given, value in table.items():
        key = RENAMED.get(f"{prefix}{given}", given)
        name = f"{prefix}{key}"
        if key not in kinds:
            near = difflib.get_close_matches(key, kinds, 1)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"there are {', '.join(kinds)}"
            raise UsageError(f"{where}: unknown setting {name}; {hint}")
        if dataclasses.is_dataclass(kinds[key]):
            if not isinstance(value, dict):
                raise UsageError(f"{where}: {name} must be a table, got {value!r}")
            changes[key] = from_table(value, getattr(base, key), where, f"{name}.")
        else:
            changes[key] = _typed(value, kinds[key], f"{where}: {name}")
    return dataclasses.replace(base, **changes)  # type: ignore[type-var]


def to_toml(config: Config, base: Config | None = None) -> str:
    """Return a configuration as TOML that `read_toml` reads back; with a base, what differs from it.

    Example:
        >>> print(to_toml(Config(model=ModelConfig(hidden=8)), Config()))
        [model]
        hidden = 8
    """
    known = base.to_json() if base else {}
    tables, plain = [], []
    for key, value in config.to_json().items():
        if isinstance(value, dict):
            tables.append(_lines(value, known.get(key, {}), f"[{key}]\n"))
        else:
            plain.append(_lines({key: value}, known))
    return "\n".join(part for part in ("".join(plain), *tables) if part)


def _lines(table: dict[str, Any], known: dict[str, Any], head: str = "") -> str:
    changed = {key: value for key, value in table.items() if key not in known or known[key] != value}
    return head + "".join(f"{key} = {json.dumps(value)}\n" for key, value in changed.items()) if changed else ""


def _typed(value: Any, kind: Any, what: str) -> Any:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            near = difflib.get_close_matches(str(value), [str(v) for v in get_args(kind)], 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise UsageError(f"{what} must be one of {', '.join(map(str, get_args(kind)))}, got {value!r}{hint}")
        return value
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_typed(v, get_args(kind)[0], what) for v in value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    plain = kind if isinstance(kind, type) and not isinstance(kind, types.GenericAlias) else tuple
    if not isinstance(value, plain) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"{what} must be {getattr(kind, '__name__', kind)}, got {value!r}")
    return value
