"""Planetoid's layout (Cora, Citeseer, Pubmed): pickles ``ind.NAME.{x,tx,allx,y,ty,ally,graph}`` and
``ind.NAME.test.index``.

``allx`` holds the first nodes, ``tx`` the test nodes in the order of the index. Citeseer has nodes that the index
leaves out: they get zero features and class 0, and are in no part of the split. Features are as published, not
normalised; repeated edges and self loops are left out.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.utils import coalesce, remove_self_loops

from geco.data.dataset import GraphDataset, Split
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_csv, read_pickle
from geco.data.sources._one_graph import dense, rows, single, tensor
from geco.errors import DataError

__all__ = ["read"]

VALID = 500  # nodes of the public split's validation part, those after the training nodes


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return the data set of a folder in this layout."""
    start = folder / f"ind.{spec.name}"
    allx, tx, y, ally, ty = (_matrix(start, part) for part in ("allx", "tx", "y", "ally", "ty"))
    train = len(y)
    if train + VALID > len(allx):
        raise DataError(f"{_path(start, 'allx')} has {len(allx)} rows, the public split needs {train + VALID}")
    test = _test_index(_path(start, "test.index"), len(allx))
    nodes = int(test.max()) + 1
    for part, array, count in (("ally", ally, len(allx)), ("tx", tx, len(test)), ("ty", ty, len(test))):
        rows(array, count, _path(start, part))
    graph = {
        "x": _place(allx, tx, test, nodes, _path(start, "tx")),
        "edge_index": _edges(_path(start, "graph"), nodes),
        "y": _place(ally, ty, test, nodes, _path(start, "ty")).argmax(1),
    }
    split = Split(torch.arange(train), torch.arange(train, train + VALID), test)
    return single(spec, folder, graph, [split])


def _path(start: Path, part: str) -> Path:
    return start.with_name(f"{start.name}.{part}")


def _matrix(start: Path, part: str) -> np.ndarray:
    path = _path(start, part)
    return dense(read_pickle(path), path)


def _test_index(path: Path, first: int) -> Tensor:
    """Return the numbers of the test nodes, which come right after the ``first`` nodes of ``allx``."""
    found = read_csv(path).to_numpy()
    if found.ndim != 2 or found.shape[1] != 1 or found.dtype.kind not in "iu" or not len(found) or found.min() != first:
        raise DataError(f"{path} should list node numbers from {first} on, one a line")
    return tensor(found[:, 0], np.int64)


def _place(first: np.ndarray, rest: np.ndarray, test: Tensor, nodes: int, path: Path) -> Tensor:
    """Return the first rows, then the rest at the test nodes' places, zero where there is none."""
    if first.shape[1] != rest.shape[1]:
        raise DataError(f"{path} has {rest.shape[1]} columns, its companion of the other nodes {first.shape[1]}")
    whole = torch.zeros(nodes, first.shape[1])
    whole[: len(first)] = tensor(first, np.float32)
    whole[test] = tensor(rest, np.float32)
    return whole


def _edges(path: Path, nodes: int) -> Tensor:
    """Return the edges of a mapping from node number to neighbours' numbers, sorted by target."""
    graph: Any = read_pickle(path)
    try:
        counts = np.fromiter(map(len, graph.values()), np.int64, len(graph))
        source = np.repeat(np.fromiter(graph, np.int64, len(graph)), counts)
        target = np.fromiter(chain.from_iterable(graph.values()), np.int64, len(source))
    except (AttributeError, TypeError, ValueError):
        raise DataError(f"{path} should map each node's number to its neighbours' numbers") from None
    ends, _ = remove_self_loops(torch.from_numpy(np.stack([source, target])))
    edges: Tensor = coalesce(ends, num_nodes=nodes, sort_by_row=False)
    return edges
