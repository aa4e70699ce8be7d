"""GraphSAGE's Reddit as DGL publishes it: ``reddit_data.npz`` (features, labels, parts), ``reddit_graph.npz`` (a COO
matrix).

Edges are sorted by source, then by target, repeated ones once. There are 115 million, so they stay in 32-bit numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from geco.data.dataset import GraphDataset
from geco.data.registry.spec import Spec
from geco.data.sources._one_graph import csr_edges, dense, read_arrays, rows, single, split_of, tensor
from geco.errors import DataError

__all__ = ["read"]


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return the data set of a folder in this layout."""
    path = folder / "reddit_graph.npz"
    matrix = _adjacency(path)
    edge_index = csr_edges(matrix, path)
    nodes = matrix.shape[0]
    del matrix
    path = folder / "reddit_data.npz"
    found = read_arrays(path, "feature", "label", "node_types")
    kind = rows(found["node_types"], nodes, path)
    graph = {
        "x": tensor(rows(dense(found["feature"], path), nodes, path), np.float32),
        "edge_index": edge_index,
        "y": tensor(rows(found["label"], nodes, path), np.int64),
    }
    return single(spec, folder, graph, [split_of(kind == 1, kind == 2, kind == 3)])


def _adjacency(path: Path) -> Any:
    """Return the stored COO matrix as CSR, whose rows are sorted and hold nothing twice."""
    found = read_arrays(path, "row", "col", "shape")
    try:
        ones = np.ones(len(found["row"]), bool)
        return sparse.coo_matrix((ones, (found["row"], found["col"])), [int(n) for n in found["shape"]]).tocsr()
    except (TypeError, ValueError, IndexError) as error:
        raise DataError(f"{path} does not hold a sparse matrix: {error}") from None
