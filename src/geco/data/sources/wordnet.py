"""WordNet 3.0 as one graph, ``wordnet30.npz``: synsets, their relations (each once), words of the gloss, lexicographer
files.

The file's node order follows the classes. ``split`` is 0, 1 or 2 for training, validation and test.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch_geometric.utils import to_undirected

from geco.data.dataset import GraphDataset
from geco.data.registry.spec import Spec
from geco.data.sources._one_graph import csr, dense, pairs, read_arrays, rows, single, split_of, tensor

__all__ = ["read"]


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return the data set of a folder in this layout."""
    path = folder / "wordnet30.npz"
    found = read_arrays(path, "edges", "labels", "feat_indptr", "feat_indices", "feat_shape", "split")
    x = dense(csr(path, found["feat_indptr"], found["feat_indices"], found["feat_shape"]), path)
    part = rows(found["split"], len(x), path)
    graph = {
        "x": tensor(x, np.float32),
        "edge_index": to_undirected(pairs(found["edges"], path), num_nodes=len(x)),
        "y": tensor(rows(found["labels"], len(x), path), np.int64),
    }
    return single(spec, folder, graph, [split_of(part == 0, part == 1, part == 2)])
