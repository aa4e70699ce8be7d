"""The layout of the five heterophilous graphs: one ``.npz`` with features, labels, edges and the masks of ten splits.

The file has each edge once; both directions are returned. Two classes are one label, 0 or 1, as their score is AUROC.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.utils import to_undirected

from geco.data.dataset import GraphDataset
from geco.data.registry.spec import Spec
from geco.data.sources._many_graphs import known
from geco.data.sources._one_graph import dense, pairs, read_arrays, rows, single, split_of, tensor
from geco.errors import DataError

__all__ = ["read"]

MASKS = ("train_masks", "val_masks", "test_masks")


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return the data set of a folder in this layout."""
    path = folder / spec.layouts[0].files[0]
    found = read_arrays(path, "node_features", "node_labels", "edges", *MASKS)
    x = dense(found["node_features"], path)
    y = rows(found["node_labels"], len(x), path)
    if any(found[name].ndim != 2 or found[name].shape != (len(found[MASKS[0]]), len(x)) for name in MASKS):
        raise DataError(
            f"{path}: {', '.join(MASKS)} should have a row for each split and a column for each of {len(x)} nodes"
        )
    graph = {
        "x": tensor(x, np.float32),
        "edge_index": to_undirected(pairs(found["edges"], path), num_nodes=len(x)),
        "y": tensor(y, np.int64) if spec.target == "class" else torch.from_numpy(known(y.reshape(-1, 1), path)),
    }
    return single(
        spec, folder, graph, [split_of(*masks) for masks in zip(*(found[name] for name in MASKS), strict=True)]
    )
