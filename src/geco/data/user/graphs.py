"""A user's graphs from a folder: ``nodes.csv``, ``edges.csv`` and, where graphs have labels, ``graphs.csv``.

Each table may also be Parquet or gzipped CSV. A ``graph`` column in nodes.csv puts many graphs into the same files.
Node ids are text or whole numbers, each once in its graph.

Shapes: N nodes, M edges, B graphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from geco.data.collate import ONE_KIND, collect
from geco.data.dataset import GraphDataset, Level, Split
from geco.data.user.columns import Sheet, assign, assign_known, check_flags
from geco.data.user.doubts import doubts
from geco.data.user.edges import cut, edge_values, read_ends, read_owners, spread
from geco.data.user.features import features
from geco.data.user.ids import connect
from geco.data.user.labels import Labels, read_labels, read_parts, read_splits
from geco.data.user.links import pair_sheet, read_links, single
from geco.data.user.partition import read_times
from geco.data.user.problems import Problems
from geco.data.user.schema import Column, OwnOptions, Role, Schema, refuse
from geco.data.user.tables import SUFFIXES, Field, Table, read_table
from geco.errors import DataError

__all__ = ["all_names", "read_graphs", "read_pairs"]

NAMES = ("nodes", "edges", "graphs")


@dataclass(frozen=True)
class _Sheets:
    """The tables of a folder, and whether nodes or graphs have labels, or links are asked for."""

    nodes: Sheet
    edges: Sheet
    graphs: Sheet | None
    level: Level

    @property
    def labelled(self) -> Sheet:
        return self.graphs if self.level == "graph" and self.graphs is not None else self.nodes

    @property
    def split(self) -> Sheet:
        """The table that says which part of the split nodes or graphs are in, if any does."""
        return self.graphs if self.graphs is not None and self.graphs.names("split") else self.nodes

    @property
    def written(self) -> list[str]:
        """Notes on how the files are written."""
        tables = [sheet.table for sheet in (self.nodes, self.edges, self.graphs) if sheet is not None]
        return [f"{table.path.name}: {table.dialect.words}" for table in tables if table.dialect.words]


@dataclass(frozen=True)
class _Contents:
    """What stands in the tables, read without a problem.

    Args:
        owner: the graph of each node ``(N,)``.
        ends: of the edges, as rows of nodes.csv ``(2, M)``.
        x: features of the nodes ``(N, F)``, F may be 0.
        edge: features and weights of the edges.
        columns: what was done to the columns of nodes and edges.
        labels: of nodes or graphs.
        splits: of nodes or graphs.
        notes: about labels and splits.
    """

    owner: np.ndarray
    ends: np.ndarray
    x: np.ndarray
    edge: dict[str, Tensor]
    columns: list[Column]
    labels: Labels
    splits: list[Split]
    notes: list[str]


def read_graphs(folder: Path, options: OwnOptions, schema: Schema | None = None) -> tuple[GraphDataset, Schema]:
    """Read a folder of tables.

    Args:
        folder: with nodes and edges, and graphs if they have labels.
        options: flags.
        schema: how files of this form were read before; labels may be absent then.
    """
    refuse(options, ("smiles",), "a folder of tables")
    sheets = _sheets_known(folder, schema) if schema else _sheets(folder, options)
    if sheets.level == "link":
        _, ends = _linked(sheets)
        return read_links(folder, sheets.nodes, sheets.edges, ends, options, schema)
    found = _contents(sheets, options, schema)
    info = found.labels.info(folder.resolve().name, sheets.level, options, schema)
    edge, edge_notes = _edge_arrays(found.ends, found.owner, found.edge, info.directed)
    graph = {"y": found.labels.y} if sheets.level == "graph" else {}
    dataset = collect(info, cut(np.bincount(found.owner), _node_arrays(sheets, found), edge, graph), found.splits)
    if schema is None:
        blank = [] if found.x.shape[1] else ["nodes have no feature columns: each gets a single feature, 1"]
        columns = found.columns + (sheets.graphs.described("graphs") if sheets.graphs else [])
        told = sheets.nodes.fields("feature") if sheets.level == "node" else []
        notes = [*sheets.written, *edge_notes, *blank, *found.notes, *doubts(found.labels, told)]
        schema = found.labels.schema("tables", info, options.directed, columns, notes)
    return dataset, schema


def read_pairs(folder: Path, path: Path, schema: Schema) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Return pairs of nodes of a folder of tables, as rows ``(2, L)`` and as ids, from a table of sources and targets.

    Args:
        folder: with the nodes.
        path: of the table of pairs, whose columns are called as those of edges.csv.
        schema: of the data set.
    """
    nodes = _sheets_known(folder, schema).nodes
    pairs = pair_sheet(read_table(path), schema)
    owner, names = read_owners(nodes, None)
    ends = read_ends(nodes, pairs, owner, names)
    return ends, list(zip(*(pairs.field(role).texts() for role in ("source", "target")), strict=True))


def all_names(folder: Path, schema: Schema) -> tuple[list[str], list[str]]:
    """Return the ids of the nodes, graph after graph, and the names of the graphs."""
    sheets = _sheets_known(folder, schema)
    owner, names = read_owners(sheets.nodes, sheets.graphs)
    nodes = sheets.nodes.table.frame[sheets.nodes.names("id")[0]] if sheets.nodes.names("id") else range(len(owner))
    values = [str(value) for value in nodes]
    return [values[row] for row in np.argsort(owner, kind="stable")], [str(name) for name in names]


def _sheets(folder: Path, options: OwnOptions) -> _Sheets:
    nodes, edges, graphs = _tables(folder)
    if nodes is None or edges is None:
        listed = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        listed += f". {ONE_KIND}" if listed.count(SUFFIXES[0]) > 2 else ""  # users.csv, items.csv, bought.csv
        raise DataError(
            f"{folder} lacks {'nodes' if nodes is None else 'edges'}.csv (or .csv.gz, .parquet); it holds {listed}"
        )
    if not len(nodes.frame):
        raise DataError(f"{nodes.path}, line 2: there are no nodes; write a line for each node")
    problems = Problems()
    problems.attempt(check_flags, [table for table in (nodes, edges, graphs) if table is not None], options)
    by_graph = problems.attempt(_graph_sheet, graphs, options) if graphs else None
    level: Level = options.level or ("graph" if by_graph and by_graph.names("label") else "node")
    of_nodes: tuple[Role, ...] = ("id", "graph", "split", "time", *(("label",) if level == "node" else ()))
    of_edges: tuple[Role, ...] = ("source", "target", "weight", "graph")
    if options.task == "link":
        level, of_nodes = "link", ("id", "graph", "split", "label")
        of_edges = ("source", "target", "weight", "split", "time")
    one, other = problems.attempt(assign, nodes, of_nodes, options), problems.attempt(assign, edges, of_edges, options)
    problems.stop()
    assert one
    assert other
    if level == "link":
        single(one)
    if level == "graph" and by_graph is None:
        raise DataError(f"{folder} lacks graphs.csv with a label for each graph, as --level graph asks for")
    return _Sheets(*connect(one, other, search=options.id is None), None if level == "link" else by_graph, level)


def _graph_sheet(table: Table, options: OwnOptions) -> Sheet:
    """Give the columns of graphs.csv their roles; ``id`` names the graph if no other column does, and there are no
    features.
    """
    sheet = assign(table, ("graph", "id", "label", "split", "time"), options)
    new: dict[Role, Role] = {"feature": "ignored", "id": "ignored" if sheet.names("graph") else "graph"}
    if options.level == "node":
        new["label"] = "ignored"
    return Sheet(sheet.table, {name: new.get(role, role) for name, role in sheet.roles.items()})


def _sheets_known(folder: Path, schema: Schema) -> _Sheets:
    found, problems = {}, Problems()
    for name, table in zip(NAMES, _tables(folder), strict=True):
        wanted = any(column.file == name for column in schema.columns)
        if table is None and wanted:
            raise DataError(f"{folder} lacks {name}.csv (or .csv.gz, .parquet), which the data set was made with")
        found[name] = problems.attempt(assign_known, table, name, schema) if table is not None and wanted else None
    problems.stop()
    nodes, edges = found["nodes"], found["edges"]
    assert nodes
    assert edges
    return _Sheets(nodes, edges, found["graphs"], schema.level)


def _tables(folder: Path) -> list[Table | None]:
    """Return the tables of nodes, edges and graphs, those that are there."""
    problems = Problems()
    found = [problems.attempt(_table, folder, name) for name in NAMES]
    problems.stop()
    return found


def _table(folder: Path, name: str) -> Table | None:
    found = [folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").exists()]
    if len(found) > 1:
        raise DataError(f"{folder} holds both {found[0].name} and {found[1].name}; remove one")
    return read_table(found[0]) if found else None


def _contents(sheets: _Sheets, options: OwnOptions, schema: Schema | None) -> _Contents:
    """Read every column, and report what is wrong in any of them at once."""
    problems, asked = Problems(), options.features
    linked = problems.attempt(_linked, sheets)
    nodes = problems.attempt(features, sheets.nodes, "nodes", schema, asked)
    edges = problems.attempt(edge_values, sheets.edges, schema, asked)
    labels = problems.attempt(_labels, sheets, options, schema)
    parted = problems.attempt(_splits, sheets, linked[0], labels, options, schema) if linked and labels else None
    if linked is None or labels is None:
        for field in sheets.split.fields("split"):
            problems.attempt(read_parts, field)
    problems.stop()
    assert linked
    assert nodes
    assert edges
    assert labels
    assert parted
    columns = [*sheets.nodes.described("nodes", nodes[1]), *edges[1]]
    return _Contents(*linked, nodes[0], edges[0], columns, labels, *parted)


def _linked(sheets: _Sheets) -> tuple[np.ndarray, np.ndarray]:
    """Return the graph of each node ``(N,)`` and the ends of each edge ``(2, M)``."""
    owner, names = read_owners(sheets.nodes, sheets.graphs)
    return owner, read_ends(sheets.nodes, sheets.edges, owner, names)


def _labels(sheets: _Sheets, options: OwnOptions, schema: Schema | None) -> Labels:
    if schema is None:
        sheets.labelled.field("label")  # there must be one
    fields = sheets.labelled.fields("label")
    return read_labels(fields, options.task, len(sheets.labelled.table.frame), schema)


def _node_arrays(sheets: _Sheets, found: _Contents) -> dict[str, Tensor]:
    """Return x and y of the nodes, graph after graph."""
    owner, x, labels = found.owner, found.x, found.labels
    arrays = {"x": torch.from_numpy(x if x.shape[1] else np.ones((len(x), 1), np.float32))}
    if sheets.level == "node":
        arrays["y"] = labels.y
    if not owner.any():  # one graph: nothing to sort, and no copy
        return arrays
    order = torch.from_numpy(np.argsort(owner, kind="stable"))
    return {name: array[order] for name, array in arrays.items()}


def _edge_arrays(
    ends: np.ndarray, owner: np.ndarray, values: dict[str, Tensor], directed: bool
) -> tuple[dict[str, Tensor], list[str]]:
    """Return the arrays of the edges with nodes counted graph after graph, and notes on them."""
    if owner.any():
        ends = np.argsort(np.argsort(owner, kind="stable"), kind="stable")[ends]
    ends, rows, edge_notes = spread(ends, len(owner), directed)
    arrays = {name: value[torch.from_numpy(rows)] for name, value in values.items()}
    return {"edge_index": torch.from_numpy(ends)} | arrays, edge_notes


def _splits(
    sheets: _Sheets, owner: np.ndarray, labels: Labels, options: OwnOptions, schema: Schema | None
) -> tuple[list[Split], list[str]]:
    """Return the split, over the nodes of one graph or over many graphs, and notes on it."""
    many = int(owner.max()) > 0 or sheets.level == "graph"
    role: Role = "time" if options.time else "split"
    sheet = sheets.graphs if many and sheets.graphs and sheets.graphs.names(role) else sheets.nodes
    known = None
    if many and sheets.level == "node":
        known = np.bincount(owner, labels.known) > 0  # a graph counts if any of its nodes has a label
    given = [
        _of_graphs(field, owner, role) if many and sheet is sheets.nodes else _of_rows(field, role)
        for field in sheet.fields(role)
    ]
    where = f"{sheet.table.path}, column {''.join(sheet.names(role))}"
    flag = options.time or options.split
    if flag and not given:
        raise DataError(f"{sheet.table.path}: no column {flag!r}, by which to split")
    times = given.pop() if role == "time" else None
    return read_splits(labels, given, where, options, schema, known, times=times)


def _of_rows(field: Field, role: Role) -> np.ndarray:
    return read_times(field) if role == "time" else read_parts(field)


def _of_graphs(field: Field, owner: np.ndarray, role: Role) -> np.ndarray:
    """Return the part or the time of each graph, from those of its nodes, which must be the same."""
    parts = _of_rows(field, role)
    first = parts[np.unique(owner, return_index=True)[1]]
    if (parts != first[owner]).any():
        raise field.fail(parts != first[owner], "{} differs from other nodes of its graph; graphs are split as a whole")
    return first
