"""Node ids of a user's tables to node numbers, edges both ways, many graphs cut apart: all by arrays, for millions of
edges.

Shapes: N nodes, M edges, B graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from geco.console import progress
from geco.data.user.columns import Sheet
from geco.data.user.features import features, weights
from geco.data.user.ids import plain
from geco.data.user.problems import Problems
from geco.data.user.schema import Column, Role, Schema
from geco.data.user.tables import Field
from geco.errors import DataError

__all__ = ["both_ways", "cut", "edge_values", "read_ends", "read_owners", "spread"]

ENDS: tuple[Role, ...] = ("source", "target")


def read_owners(nodes: Sheet, graphs: Sheet | None) -> tuple[np.ndarray, pd.Index]:
    """Return the number of each node's graph ``(N,)`` and the names of the graphs, in the order of graphs.csv or
    nodes.csv.

    Args:
        nodes: with a graph column if there are many graphs.
        graphs: the table of graphs, if there is one.
    """
    if graphs is None and not nodes.names("graph"):
        return np.zeros(len(nodes.table.frame), np.int64), pd.Index([""])
    field = nodes.field("graph")
    field.complete("the graph")
    texts = field.texts()
    if graphs is None:
        owner, names = pd.factorize(texts)
        return owner.astype(np.int64), pd.Index(names)
    names = pd.Index(_unique(graphs.field("graph"), "graph"))
    owner = names.get_indexer(texts)
    if (owner < 0).any():
        raise field.fail(owner < 0, f"{{}} is not a graph of {graphs.table.path.name}")
    empty = np.bincount(owner, minlength=len(names)) == 0
    if empty.any():
        raise graphs.field("graph").fail(empty, f"graph {{}} has no nodes in {nodes.table.path.name}; leave it out")
    return owner.astype(np.int64), names


def read_ends(nodes: Sheet, edges: Sheet, owner: np.ndarray, graphs: pd.Index) -> np.ndarray:
    """Return the nodes at both ends of each edge as rows of nodes.csv, ``(2, M)``.

    Args:
        nodes: with an id column; ids are unique within a graph.
        edges: with source and target, and a graph column where ids of different graphs are alike.
        owner: the graph of each node ``(N,)``.
        graphs: names of the graphs.
    """
    problems = Problems()
    field = nodes.field("id")
    problems.attempt(field.complete, "the id")
    codes, ids = pd.factorize(field.texts())
    keys = np.where(field.missing, -1 - np.arange(len(codes)), owner * len(ids) + codes)  # one for each graph and id
    twice = pd.Series(keys).duplicated().to_numpy()
    if twice.any():
        within = " within a graph" if len(graphs) > 1 else ""
        problems.add(field.fail(twice, f"node {{}} was there before; ids must differ{within}"))
    sides = [side for role in ENDS if (side := problems.attempt(edges.field, role)) is not None]
    apart = bool(edges.names("graph")) or len(graphs) == 1  # whether the graph of an edge is known
    if not apart and not problems.found and len(ids) < len(codes):
        raise DataError(
            f"{edges.table.path}, line 1: node ids repeat among graphs; a column for the graph of each edge is wanted"
        )
    start = _graphs_of(edges, graphs) * len(ids) if apart else np.int64(0)
    places = pd.Index((keys if apart else codes)[~twice]) if len(graphs) > 1 else None
    found = [
        problems.attempt(_find, side, ids, start, places, nodes)
        for side in progress(sides, "ends of edges", unit="column")
    ]
    problems.stop()
    ends = np.stack([rows for rows in found if rows is not None])
    across = owner[ends[0]] != owner[ends[1]]
    if across.any():
        raise sides[1].fail(across, "node {} is of another graph than the edge's source")
    return ends


def both_ways(ends: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return edges that run both ways, each once, in order of source and target; which row each is; how many were
    repeats.

    A reverse edge that is given keeps its own row; one that is not takes the row of the edge it reverses.

    Args:
        ends: ``(2, M)``.
        nodes: N.

    Example:
        >>> both_ways(np.array([[0, 0, 2], [1, 1, 2]]), 3)
        (array([[0, 1, 2], [1, 0, 2]]), array([0, 0, 2]), 1)
    """
    there, back = ends[0] * nodes + ends[1], ends[1] * nodes + ends[0]
    keys, first = np.unique(np.concatenate([there, back]), return_index=True)
    repeats = len(there) - int(np.count_nonzero(first < len(there)))
    return np.stack([keys // nodes, keys % nodes]), first % max(1, len(there)), repeats


def spread(ends: np.ndarray, nodes: int, directed: bool) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return edges as the flag says, which row each is, and notes on it; see `both_ways`."""
    if directed:
        return ends, np.arange(ends.shape[1]), ["edges: directed, as in the file"]
    ends, rows, repeats = both_ways(ends, nodes)
    dropped = f"; {repeats:,} repeated edges count once, as first written" if repeats else ""
    return ends, rows, [f"edges: made to run both ways (--directed keeps them as they are){dropped}"]


def edge_values(
    edges: Sheet, schema: Schema | None, asked: Sequence[str] = ()
) -> tuple[dict[str, Tensor], list[Column]]:
    """Return ``edge_attr`` and ``edge_weight`` as in the file, where it has them, and what is known of the columns.

    Args:
        edges: the table.
        schema: how such a table was read before.
        asked: columns that a flag names, see `features`.
    """
    problems, arrays = Problems(), {}
    made = problems.attempt(features, edges, "edges", schema, asked)
    known = {column.name: column for column in schema.select("edges", "weight")} if schema else {}
    weighed = [problems.attempt(weights, field, known.get(field.name)) for field in edges.fields("weight")]
    problems.stop()
    assert made
    if made[0].shape[1]:
        arrays["edge_attr"] = torch.from_numpy(made[0])
    for values, _ in filter(None, weighed):
        arrays["edge_weight"] = torch.from_numpy(values)
    return arrays, edges.described("edges", [*made[1], *(column for _, column in filter(None, weighed))])


def cut(
    sizes: np.ndarray, node: Mapping[str, Tensor], edge: Mapping[str, Tensor], graph: Mapping[str, Tensor]
) -> Iterator[dict[str, Tensor]]:
    """Yield each graph of arrays that hold many after one another.

    Args:
        sizes: nodes of each graph ``(B,)``.
        node: arrays of N rows.
        edge: arrays of M rows, and ``edge_index`` ``(2, M)`` with numbers counted through.
        graph: arrays of B rows.
    """
    start = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)[edge["edge_index"][0].numpy()]
    order = torch.from_numpy(np.argsort(owner, kind="stable"))
    counts = np.bincount(owner, minlength=len(sizes)).tolist()
    index = edge["edge_index"][:, order].split(counts, 1)
    edges = {name: value[order].split(counts) for name, value in edge.items() if name != "edge_index"}
    nodes = {name: value.split(sizes.tolist()) for name, value in node.items()}
    for i in range(len(sizes)):
        rows = {name: parts[i] for name, parts in (nodes | edges).items()} | {
            name: value[i : i + 1] for name, value in graph.items()
        }
        yield rows | {"edge_index": index[i] - int(start[i])}


def _unique(field: Field, what: str) -> pd.Series:
    field.complete(f"the {what}")
    texts = field.texts()
    if texts.duplicated().any():
        raise field.fail(texts.duplicated().to_numpy(), f"{what} {{}} was there before; each must be there once")
    return texts


def _graphs_of(edges: Sheet, graphs: pd.Index) -> np.ndarray | np.int64:
    """Return the number of each edge's graph, or 0 for all."""
    if not edges.names("graph") or (len(graphs) == 1 and graphs[0] == ""):
        return np.int64(0)
    field = edges.field("graph")
    field.complete("the graph")
    found: np.ndarray = graphs.get_indexer(field.texts())
    if (found < 0).any():
        raise field.fail(found < 0, "graph {} has no nodes")
    return found.astype(np.int64)


def _find(field: Field, ids: pd.Index, start: np.ndarray | np.int64, keys: pd.Index | None, nodes: Sheet) -> np.ndarray:
    """Return the row of the node that each cell names; without keys ids are numbered as the rows."""
    field.complete("the node")
    codes, texts = pd.factorize(field.texts())  # each text is looked up once
    numbers = ids.get_indexer(texts)
    if (numbers < 0).any():  # 7 in one file and 7.0 in the other
        same = plain(pd.Series(ids, dtype="string"))
        others = pd.Index(same).get_indexer(plain(pd.Series(texts))) if same.is_unique else -1
        numbers = np.where(numbers < 0, others, numbers)
    found: np.ndarray = numbers[codes]
    if keys is not None:
        found = np.where(found < 0, -1, keys.get_indexer(start + found))
    if (found < 0).any():
        like = f", whose ids look like {str(ids[0])!r}" if len(ids) else ""
        raise field.fail(found < 0, f"{{}} is not a node of {nodes.table.path.name}{like}")
    return found.astype(np.int64)
