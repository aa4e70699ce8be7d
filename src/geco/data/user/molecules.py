"""A user's molecules: a table with a column of SMILES strings and columns to predict.

Without ``--label``, the label is a column of a usual name, or else every column of numbers, but for one that numbers
the rows. Missing targets are allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from geco.console import progress
from geco.data.collate import collect, narrowed
from geco.data.dataset import GraphDataset, Info
from geco.data.parallel import in_order, processors
from geco.data.user.columns import Sheet, assign, assign_known, check_flags, is_usual
from geco.data.user.doubts import MANY, doubts
from geco.data.user.labels import read_labels, read_parts, read_splits
from geco.data.user.partition import read_times
from geco.data.user.problems import Problems
from geco.data.user.schema import OwnOptions, Role, Schema, refuse
from geco.data.user.tables import Field, Table, read_table
from geco.errors import DataError, DataErrors, UsageError

__all__ = ["read_molecules", "read_new_molecules", "row_ids"]

FILE = "molecules"  # name of the table in the schema
BLOCK = 256  # molecules a process finds the scaffolds of at a time


def read_molecules(
    path: Path, options: OwnOptions, schema: Schema | None = None, workers: int | None = None
) -> tuple[GraphDataset, Schema]:
    """Read a table of molecules; each becomes a graph with OGB's atom and bond features.

    Args:
        path: of the table.
        options: flags.
        schema: how such a file was read before; labels may be absent then.
        workers: processes that read SMILES; all processors if not given.
    """
    refuse(options, ("id", "features", "source", "target", "weight", "graph", "directed"), "a file of molecules")
    if options.task == "link":
        raise UsageError(f"{path}: --task link is for the edges of one graph; a file of molecules has none to predict")
    if options.level == "node":
        raise DataError(f"{path}: a file of molecules has labels for graphs, not for nodes; leave out --level node")
    table = read_table(path)
    sheet = assign_known(table, FILE, schema) if schema else _assign(table, options)
    problems = Problems()
    smiles = sheet.field("smiles")
    labels = problems.attempt(read_labels, sheet.fields("label"), options.task, len(table.frame), schema)
    given = [problems.attempt(read_parts, field) for field in sheet.fields("split")]
    times = next((problems.attempt(read_times, field) for field in sheet.fields("time")), None)
    texts, failed = _texts(smiles), dict[int, str]()
    graphs = list(_graphs(texts, None if labels is None else labels.y, workers, failed))
    for line in _places(smiles, _reasons(texts, failed)):
        problems.add(DataError(f"{line}; fix or remove the line"))
    problems.stop()
    assert labels
    where = f"{path}, column {''.join(sheet.names('split'))}"
    parts = [part for part in given if part is not None]
    splits, notes = read_splits(
        labels, parts, where, options, schema, scaffolds=lambda: _scaffolds(texts, workers), times=times
    )
    info = _described(labels.info(path.name.split(".")[0], "graph", options, schema))
    dataset = collect(info, graphs, splits)
    written = [f"{path.name}: {table.dialect.words}"] if table.dialect.words else []
    again = len(texts) - len(set(texts))
    repeats = (
        [f"warning: {again:,} rows repeat the SMILES of another; training and test may share them"] if again else []
    )
    columns = sheet.described(FILE)
    return dataset, schema or labels.schema(
        "molecules", info, False, columns, [*written, *_numbering(sheet, options), *notes, *repeats, *doubts(labels)]
    )


def read_new_molecules(
    path: Path, schema: Schema, workers: int | None = None
) -> tuple[GraphDataset, list[str], dict[int, str]]:
    """Return the molecules of a table that can be read, without labels, the name of each row of it, and what is wrong
    with the rows that cannot, by row, counted from 0. That no row can be read is an error.

    Args:
        path: of the table.
        schema: how such a file was read before.
        workers: processes that read SMILES; all processors if not given.
    """
    table = read_table(path)
    sheet = assign_known(table, FILE, schema)
    smiles = sheet.field("smiles")
    texts, failed = _texts(smiles), dict[int, str]()
    labels = read_labels([], None, len(texts), schema)
    graphs = list(_graphs(texts, labels.y, workers, failed))
    if not graphs:
        raise DataErrors([f"{path}: no molecule could be read", *_places(smiles, _reasons(texts, failed))])
    info = _described(labels.info(path.name.split(".")[0], "graph", OwnOptions(), schema))
    return collect(info, graphs), row_ids(sheet), _reasons(texts, failed)


def row_ids(sheet: Sheet) -> list[str]:
    """Return the id of each row, or its SMILES where there is none."""
    unnamed = assign(sheet.table, ("id",), OwnOptions())  # new files may have ids where the first had none
    named = sheet.names("id") or unnamed.names("id") or sheet.names("smiles")
    return [str(text) for text in sheet.table.as_text(named).field(named[0]).texts().fillna("")]


def _described(info: Info) -> Info:
    from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES

    return replace(info, categories=ATOM_CATEGORIES, edge_categories=BOND_CATEGORIES)


def _assign(table: Table, options: OwnOptions) -> Sheet:
    """Give columns their roles; what is left is a label if it holds numbers and none is named, else ignored."""
    if not len(table.frame):
        raise DataError(f"{table.path}, line 2: there are no molecules; write a line for each")
    check_flags([table], options)
    sheet = assign(table, ("smiles", "id", "label", "split", "time"), options)
    sheet.field("smiles")
    free = sheet.names("feature")
    found = [] if sheet.names("label") else [name for name in free if table.field(name).kind == "number"]
    labels = [name for name in found if not _numbers_rows(table.field(name))] or found
    given: dict[str, Role] = {name: "label" if name in labels else "ignored" for name in free}
    ids = [name for name in found if name not in labels and not sheet.names("id")][:1]
    sheet = sheet.changed({name: "id" for name in ids})
    roles = given | {name: role for name, role in sheet.roles.items() if role != "feature"}
    roles = {name: roles[name] for name in sheet.roles}
    if "label" not in roles.values():
        listed = ", ".join(roles)
        raise DataError(
            f"{table.path}, line 1: no column of numbers to predict among {listed}; name it with --label COLUMN"
        )
    return Sheet(sheet.table, roles)


def _numbers_rows(field: Field) -> bool:
    """Tell whether a column names rows, as an id of another name does: many whole numbers, all there, all different."""
    values = field.parsed
    whole = len(values) > MANY and np.isfinite(values).all() and (values % 1 == 0).all()
    return bool(whole and len(np.unique(values)) == len(values))


def _numbering(sheet: Sheet, options: OwnOptions) -> list[str]:
    """Return a note on each column of numbers that was not taken for a label because it names rows."""
    if options.label:
        return []
    fields = [field for role in ("id", "ignored") for field in sheet.fields(role) if not is_usual(field.name, "id")]
    return [
        f"{field.name} is taken for an id, a whole number of its own in each row; if it is to be predicted: "
        f"--label {field.name}"
        for field in fields
        if field.name not in options.ignore and field.kind == "number" and _numbers_rows(field)
    ]


def _texts(smiles: Field) -> list[str]:
    return [str(text) for text in smiles.texts().fillna("")]


def _reasons(texts: list[str], failed: dict[int, str]) -> dict[int, str]:
    return {row: why if texts[row] else "the SMILES is missing" for row, why in failed.items()}


def _places(smiles: Field, failed: dict[int, str]) -> list[str]:
    return [f"{smiles.where(row)}: {why}" for row, why in failed.items()]


def _graphs(
    texts: list[str], y: Tensor | None, workers: int | None, failed: dict[int, str]
) -> Iterator[dict[str, Tensor]]:
    """Yield the graphs of the rows that can be read, with their labels; see `graphs_from_smiles`."""
    from geco.data.molecules import graphs_from_smiles

    rows = (row for row in range(len(texts)) if row not in failed)  # after the graph, when it is known what failed
    for graph, row in zip(graphs_from_smiles(texts, workers, failed), rows, strict=False):
        label = {} if y is None else {"y": y[row : row + 1]}
        yield {name: narrowed(torch.from_numpy(value)) for name, value in graph.items()} | label


def _scaffolds(texts: list[str], workers: int | None) -> list[str]:
    tasks = [(texts[start : start + BLOCK],) for start in range(0, len(texts), BLOCK)]
    results = in_order(_scaffold_block, tasks, (workers or processors()) if len(tasks) > 1 else 0)
    return [one for block in progress(results, "scaffolds", len(tasks), f"x {BLOCK}") for one in block]


def _scaffold_block(texts: list[str]) -> list[str]:
    from geco.data.molecules import scaffold

    return [scaffold(text) for text in texts]
