"""A user's graph as links to predict: ``geco data import FOLDER --task link``.

The edges are the links; no label is needed. They are split at random, by a column of edges.csv that says train, valid
or test, or by one that holds a date or number (``--time``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info
from geco.data.links import link_dataset
from geco.data.nonlinks import DIRECTED, TWO_SIDED
from geco.data.user.columns import Sheet, assign
from geco.data.user.edges import edge_values, spread
from geco.data.user.features import features
from geco.data.user.labels import read_parts
from geco.data.user.partition import read_times
from geco.data.user.schema import Column, OwnOptions, Role, Schema, refuse
from geco.data.user.tables import Table
from geco.errors import DataError

__all__ = ["as_links", "as_messages", "link_schema", "pair_sheet", "read_links", "single"]

METRIC = "auroc"  # unless the user names another
REFUSED = ("label", "level", "graph", "split_kind", "folds")  # flags without a meaning for links
BLANK = (
    "nodes have no feature columns: each gets a single feature, 1; encodings of the training edges, such as "
    "--data.encodings rwse:16 lap-pe:16, tell them apart"
)
SAME = "directed links: a dot product cannot tell u to v from v to u; train with --model.head-layers 2 or more"


def read_links(
    folder: Path, nodes: Sheet, edges: Sheet, ends: np.ndarray, options: OwnOptions, schema: Schema | None
) -> tuple[GraphDataset, Schema]:
    """Return the graph of two tables as a data set of links; with a schema, as a graph whose edges all pass messages.

    Args:
        folder: with the tables.
        nodes: their columns with roles.
        edges: the same.
        ends: rows of the nodes at both ends of each edge, ``(2, M)``.
        options: flags.
        schema: how files of this form were read before.
    """
    nodes, left = _without_labels(nodes, options) if schema is None else (nodes, [])
    x, found = features(nodes, "nodes", schema, options.features)
    values, edge_columns = edge_values(edges, schema, options.features)
    if not x.shape[1]:
        x, left = np.ones((len(x), 1), np.float32), [*left, BLANK]
    graph = {"x": torch.from_numpy(x), "edge_index": torch.from_numpy(ends)} | values
    if schema is not None:
        return as_messages(graph, schema), schema
    dataset, notes = as_links(folder, graph, options, _edge_split(edges, options))
    columns = nodes.described("nodes", found) + edge_columns
    return dataset, link_schema("tables", dataset, options.directed, columns, [*left, *notes])


def single(nodes: Sheet) -> Sheet:
    """Return a table of nodes if they are of one graph."""
    if nodes.names("graph"):
        raise DataError(
            f"{nodes.table.path} is of many graphs (column {nodes.names('graph')[0]}), links are predicted in one; "
            "import each by itself, or leave the column out with --ignore if it is one graph"
        )
    return nodes


def as_links(
    path: Path, graph: Mapping[str, Tensor], options: OwnOptions, split: dict[str, np.ndarray] | None = None
) -> tuple[GraphDataset, list[str]]:
    """Return a graph as a data set of links to predict, and notes on it.

    Args:
        path: of the user's files, for the name.
        graph: x, ``edge_index`` as in the file, maybe ``edge_attr`` and ``edge_weight``.
        options: flags.
        split: ``parts`` or ``times`` of the edges, if the files say them.
    """
    refuse(options, REFUSED, "link prediction (--task link)")
    split = split or {}
    dataset = link_dataset(
        Data(**graph),
        path.resolve().name,
        directed=options.directed,
        fractions=options.fractions,
        seed=options.seed,
        metric=options.metric or METRIC,
        parts=split.get("parts"),
        times=split.get("times"),
    )
    return dataset, _notes(dataset, graph["edge_index"], options, split)


def as_messages(graph: Mapping[str, Tensor], schema: Schema) -> GraphDataset:
    """Return a new graph, all of whose edges pass messages, for the prediction of links."""
    ends, rows, _ = spread(graph["edge_index"].numpy(), len(graph["x"]), schema.directed)
    edges = {name: graph[name][torch.from_numpy(rows)] for name in ("edge_attr", "edge_weight") if name in graph}
    info = Info("new", "link", "labels", 1, schema.metric, names=schema.names)
    return collect(info, [{"x": graph["x"], "edge_index": torch.from_numpy(ends), **edges}])


def link_schema(
    form: Literal["tables", "arrays"], dataset: GraphDataset, directed: bool, columns: list[Column], notes: list[str]
) -> Schema:
    """Return what was understood of files whose links are predicted."""
    info, count = dataset.info, int(dataset.arrays["link/edge_label"].sum())
    return Schema(form, "link", info.target, info.metric, info.names, (count,), directed, tuple(columns), tuple(notes))


def pair_sheet(table: Table, schema: Schema) -> Sheet:
    """Return a table of pairs to score, whose columns are called as those of the edges in a schema, or as usual."""
    known: dict[str, Role] = {c.name: c.role for c in schema.columns if c.role in ("source", "target")}
    if schema.form == "tables" and set(known) <= set(table.frame.columns):
        roles: dict[str, Role] = {name: known.get(name, "ignored") for name in table.frame.columns}
    else:
        roles = assign(table, ("source", "target"), OwnOptions()).roles
    return Sheet(table.as_text([name for name, role in roles.items() if role in ("source", "target")]), roles)


def _edge_split(edges: Sheet, options: OwnOptions) -> dict[str, np.ndarray]:
    """Return the part or the time of each edge, where edges.csv has a column for it."""
    for field in edges.fields("time"):
        return {"times": read_times(field)}
    for field in edges.fields("split"):
        field.complete("the part of the split", ": every edge is for train, valid or test")
        return {"parts": read_parts(field)}
    if options.time or options.split:
        raise DataError(f"{edges.table.path}: no column {options.time or options.split!r}, by which to split the links")
    return {}


def _without_labels(nodes: Sheet, options: OwnOptions) -> tuple[Sheet, list[str]]:
    """Return a table of nodes whose labels are left out, unless ``--features`` names them, and notes on them."""
    roles: dict[str, Role] = {
        name: ("feature" if name in options.features else "ignored") if role in ("label", "split") else role
        for name, role in nodes.roles.items()
    }
    left = [name for name in nodes.names("label") if roles[name] == "ignored"]
    note = [f"labels of nodes ({', '.join(left)}) are left out; name them with --features to use them"] if left else []
    return replace(nodes, roles=roles), note


def _notes(dataset: GraphDataset, ends: Tensor, options: OwnOptions, split: Mapping[str, object]) -> list[str]:
    loops = int((ends[0] == ends[1]).sum())
    parts, label = dataset.split(), dataset.arrays["link/edge_label"]
    counts = [int(label[part].sum()) for part in (parts.train, parts.valid, parts.test)]
    how = "by time" if "times" in split else "as the files say" if split else f"random, made with seed {options.seed}"
    notes = [
        f"split of the links: {how}; {counts[0]:,} train, {counts[1]:,} valid, {counts[2]:,} test",
        "messages run along the training links only; pairs without a link: as many again in valid and test, fixed, and "
        "drawn for every epoch in training",
    ]
    if dataset.info.names == (TWO_SIDED,):
        notes.append("no node is both a source and a target: pairs without a link are of a source and a target, too")
    if dataset.info.names == (DIRECTED,):
        notes.append(SAME)
    return [*notes, f"{loops:,} self loops are left out"] if loops else notes
