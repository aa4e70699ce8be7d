"""The layout of the gnn-benchmark collection (Amazon, Coauthor): one ``.npz`` with adjacency and features as CSR, and
labels.

As usual with these graphs, edges are made undirected, self loops and repeated edges left out, and a word counts as
present or absent. There is no public split: ``split.npz`` (arrays ``train``, ``valid``, ``test`` of node numbers)
beside the graph is taken, else 60/20/20 % of each class from seed 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch import Tensor
from torch_geometric.utils import remove_self_loops, to_undirected

from geco.data.dataset import GraphDataset, Split
from geco.data.registry.spec import Layout, Spec
from geco.data.sources._one_graph import csr, csr_edges, dense, read_arrays, rows, single, tensor
from geco.data.splits import stratified_split
from geco.errors import DataError

__all__ = ["read"]

MATRIX = ("indptr", "indices", "shape", "data")


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return the data set of a folder in this layout."""
    layout = _layout(folder, spec)
    path = folder / layout.files[0]
    found = read_arrays(path, *(f"{kind}_{name}" for kind in ("adj", "attr") for name in MATRIX), "labels")
    adjacency, features = (csr(path, *(found[f"{kind}_{name}"] for name in MATRIX)) for kind in ("adj", "attr"))
    nodes = adjacency.shape[0]
    x = rows(dense(features, path), nodes, path)
    np.copyto(x, 1, where=x > 0)
    y = tensor(rows(found["labels"], nodes, path), np.int64)
    ends, _ = remove_self_loops(csr_edges(adjacency, path).long())
    graph = {"x": tensor(x, np.float32), "edge_index": to_undirected(ends, num_nodes=nodes), "y": y}
    return single(spec, folder, graph, [_split(folder, layout, y)])


def _layout(folder: Path, spec: Spec) -> Layout:
    for layout in spec.layouts:
        if all((folder / file).is_file() for file in layout.files):
            return layout
    raise DataError(f"{folder} has neither of {' or '.join(layout.files[0] for layout in spec.layouts)}")


def _split(folder: Path, layout: Layout, y: Tensor) -> Split:
    if "split.npz" not in layout.files:
        return stratified_split(y, (0.6, 0.2, 0.2), seed=0)
    found = read_arrays(folder / "split.npz", "train", "valid", "test")
    return Split(*(tensor(found[part], np.int64) for part in ("train", "valid", "test")))
