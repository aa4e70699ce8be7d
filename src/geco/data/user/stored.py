"""A user's data sets, kept under their names in the cache folder, each with the schema that reads new files in the same
way.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from geco.data.cache import Cache
from geco.data.dataset import GraphDataset, Info
from geco.data.paths import cache_folder
from geco.data.registry import DATASETS, EMBEDDED
from geco.data.user.schema import Schema
from geco.errors import DataError, UsageError
from geco.store import Entry, read_entry

__all__ = ["store", "stored", "stored_schema"]


def store(dataset: GraphDataset, name: str, schema: Schema | None = None) -> Path:
    """Keep a data set under a name, in place of an earlier one of that name, and return where it is.

    Args:
        dataset: from `geco.data.user.read.read_own`.
        name: of small letters, digits, ``-``, ``_`` and ``.``, not that of a known data set.
        schema: from `geco.data.user.read.read_own`, for reading new files of the same form.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise UsageError(
            f"the name {name!r} is not usable; take at most 64 small letters, digits, '-', '_' and '.', a letter or "
            "digit first"
        )
    if name in DATASETS or name in EMBEDDED:
        raise UsageError(f"{name} is the name of a data set that GECO knows; choose another")
    about = {"info": replace(dataset.info, name=name).to_json(), "schema": schema.to_json() if schema else None}
    return _cache().put(name, {"own": name}, Entry(dataset.arrays, about))


def stored(name: str) -> GraphDataset | None:
    """Return the data set kept under a name, if there is one."""
    entry = _entry(name)
    return GraphDataset(Info.from_json(entry.about["info"]), entry.arrays) if entry else None


def stored_schema(name: str) -> Schema | None:
    """Return how the files of the data set kept under a name were read, if it is known."""
    entry = _entry(name)
    return Schema.from_json(entry.about["schema"]) if entry and entry.about["schema"] else None


def _cache() -> Cache:
    return Cache(cache_folder() / "own")


def _entry(name: str) -> Entry | None:
    path = _cache().path(name, {"own": name})
    if "/" in name or not path.is_dir():
        return None
    try:
        return read_entry(path)
    except ValueError as error:
        raise DataError(f"{error}; import it again with `geco data import PATH --name {name}`") from error
