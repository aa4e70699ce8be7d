"""Graphs put together to a data set, and the check that every source's result goes through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from geco.data.dataset import ENDS, LEVELS, GraphDataset, Info, Level, Split, Target
from geco.errors import DataError

__all__ = ["ONE_KIND", "check", "collect", "narrowed", "with_splits"]

ONE_KIND = (
    "GECO reads graphs whose nodes are of one kind. Put all kinds into one table of nodes, and of edges, with a column "
    "that says which: it becomes a feature (in PyG: data.to_homogeneous(), with node_type and edge_type one-hot). "
    "Models with weights of their own for each kind are in PyG: HGTConv, to_hetero"
)


def collect(info: Info, graphs: Iterable[Data | Mapping[str, Tensor]], splits: Sequence[Split] = ()) -> GraphDataset:
    """Put graphs one after another. Each gives ``num_nodes`` or x, ``edge_index`` and any of PyG's names.

    Args:
        info: what is asked; ``level`` says whether y belongs to nodes or graphs.
        graphs: PyG `Data` or mappings.
        splits: over graphs, or over nodes where there is one graph.
    """
    columns: dict[str, list[Tensor]] = {}
    counts: dict[str, list[int]] = {"node": [], "edge": [], "link": []}
    for graph in graphs:
        if isinstance(graph, HeteroData):
            raise DataError(f"{info.name}: graph {len(counts['node'])} is a HeteroData. {ONE_KIND}")
        items = graph.to_dict() if isinstance(graph, Data) else dict(graph)
        if "num_nodes" not in items and "x" not in items:
            raise DataError(
                f"{info.name}: graph {len(counts['node'])} has neither x nor num_nodes, its size is unknown"
            )
        counts["node"].append(int(items.pop("num_nodes", len(items["x"]) if "x" in items else 0)))
        counts["edge"].append(items["edge_index"].shape[1])
        counts["link"].append(items["edge_label_index"].shape[1] if "edge_label_index" in items else 0)
        for name, value in items.items():
            columns.setdefault(f"{_level(name, info)}/{name}", []).append(narrowed(value))
    arrays = {key: narrowed(_joined(parts, 1 if key in ENDS else 0)) for key, parts in columns.items()}
    for level in LEVELS:
        if level != "link" or "link/edge_label_index" in arrays:
            arrays[f"ptr/{level}"] = torch.tensor([0, *counts[level]]).cumsum(0)
    return check(with_splits(GraphDataset(info, arrays), splits))


def with_splits(dataset: GraphDataset, splits: Sequence[Split]) -> GraphDataset:
    """Return the data set with these splits, in the given order, and no others."""
    arrays = {key: value for key, value in dataset.arrays.items() if not key.startswith("split/")}
    for number, split in enumerate(splits):
        for part in ("train", "valid", "test"):
            arrays[f"split/{number}/{part}"] = narrowed(getattr(split, part).long())
    return replace(dataset, arrays=arrays)


def check(dataset: GraphDataset) -> GraphDataset:
    """Return the data set if it is consistent: rows fit pointers, ends are nodes, labels are in range, splits do not
    overlap.
    """
    info, arrays = dataset.info, dataset.arrays
    if info.level not in get_args(Level) or info.target not in get_args(Target):
        raise DataError(f"{info.name}: level {info.level!r} or target {info.target!r} is not known")
    for key, array in arrays.items():
        level = key.split("/")[0]
        rows = array.shape[1] if key in ENDS else len(array)
        wanted = len(dataset) if level == "graph" else int(arrays[f"ptr/{level}"][-1]) if level in LEVELS else rows
        if rows != wanted:
            raise DataError(f"{info.name}: {key} has {rows} rows, its graphs have {wanted}")
        if key in ENDS and rows:
            bad = _outside(dataset, level, array)
            if bad:
                raise DataError(f"{info.name}: {key} has {bad} columns that name nodes outside their graph")
    _check_classes(dataset)
    _check_splits(dataset)
    return dataset


def narrowed(array: Tensor) -> Tensor:
    """Return integers in the smallest of uint8, int16, int32, int64 that holds them, float64 as float32, others as they
    are.
    """
    if array.dtype == torch.float64:
        return array.float()
    if array.is_floating_point() or array.dtype in (torch.bool, torch.uint8) or array.numel() == 0:
        return array
    low, high = (int(v) for v in torch.aminmax(array))
    for dtype in (torch.uint8, torch.int16, torch.int32):
        if torch.iinfo(dtype).min <= low and high <= torch.iinfo(dtype).max:
            return array.to(dtype)
    return array


def _joined(parts: list[Tensor], dim: int) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim)


def _outside(dataset: GraphDataset, level: str, ends: Tensor) -> int:
    """Return how many edges or links name a node that their graph does not have."""
    if len(dataset) == 1:
        low, high = torch.aminmax(ends)
        if low >= 0 and high < dataset.num_nodes:
            return 0
    count = torch.repeat_interleave(dataset.sizes, dataset.arrays[f"ptr/{level}"].long().diff())
    return int(((ends < 0) | (ends >= count)).any(0).sum())


def _check_classes(dataset: GraphDataset) -> None:
    info = dataset.info
    y = dataset.arrays.get("node/y" if info.level == "node" else "graph/y")
    if info.target == "class" and info.level != "link" and y is not None and y.numel():
        low, high = (int(v) for v in torch.aminmax(y))
        if low < -1 or high >= info.num_targets:
            raise DataError(
                f"{info.name}: classes {low} to {high} occur; they must be 0 to {info.num_targets - 1}, or -1 for none"
            )


def _level(name: str, info: Info) -> str:
    if name == "y":
        return "node" if info.level == "node" else "graph"
    if name.startswith("edge_label"):
        return "link"
    if name.startswith("edge_"):
        return "edge"
    return "graph" if name.startswith("graph_") else "node"


def _check_splits(dataset: GraphDataset) -> None:
    what = f"{dataset.unit}s"
    for number in range(dataset.num_splits):
        total = len(dataset) if dataset.unit == "graph" else int(dataset.arrays[f"ptr/{dataset.unit}"][-1])
        split = dataset.split(number)
        seen = torch.cat([split.train, split.valid, split.test])
        if seen.numel() and (int(seen.min()) < 0 or int(seen.max()) >= total):
            raise DataError(f"{dataset.info.name}: split {number} names {what} outside 0 to {total - 1}")
        if seen.numel() and int(torch.bincount(seen, minlength=total).max()) > 1:
            raise DataError(f"{dataset.info.name}: split {number} has {what} in more than one part, or twice in one")
