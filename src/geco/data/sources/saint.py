"""GraphSAINT's layout (Flickr, Yelp): ``adj_full.npz``, ``feats.npy``, ``class_map.json``, ``role.json``.

The file's edges are kept as they are. Yelp's labels are 0 or 1 for each of 100 kinds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geco.data.dataset import GraphDataset, Split
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_json, read_npy
from geco.data.sources._many_graphs import known
from geco.data.sources._one_graph import csr, csr_edges, dense, read_arrays, rows, single, tensor
from geco.errors import DataError

__all__ = ["adjacency", "labels", "read", "roles"]


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return the data set of a folder in this layout."""
    edge_index, nodes = adjacency(folder / "adj_full.npz")
    path = folder / "feats.npy"
    x = rows(dense(read_npy(path), path), nodes, path)
    graph = {"x": tensor(x, np.float32), "edge_index": edge_index, "y": labels(folder / "class_map.json", nodes, spec)}
    return single(spec, folder, graph, [roles(folder / "role.json")])


def adjacency(path: Path) -> tuple[Tensor, int]:
    """Return the edges ``(2, M)`` of a stored CSR matrix, and the number of nodes."""
    found = read_arrays(path, "indptr", "indices", "shape")
    matrix = csr(path, found["indptr"], found["indices"], found["shape"], np.ones(len(found["indices"]), bool))
    return csr_edges(matrix, path), matrix.shape[0]


def labels(path: Path, nodes: int, spec: Spec) -> Tensor:
    """Return classes ``(N,)`` or labels ``(N, num_targets)``; the file maps each node's number to its own."""
    found = read_json(path)
    if not isinstance(found, dict) or len(found) != nodes:
        raise DataError(f"{path} should map each of {nodes:,} nodes to its label")
    try:
        place = np.fromiter(map(int, found), np.int64, nodes)
        given = np.array(list(found.values()), np.int64 if spec.target == "class" else np.float32)
    except (TypeError, ValueError):
        raise DataError(f"{path} should map node numbers to classes, or to lists of equal length") from None
    if not np.array_equal(np.sort(place), np.arange(nodes)):
        raise DataError(f"{path} should name each node from 0 to {nodes - 1} once")
    ordered = np.empty_like(given)
    ordered[place] = given
    return torch.from_numpy(ordered if spec.target == "class" else known(ordered, path))


def roles(path: Path) -> Split:
    """Return the split of a ``role.json``."""
    found: Any = read_json(path)
    try:
        train, valid, test = (tensor(np.array(found[role], np.int64), np.int64) for role in ("tr", "va", "te"))
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path} should list the node numbers of 'tr', 'va' and 'te'") from None
    return Split(train, valid, test)
