"""OGB's layout of one graph (ogbn-arxiv): ``raw/*.csv.gz`` without headings, ``split/time/{train,valid,test}.csv.gz``.

Edges are directed, as in the file; papers' years are in the node array ``year``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch import Tensor

from geco.data.dataset import GraphDataset, Split
from geco.data.registry.spec import Spec
from geco.data.sources._many_graphs import read_counts, read_rows, read_split
from geco.data.sources._one_graph import dense, pairs, single, tensor
from geco.errors import DataError

__all__ = ["known_of_nodes", "read"]


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return the data set of a folder in this layout."""
    raw = folder / "raw"
    counts, edges = read_counts(raw)
    if len(counts) != 1:
        raise DataError(f"{raw / 'num-node-list.csv.gz'} lists {len(counts)} graphs, {spec.name} is one graph")
    nodes = int(counts[0])
    graph, split = known_of_nodes(folder, nodes)
    path = raw / "edge.csv.gz"
    graph["edge_index"] = pairs(read_rows(path, int(edges[0]), 2, np.int64), path)
    path = raw / "node-feat.csv.gz"
    graph["x"] = tensor(dense(read_rows(path, nodes, dtype=np.float32), path), np.float32)
    return single(spec, folder, graph, [split])


def known_of_nodes(folder: Path, nodes: int) -> tuple[dict[str, Tensor], Split]:
    """Return the nodes' classes and years, and the split by time."""
    files = {"y": "node-label.csv.gz", "year": "node_year.csv.gz"}
    found = {name: read_rows(folder / "raw" / file, nodes, 1, np.int64)[:, 0] for name, file in files.items()}
    return {name: tensor(array, np.int64) for name, array in found.items()}, read_split(
        folder / "split" / "time", nodes
    )
