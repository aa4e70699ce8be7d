"""A user's molecules: a table with a column of SMILES strings and columns to predict.

Without ``--label``, the label is a column of a usual name, or else every column of numbers. Missing targets are
allowed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from geco.console import progress
from geco.data.collate import collect
from geco.data.dataset import GraphDataset
from geco.data.parallel import in_order, processors
from geco.data.user.columns import Sheet, assign, assign_known, check_flags
from geco.data.user.labels import read_labels, read_parts, read_splits
from geco.data.user.partition import read_times
from geco.data.user.schema import OwnOptions, Role, Schema, refuse
from geco.data.user.tables import Field, Table, read_table
from geco.errors import DataError, UsageError

__all__ = ["read_molecules"]

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
    from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES

    refuse(options, ("id", "features", "source", "target", "weight", "graph", "directed"), "a file of molecules")
    if options.task == "link":
        raise UsageError(f"{path}: --task link is for the edges of one graph; a file of molecules has none to predict")
    if options.level == "node":
        raise DataError(f"{path}: a file of molecules has labels for graphs, not for nodes; leave out --level node")
    table = read_table(path)
    sheet = assign_known(table, FILE, schema) if schema else _assign(table, options)
    smiles = sheet.field("smiles")
    smiles.complete("the SMILES")
    labels = read_labels(sheet.fields("label"), options.task, len(table.frame), schema)
    given = [read_parts(field) for field in sheet.fields("split")]
    where = f"{path}, column {''.join(sheet.names('split'))}"
    times = next((read_times(field) for field in sheet.fields("time")), None)
    splits, notes = read_splits(
        labels, given, where, options, schema, scaffolds=lambda: _scaffolds(smiles, workers), times=times
    )
    info = labels.info(path.name.split(".")[0], "graph", options, schema)
    info = replace(info, categories=ATOM_CATEGORIES, edge_categories=BOND_CATEGORIES)
    dataset = collect(info, _graphs(smiles, labels.y, workers), splits)
    return dataset, schema or labels.schema("molecules", info, False, sheet.described(FILE), notes)


def _assign(table: Table, options: OwnOptions) -> Sheet:
    """Give columns their roles; what is left is a label if it holds numbers and none is named, else ignored."""
    if not len(table.frame):
        raise DataError(f"{table.path}, line 2: there are no molecules; write a line for each")
    check_flags([table], options)
    sheet = assign(table, ("smiles", "id", "label", "split", "time"), options)
    sheet.field("smiles")
    named = bool(sheet.names("label"))
    roles: dict[str, Role] = {}
    for name, role in sheet.roles.items():
        free = role == "feature"
        roles[name] = role if not free else "label" if not named and table.field(name).kind == "number" else "ignored"
    if "label" not in roles.values():
        listed = ", ".join(roles)
        raise DataError(
            f"{table.path}, line 1: no column of numbers to predict among {listed}; name it with --label COLUMN"
        )
    return Sheet(sheet.table, roles)


def _graphs(smiles: Field, y: Tensor, workers: int | None) -> Iterator[dict[str, Tensor]]:
    from geco.data.molecules import graphs_from_smiles

    with _rows_named(smiles):
        for row, graph in enumerate(graphs_from_smiles(smiles.texts().tolist(), workers)):
            yield {name: torch.from_numpy(value) for name, value in graph.items()} | {"y": y[row : row + 1]}


def _scaffolds(smiles: Field, workers: int | None) -> list[str]:
    texts = smiles.texts().tolist()
    tasks = [(start, texts[start : start + BLOCK]) for start in range(0, len(texts), BLOCK)]
    results = in_order(_scaffold_block, tasks, (workers or processors()) if len(tasks) > 1 else 0)
    with _rows_named(smiles):
        return [one for block in progress(results, "scaffolds", len(tasks), f"x {BLOCK}") for one in block]


def _scaffold_block(start: int, texts: list[str]) -> list[str]:
    from geco.data.molecules import scaffold

    found = []
    for row, text in enumerate(texts, start + 1):
        try:
            found.append(scaffold(text))
        except DataError as error:
            raise DataError(f"row {row}: {error}") from None
    return found


@contextlib.contextmanager
def _rows_named(smiles: Field) -> Iterator[None]:
    """Name the file, line and column of a molecule that cannot be read, in place of its row."""
    try:
        yield
    except DataError as error:
        found = re.match(r"row (\d+): (.*)", str(error), re.DOTALL)  # counted from 1
        if found is None:
            raise
        raise DataError(f"{smiles.where(int(found[1]) - 1)}: {found[2]}; correct or remove the line") from None
