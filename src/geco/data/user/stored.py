"""A user's data sets, kept under their names in the cache folder, each with the schema that reads new files in the same
way.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import shutil
from pathlib import Path

from geco.data.cache import Cache
from geco.data.dataset import GraphDataset, Info
from geco.data.paths import cache_folder, entries, imported, is_imported
from geco.data.registry import DATASETS, EMBEDDED
from geco.data.user.names import PREFIX, Names
from geco.data.user.schema import Schema
from geco.errors import DataError, UsageError
from geco.store import Entry, has_entry, read_about, read_entry

__all__ = ["check_free", "remove", "store", "stored", "stored_names", "stored_schema"]


def store(
    dataset: GraphDataset, name: str, schema: Schema | None = None, replace: bool = False, names: Names | None = None
) -> Path:
    """Keep a data set under a name, and return where it is. Whatever goes wrong, an earlier one of that name stays.

    Args:
        dataset: from `geco.data.user.read.read_own`.
        name: of small letters, digits, ``-``, ``_`` and ``.``, not that of a known data set.
        schema: from `geco.data.user.read.read_own`, for reading new files of the same form.
        replace: put it in place of an earlier one of that name, which is refused otherwise.
        names: of its nodes and graphs, from `geco.data.user.names.read_names`; kept beside the data, of which they are
            no part.
    """
    check_free(name, replace)
    info = dataclasses.replace(dataset.info, name=name)
    about = {"info": info.to_json(), "schema": schema.to_json() if schema else None}
    return _cache().put(name, {"own": name}, Entry({**dataset.arrays, **(names.packed() if names else {})}, about))


def check_free(name: str, replace: bool = False) -> None:
    """Refuse a name that cannot be used, is that of a known data set, or, unless it is to be replaced, is taken."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise UsageError(
            f"the name {name!r} is not usable; take at most 64 small letters, digits, '-', '_' and '.', a letter or "
            "digit first"
        )
    if name in DATASETS or name in EMBEDDED:
        raise UsageError(f"{name} is the name of a data set that GECO knows; choose another")
    if not replace and has_entry(_cache().path(name, {"own": name})):
        raise UsageError(
            f"you have a data set called {name}; choose another name, or replace it with --replace "
            f"(`geco data info {name}` shows it)"
        )


def remove(name: str) -> list[Path]:
    """Remove the data set kept under a name, with the encodings made for it, and return the folders that went.

    Args:
        name: of a data set that was imported; all others are refused.
    """
    if not is_imported(name):
        if name in DATASETS or name in EMBEDDED:
            raise UsageError(f"{name} comes with GECO and was not imported; only your own data sets can be removed")
        near = difflib.get_close_matches(name, imported(), 1, 0.5)
        hint = f"did you mean {near[0]}?" if near else f"you have {', '.join(imported()) or 'none'}"
        raise DataError(f"you have no data set called {name!r}; {hint}")
    own = _cache().remove(name, {"own": name})
    encodings = [path for path in entries(name) if _is_encoding(path, name)]
    for path in encodings:
        shutil.rmtree(path)
    return [own, *encodings]


def stored(name: str) -> GraphDataset | None:
    """Return the data set kept under a name, if there is one."""
    entry = _entry(name)
    if entry is None:
        return None
    arrays = {key: array for key, array in entry.arrays.items() if not key.startswith(PREFIX)}
    return GraphDataset(Info.from_json(entry.about["info"]), arrays)


def stored_names(name: str) -> Names:
    """Return the names of the nodes and graphs of the data set kept under a name; none for those imported before names
    were kept.
    """
    entry = _entry(name)
    return Names.unpacked(entry.arrays) if entry else Names()


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


def _is_encoding(path: Path, name: str) -> bool:
    """Tell whether a cache entry is an encoding of a data set, and not one of another whose name starts alike."""
    try:
        return path.name[:-21] == f"{name}-{read_about(path)['name']}"
    except (ValueError, KeyError, TypeError):
        return False
