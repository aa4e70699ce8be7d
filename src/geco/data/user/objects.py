"""A user's graphs in memory: PyG `Data`, one or many, as the data set that such files would be.

Fields are PyG's: x, ``edge_index``, ``edge_attr``, ``edge_weight``, y, and for one graph its masks. Numbers of an
integer type are categories, as in PyG, unless they are zeros and ones. Edges stay as they are.

Shapes: N nodes, M edges of a graph, R rows of labels, T targets.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Level
from geco.data.user.arrays import describe, label_fields, masked_parts
from geco.data.user.fields import MASKS, Fields, check_alike, fields_of, in_graphs, unused
from geco.data.user.labels import Labels, read_labels, read_splits
from geco.data.user.links import as_links, as_messages, link_schema
from geco.data.user.schema import OwnOptions, Schema
from geco.errors import DataError, UsageError

__all__ = ["from_pyg", "new_graphs"]

logger = logging.getLogger(__name__)

FEATURES = {"x": "categories", "edge_attr": "edge_categories"}  # to what `Info` calls their numbers of categories
LARGEST = 10_000  # number of a class; larger ones are ids


def from_pyg(
    graphs: Sequence[Data], options: OwnOptions | None = None, parts: np.ndarray | None = None
) -> tuple[GraphDataset, Schema | None]:
    """Return graphs as a data set, with the schema that reads files of this form, if there is one.

    Args:
        graphs: one with labels for its nodes, or several with labels for their nodes or for themselves.
        options: ``task``, ``metric``, ``fractions`` and ``seed`` of the split; for links also ``directed``.
        parts: 0, 1 or 2 of each of several graphs: for training, validation or test.

    Example:
        >>> ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> graphs = [Data(x=torch.rand(3, 2), edge_index=ring, y=torch.tensor([i % 2])) for i in range(10)]
        >>> dataset, _ = from_pyg(graphs)
        >>> len(dataset), dataset.info.level, dataset.info.target
        (10, 'graph', 'class')
    """
    options, name = options or OwnOptions(), "graphs" if len(graphs) > 1 else "graph"
    found = [fields_of(graph, where) for graph, where in in_graphs(graphs)]
    check_alike(found)
    left = unused(graphs, one=len(graphs) == 1)
    if left:
        logger.info(f"{name}: not used are {', '.join(left)}")
    categories = {
        what: _categories([fields[key] for fields in found if key in fields]) for key, what in FEATURES.items()
    }
    found = [_typed(fields, categories) for fields in found]
    if options.task == "link":
        dataset, schema = _links(found, Path(name), options)
    elif len(graphs) == 1:
        dataset, schema = _one(graphs[0], found[0], Path(name), options)
    else:
        dataset, schema = _many(found, Path(name), options, parts), None
    x, edges = categories["categories"], categories["edge_categories"]
    dataset = replace(dataset, info=replace(dataset.info, categories=x, edge_categories=edges))
    return dataset, None if any(categories.values()) else schema


def new_graphs(graphs: Sequence[Data], info: Info, given: dict[str, int], schema: Schema | None = None) -> GraphDataset:
    """Return graphs to predict for; those that lack what the network was trained with are refused.

    Args:
        graphs: y is left out.
        info: of the data that the network was trained on.
        given: columns of x, ``edge_attr`` and ``edge_weight`` there.
        schema: how those were read; for links it says whether they are directed.
    """
    found = []
    for graph, where in in_graphs(graphs):
        fields = fields_of(graph, where)
        for name in ("x", *FEATURES, "edge_weight"):
            columns = _columns(fields.get(name))
            if columns != given.get(name, 0):
                raise DataError(
                    f"{where}: {name} has {columns or 'no'} columns, the network was trained with "
                    f"{given.get(name, 0) or 'none'}; give graphs with the fields of those it was trained on"
                )
        fields.pop("y", None)
        found.append(_typed(fields, {"categories": info.categories, "edge_categories": info.edge_categories}))
    if info.level == "link" and schema is not None:
        dataset = as_messages(found[0], schema)
        return replace(dataset, info=replace(info, name="new"))
    return collect(replace(info, name="new"), found)


def _links(found: list[Fields], path: Path, options: OwnOptions) -> tuple[GraphDataset, Schema]:
    if len(found) > 1:
        raise UsageError(f"links are predicted in one graph, got {len(found)}; fit each by itself")
    graph = {name: value for name, value in found[0].items() if name != "y"}
    dataset, notes = as_links(path, graph, options)
    columns = [describe(name, value.numpy(), "") for name, value in graph.items()]
    return dataset, link_schema("arrays", dataset, options.directed, columns, notes)


def _one(data: Data, fields: Fields, path: Path, options: OwnOptions) -> tuple[GraphDataset, Schema]:
    """Return a graph whose nodes have labels; its masks are the split if it has any."""
    nodes = len(fields["x"])
    if "y" not in fields:
        raise DataError(f"{path} has no y: give data.y, a label for each node, or task='link' to predict its edges")
    rows = fields["y"].shape[0] if fields["y"].dim() else 1
    if rows != nodes:
        raise DataError(
            f"{path}: y has {rows} rows for {nodes} nodes; one graph needs a label for each node "
            "(labels of whole graphs need a list of graphs)"
        )
    labels = _labels([fields["y"]], path, options)
    masks = {name: np.asarray(torch.as_tensor(data[name]).cpu()) for name in MASKS if data.get(name) is not None}
    given = masked_parts(path, masks, nodes)
    for number, name in enumerate(("train", "val", "test")) if given else ():
        if not all(((parts == number) & labels.known).any() for parts in given):
            raise DataError(
                f"{path}: its masks put no labelled node into {name}; give data.{name}_mask, or take the masks away "
                "(del data.train_mask) to have a split made"
            )
    splits, notes = read_splits(labels, given, f"{path}'s masks", options)
    info = labels.info(path.name, "node", options)
    columns = [describe(name, value.numpy(), "y") for name, value in fields.items()]
    schema = labels.schema("arrays", info, True, columns, ["edges: as they were given", *notes])
    return collect(info, [{**fields, "y": labels.y}], splits), schema


def _many(found: list[Fields], path: Path, options: OwnOptions, parts: np.ndarray | None) -> GraphDataset:
    """Return graphs that have labels, or whose nodes have."""
    for number, fields in enumerate(found):
        if "y" not in fields:
            raise DataError(f"graph {number} has no y: give each graph its label, or one for each of its nodes")
    level = _level(found)
    ys = [fields["y"].reshape(1, -1) if level == "graph" else fields["y"] for fields in found]
    labels = _labels(ys, path, options)
    sizes = [len(y) for y in ys]
    known = None
    if level == "node":
        known = np.array([part.any() for part in np.split(labels.known, np.cumsum(sizes)[:-1])])
    splits, _ = read_splits(labels, [] if parts is None else [parts], "the lists of graphs", options, known=known)
    each = zip(found, labels.y.split(sizes), strict=True)
    return collect(labels.info(path.name, level, options), ({**fields, "y": y} for fields, y in each), splits)


def _level(found: list[Fields]) -> Level:
    """Return what has a label: y has a row for each node of every graph, or one row."""
    rows = [fields["y"].shape[0] if fields["y"].dim() else 1 for fields in found]
    nodes = [len(fields["x"]) for fields in found]
    if all(count == 1 for count in rows):
        return "graph"
    for number, (count, size) in enumerate(zip(rows, nodes, strict=True)):
        if count != size:
            raise DataError(
                f"graph {number}: y has the shape {tuple(found[number]['y'].shape)}; 1 row, the graph's own label "
                f"(several: y.view(1, -1)), or {size}, one for each node, are wanted, alike in all graphs"
            )
    return "node"


def _labels(ys: list[Tensor], path: Path, options: OwnOptions) -> Labels:
    """Return labels as `read_labels` understands them; classes keep their numbers, so that class 3 is column 3."""
    widths = {tuple(y.shape[1:]) for y in ys}
    if len(widths) > 1:
        raise DataError(
            f"{path}: y has the widths {' and '.join(str(w[0] if w else 1) for w in sorted(widths))}; one is wanted"
        )
    y = torch.cat(ys)
    whole = not y.is_floating_point() and y.dtype != torch.bool and y.reshape(len(y), -1).shape[1] == 1
    task = options.task or ("class" if whole else None)
    labels = read_labels(label_fields(path, {"y": y.numpy()}, "y", len(y), None), task, len(y))
    return _as_numbered(labels, path) if labels.target == "class" else labels


def _as_numbered(labels: Labels, path: Path) -> Labels:
    values = torch.tensor([float(name) for name in labels.names], dtype=torch.float64)
    wrong = (values < 0) | (values != values.floor()) | (values > LARGEST)
    if bool(wrong.any()):
        raise DataError(
            f"{path}, y: {float(values[wrong][0]):g} is no class; they are whole numbers from 0 (to {LARGEST:,}), -1 "
            "or NaN where there is none; or give task='values'"
        )
    y = torch.where(labels.y < 0, -1, values.long()[labels.y.clamp(min=0)])
    return Labels(y, "class", tuple(str(number) for number in range(int(values.max()) + 1)))


def _categories(arrays: list[Tensor]) -> tuple[int, ...]:
    """Return how many categories each column has; nothing where they hold numbers."""
    arrays = [array for array in arrays if array.numel()]
    if not arrays or any(array.is_floating_point() or array.dtype == torch.bool for array in arrays):
        return ()
    low, high = min(int(array.min()) for array in arrays), max(int(array.max()) for array in arrays)
    if low < 0 or high < 2:
        return ()
    return tuple((torch.stack([array.amax(0) for array in arrays]).amax(0) + 1).tolist())


def _typed(fields: Fields, categories: dict[str, tuple[int, ...]]) -> Fields:
    """Return fields with categories as whole numbers and all else as float32."""
    kept = {"edge_index", "y", *(key for key, what in FEATURES.items() if categories[what])}
    return {name: value if name in kept else value.float() for name, value in fields.items()}


def _columns(array: Tensor | None) -> int:
    return 0 if array is None else array.shape[1] if array.dim() > 1 else 1
