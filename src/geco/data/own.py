"""A user's own files without code: ``geco data import PATH --name NAME``, then ``geco train NAME``.

A path is a folder of tables (`geco.data.own_graphs`), a table of molecules (`geco.data.own_molecules`), or a file of arrays
(`geco.data.own_arrays`). What is imported is kept in the cache folder, with the schema that reads new files in the same way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from geco.data.cache import Cache
from geco.data.dataset import GraphDataset, Info
from geco.data.own_schema import Column, OwnOptions, Schema
from geco.data.places import cache_folder
from geco.data.registry import DATASETS
from geco.errors import DataError, UsageError
from geco.store import Entry, read_entry

__all__ = ["Column", "OwnOptions", "Schema", "ids", "names", "read_own", "store", "stored", "stored_schema"]


def read_own(path: Path, options: OwnOptions | None = None, schema: Schema | None = None) -> tuple[GraphDataset, Schema]:
    r"""Read a user's files; what is wrong in them is said with file, line and column.

    Args:
        path: a folder with nodes.csv and edges.csv, a table with a SMILES column, or an .npz, .pt or .safetensors file.
        options: flags, where the usual names of columns are not used or types are guessed wrongly.
        schema: of files that were read before: new ones get the same columns, categories and classes, and may lack labels.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "nodes.csv").write_text("id,age,kind\na,3,cat\nb,5,dog\nc,4,cat\n")
        >>> _ = (folder / "edges.csv").write_text("source,target\na,b\nb,c\n")
        >>> dataset, schema = read_own(folder, OwnOptions(label=("kind",)))
        >>> dataset[0].edge_index.tolist(), dataset[0].y.tolist(), schema.names
        ([[0, 1, 1, 2], [1, 0, 2, 1]], [0, 1, 0], ('cat', 'dog'))
    """
    from geco.data.own_arrays import ARRAY_SUFFIXES, read_arrays
    from geco.data.own_graphs import read_graphs
    from geco.data.own_molecules import read_molecules
    from geco.data.own_tables import SUFFIXES

    options = options or OwnOptions()
    forms: dict[str, Callable[[Path, OwnOptions, Schema | None], tuple[GraphDataset, Schema]]]
    forms = {"tables": read_graphs, "molecules": read_molecules, "arrays": read_arrays}
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if path.is_dir():
        form = "tables"
    elif path.name.split(".")[0] in ("nodes", "edges", "graphs"):
        raise DataError(f"{path} is one of several tables; give their folder: {path.parent}")
    elif path.name.endswith(SUFFIXES):
        form = "molecules"
    elif path.suffix in ARRAY_SUFFIXES:
        form = "arrays"
    else:
        known = ", ".join((*SUFFIXES, *ARRAY_SUFFIXES))
        raise DataError(f"{path}: a folder with nodes.csv and edges.csv, or a file that ends in one of {known} is wanted")
    if schema is not None and schema.form != form:
        raise DataError(f"{path} holds {form}, the data set was made from {schema.form}")
    return forms[form](path, options, schema)


def ids(path: Path, schema: Schema) -> list[str]:
    """Return the name of each row that a network trained with this schema predicts: node ids, graph names, those of
    molecules if the file has any, or their SMILES.

    Args:
        path: as given to `read_own`.
        schema: of the data set; nodes of array files are numbered.
    """
    from geco.data.own_arrays import count_nodes
    from geco.data.own_columns import assign
    from geco.data.own_graphs import row_names
    from geco.data.own_tables import read_table

    if schema.form == "tables":
        return row_names(path, schema)
    if schema.form == "molecules":
        table = read_table(path)
        named = assign(table, ("id",), OwnOptions()).names("id") or [schema.select("molecules", "smiles")[0].name]
        return [str(text) for text in table.frame[named[0]]]
    return [str(number) for number in range(count_nodes(path))]


def store(dataset: GraphDataset, name: str, schema: Schema | None = None) -> Path:
    """Keep a data set under a name, in place of an earlier one of that name, and return where it is.

    Args:
        dataset: from `read_own`.
        name: of small letters, digits, ``-``, ``_`` and ``.``, not that of a known data set.
        schema: from `read_own`, for reading new files of the same form.
    """
    from geco.data.loading import EMBEDDED

    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise UsageError(
            f"the name {name!r} is not usable; take at most 64 small letters, digits, '-', '_' and '.', a letter or digit first"
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


def names() -> list[str]:
    """Return the names of all data sets that were imported."""
    found = []
    for path in _cache().folder.glob("[a-z0-9]*/manifest.json"):
        try:
            name = json.loads(path.read_text(encoding="utf-8"))["about"]["info"]["name"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # not one of ours
        if _cache().path(name, {"own": name}) == path.parent:
            found.append(name)
    return sorted(found)


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
