"""ogbg-code2 as OGB's archive holds it: syntax trees of Python functions, whose name is to be found.

Prepared as OGB's own example and GraphGPS do: a graph is cut off after 1,000 nodes, a node's depth counts up to 20
and is the third column of x, edges run along the tree and from token to token and back, and the target is five places
of a vocabulary of 5,000 words of the training part. ``graph/y_words`` holds the whole names, because the score counts
words outside the vocabulary as missed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geco.data.code_graphs import encode, tree_edges, vocabulary
from geco.data.dataset import GraphDataset
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_csv
from geco.data.sources._many_graphs import from_columns, info_of, read_counts, read_rows, read_split
from geco.errors import DataError

__all__ = ["read"]

NODES = 1_000  # of a graph at most
DEPTH = 20
WORDS = 5_000
CATEGORIES = (98, 10_030, DEPTH + 1)  # types, attributes, depths


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return ogbg-code2.

    Args:
        folder: with ``raw`` and ``split/project``.
        spec: of the data set.
    """
    raw = folder / "raw"
    nodes, edges = read_counts(raw)
    split = read_split(folder / "split" / "project", len(nodes))
    names = _names(raw / "graph-label.csv.gz", len(nodes))
    words = vocabulary((names[i] for i in split.train.tolist()), WORDS)
    keep = _place(nodes) < NODES
    x, tokens = _nodes(raw, nodes, keep)
    owner, tree = _tree(raw / "edge.csv.gz", edges)
    nodes = nodes.clip(max=NODES)
    edge_index, edge_attr, edges = tree_edges(nodes, owner, tree, tokens)
    y, whole = encode(names, words, spec.num_targets)
    columns = {
        "node/x": x,
        "edge/edge_index": edge_index,
        "edge/edge_attr": edge_attr,
        "graph/y": y,
        "graph/y_words": whole,
    }
    return from_columns(info_of(spec, CATEGORIES, (2, 2), words), nodes, edges, columns, split)


def _place(nodes: np.ndarray) -> np.ndarray:
    """Return the number of each node within its graph."""
    start = (nodes.cumsum() - nodes).astype(np.int32)
    place: np.ndarray = np.arange(nodes.sum(), dtype=np.int32) - start.repeat(nodes)
    return place


def _nodes(raw: Path, nodes: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x ``(N, 3)`` of the kept nodes, and those of them with an attribute in the order of the text."""
    rows = len(keep)
    kinds = read_rows(raw / "node-feat.csv.gz", rows, 2, np.int32)[keep]
    depth = read_rows(raw / "node_depth.csv.gz", rows, 1, np.int32)[keep]
    attributed = read_rows(raw / "node_is_attributed.csv.gz", rows, 1, np.int8)[keep, 0]
    order = read_rows(raw / "node_dfs_order.csv.gz", rows, 1, np.int32)[keep, 0]
    tokens = np.flatnonzero(attributed)
    graph = np.repeat(np.arange(len(nodes), dtype=np.int32), nodes.clip(max=NODES))
    return np.hstack([kinds, depth.clip(max=DEPTH)]), tokens[np.lexsort((order[tokens], graph[tokens]))]


def _tree(path: Path, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the graph and the ends of the edges between kept nodes."""
    ends = read_rows(path, int(edges.sum()), 2, np.int32)
    keep = (ends < NODES).all(1)
    return np.repeat(np.arange(len(edges), dtype=np.int32), edges)[keep], ends[keep]


def _names(path: Path, graphs: int) -> list[list[str]]:
    """Return the sub-tokens of each function's name, which a space separates."""
    cells = read_csv(path, header=None, dtype=str, columns=[0])[0].tolist()
    if len(cells) != graphs:
        raise DataError(f"{path} has {len(cells):,} names, there are {graphs:,} graphs")
    return [str(cell).split(" ") for cell in cells]
