"""The Long Range Graph Benchmark's raw files, as PyG downloads them: a list of tuples of arrays for each part of the
split.

Superpixels: ``train.pickle`` and so on, ``(x, edge_attr, edge_index, y)`` with a class for each node. Molecules:
``train.pt`` and so on, ``(x, edge_attr, edge_index, y)``, or ``(x, edge_attr, edge_index, edge_label_index,
edge_label)`` for contacts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geco.console import progress
from geco.data.collate import collect, with_splits
from geco.data.dataset import GraphDataset, Split
from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_pickle, read_torch
from geco.data.sources._many_graphs import check_categories, info_of, known
from geco.errors import DataError

__all__ = ["read"]

PARTS = ("train", "val", "test")
COCO_UNUSED = (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)  # of the numbers 0 to 90 in COCO's files; 81 classes are left
Graph = dict[str, Tensor]


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return PascalVOC-SP, COCO-SP, Peptides-func, Peptides-struct or PCQM-Contact.

    Args:
        folder: with ``train``, ``val`` and ``test``, each ``.pickle`` or ``.pt``.
        spec: of the data set.
    """
    pixels = spec.level == "node"
    info = info_of(spec) if pixels else info_of(spec, ATOM_CATEGORIES, BOND_CATEGORIES)
    counts: list[int] = []
    paths = [folder / f"{part}.{'pickle' if pixels else 'pt'}" for part in PARTS]
    dataset = collect(info, (graph for path in paths for graph in _graphs(path, spec, counts)))
    split = Split(*torch.arange(sum(counts)).split(counts))
    return check_categories(with_splits(dataset, [split]))


def _graphs(path: Path, spec: Spec, counts: list[int]) -> Iterator[Graph]:
    """Yield the graphs of one part and note how many there are; only one part is in memory as a list."""
    found = (read_pickle if spec.level == "node" else read_torch)(path)
    if not isinstance(found, list | tuple):
        raise DataError(f"{path}: a list of graphs is wanted, got {type(found).__name__}")
    counts.append(len(found))
    for number, items in enumerate(progress(found, path.name, len(found), "graphs")):
        try:
            yield _graph(items, spec)
        except (TypeError, ValueError, IndexError, RuntimeError) as error:
            raise DataError(f"{path}: graph {number}: {error}") from error


def _graph(items: Any, spec: Spec) -> Graph:
    names = ("x", "edge_attr", "edge_index", *(("edge_label_index", "edge_label") if spec.level == "link" else ("y",)))
    if not isinstance(items, list | tuple) or len(items) != len(names):
        got = f"{len(items)} items" if isinstance(items, list | tuple) else type(items).__name__
        raise DataError(f"a tuple of {', '.join(names)} is wanted, got {got}")
    graph = {name: torch.as_tensor(value) for name, value in zip(names, items, strict=True)}
    _check_shapes(graph, spec)
    if spec.level == "node":
        graph |= {"x": graph["x"].float(), "edge_attr": graph["edge_attr"].float(), "y": _classes(graph["y"], spec)}
    elif spec.level == "graph":
        y = graph["y"].view(1, spec.num_targets)
        graph["y"] = torch.as_tensor(known(y.numpy(), "y")) if spec.target == "labels" else y.float()
    return graph


def _check_shapes(graph: Graph, spec: Spec) -> None:
    for rows, columns in (("edge_attr", "edge_index"), ("edge_label", "edge_label_index")):
        if columns in graph and graph[columns].shape != (2, len(graph[rows])):
            raise DataError(f"{columns} has shape {tuple(graph[columns].shape)}, {rows} has {len(graph[rows])} rows")
    if spec.level == "node" and graph["y"].shape != graph["x"].shape[:1]:
        raise DataError(f"y has shape {tuple(graph['y'].shape)}, x has {len(graph['x'])} nodes")


def _classes(y: Tensor, spec: Spec) -> Tensor:
    """Return classes counted without gaps."""
    used = np.delete(np.arange(91), COCO_UNUSED) if spec.name == "coco-sp" else np.arange(spec.num_targets)
    wrong = y[~torch.isin(y, torch.from_numpy(used))]
    if wrong.numel():
        raise DataError(f"node class {int(wrong[0])} is none of the {len(used)} there are")
    return torch.searchsorted(torch.from_numpy(used), y.long())
