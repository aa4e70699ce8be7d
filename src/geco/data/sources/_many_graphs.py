"""What the readers of many graphs share: columns of all graphs become a data set, after checks that name the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from geco.data.collate import check, narrowed, with_splits
from geco.data.dataset import GraphDataset, Info, Split
from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES, blocks_from_smiles
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_csv
from geco.errors import DataError

__all__ = [
    "check_categories",
    "from_columns",
    "from_smiles",
    "info_of",
    "known",
    "parts_of",
    "read_counts",
    "read_rows",
    "read_split",
]


def info_of(spec: Spec, nodes: tuple[int, ...] = (), edges: tuple[int, ...] = (), names: Iterable[str] = ()) -> Info:
    """Return what a data set asks for: what is written down of it, categories of nodes and edges, and names of the
    targets.
    """
    return Info(
        spec.name, spec.level, spec.target, spec.num_targets, spec.metric, nodes, edges, tuple(names), spec.note
    )


def from_columns(
    info: Info, nodes: np.ndarray, edges: np.ndarray, columns: Mapping[str, np.ndarray], split: Split
) -> GraphDataset:
    """Return the data set of columns that hold the rows of all graphs.

    Args:
        info: what is asked.
        nodes: number of nodes of each graph, ``(B,)``.
        edges: number of directed edges of each graph, ``(B,)``.
        columns: ``level/name`` to array, see `geco.data.dataset`.
        split: over graphs.
    """
    pointers = {"ptr/node": np.append(0, nodes.cumsum()), "ptr/edge": np.append(0, edges.cumsum())}
    whole = {key: np.require(array, requirements=["C", "W"]) for key, array in (*columns.items(), *pointers.items())}
    arrays = {key: narrowed(torch.from_numpy(array)) for key, array in whole.items()}
    return check_categories(check(with_splits(GraphDataset(info, arrays), [split])))


def from_smiles(
    spec: Spec, path: Path, smiles: list[str], y: np.ndarray, split: Split, names: Iterable[str] = ()
) -> GraphDataset:
    """Return the data set of molecules.

    Args:
        spec: of the data set.
        path: of the file that holds the SMILES, for messages.
        smiles: of each molecule.
        y: targets, a row for each molecule.
        split: over molecules.
        names: of the targets.
    """
    try:
        blocks = list(blocks_from_smiles(smiles))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if not blocks:
        raise DataError(f"{path} holds no molecules")
    columns = {
        "node/x": np.concatenate([block.x for block in blocks]),
        "edge/edge_index": np.concatenate([block.edge_index for block in blocks], 1),
        "edge/edge_attr": np.concatenate([block.edge_attr for block in blocks]),
        "graph/y": y,
    }
    nodes, edges = (np.concatenate(counts) for counts in zip(*((b.nodes, b.edges) for b in blocks), strict=True))
    return from_columns(info_of(spec, ATOM_CATEGORIES, BOND_CATEGORIES, names), nodes, edges, columns, split)


def known(y: np.ndarray, where: object) -> np.ndarray:
    """Return yes-or-no labels ``(B, C)`` as uint8, or as float32 if some are missing.

    Example:
        >>> known(np.array([[0.0, 1.0]]), "y.csv").dtype, known(np.array([[0.0, np.nan]]), "y.csv").dtype
        (dtype('uint8'), dtype('float32'))
    """
    missing = np.isnan(y)
    wrong = np.argwhere(~missing & (y != 0) & (y != 1))
    if len(wrong):
        row, column = wrong[0]
        raise DataError(
            f"{where}: row {row + 1}, column {column + 1}: a label is 0, 1 or missing, got {y[row, column]}"
        )
    return y.astype(np.float32 if missing.any() else np.uint8)


def read_rows(path: Path, rows: int, columns: int | None = None, dtype: Any = None) -> np.ndarray:
    """Return a CSV without header as an array, if it has as many rows and columns as it should."""
    found: np.ndarray = read_csv(path, header=None, dtype=dtype).to_numpy()
    if len(found) != rows:
        raise DataError(
            f"{path} has {len(found):,} rows, the files beside it ask for {rows:,}; it may be cut off or of another "
            "data set"
        )
    if columns is not None and found.shape[1] != columns:
        raise DataError(f"{path} has {found.shape[1]} columns, {columns} are wanted")
    return found


def read_counts(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of nodes and of edges of each graph, ``(B,)`` each, from OGB's lists."""
    paths = [folder / f"num-{what}-list.csv.gz" for what in ("node", "edge")]
    nodes = read_csv(paths[0], header=None, dtype=np.int64).to_numpy()[:, 0]
    edges = read_rows(paths[1], len(nodes), 1, np.int64)[:, 0]
    for path, found in zip(paths, (nodes, edges), strict=True):
        if found.min(initial=0) < 0:
            raise DataError(f"{path}: graph {int(found.argmin())} has {found.min()} of them")
    return nodes, edges


def read_split(folder: Path, graphs: int) -> Split:
    """Return OGB's split: ``train.csv.gz``, ``valid.csv.gz`` and ``test.csv.gz``, the numbers of the graphs in each."""
    names = ("train", "valid", "test")
    found = {name: read_csv(folder / f"{name}.csv.gz", header=None, dtype=np.int64).to_numpy()[:, 0] for name in names}
    return Split(*parts_of(found, names, graphs, folder))


def parts_of(found: Any, names: tuple[str, ...], graphs: int, path: Path) -> list[Tensor]:
    """Return the named parts of a split, whose numbers must be graphs.

    Example:
        >>> parts_of({"train": [0, 2], "val": [1]}, ("train", "val"), 3, Path("split.pickle"))
        [tensor([0, 2]), tensor([1])]
    """
    if not isinstance(found, Mapping) or any(name not in found for name in names):
        got = ", ".join(map(str, found)) if isinstance(found, Mapping) else type(found).__name__
        raise DataError(f"{path}: a split with {', '.join(names)} is wanted, got {got}")
    parts = []
    for name in names:
        part = np.asarray(found[name]).reshape(-1)
        if part.size and (part.dtype.kind not in "iu" or part.min() < 0 or part.max() >= graphs):
            got = f"{part.min()} to {part.max()}" if part.dtype.kind in "iu" else str(part.dtype)
            raise DataError(f"{path}: {name} must hold numbers of graphs from 0 to {graphs - 1}, it has {got}")
        parts.append(torch.from_numpy(part.astype(np.int64)))
    return parts


def check_categories(dataset: GraphDataset) -> GraphDataset:
    """Return the data set if the columns of categories hold no other categories than they may."""
    for key, categories in (("node/x", dataset.info.categories), ("edge/edge_attr", dataset.info.edge_categories)):
        if not categories:
            continue
        array = dataset.arrays[key]
        if array.ndim != 2 or array.shape[1] != len(categories) or array.is_floating_point():
            got = f"{array.dtype} of shape {tuple(array.shape)}"
            raise DataError(f"{dataset.info.name}: {key} must have {len(categories)} columns of categories, got {got}")
        if array.numel() and _outside(array, categories):
            raise DataError(f"{dataset.info.name}: {key} has categories outside 0 to {[c - 1 for c in categories]}")
    return dataset


def _outside(array: Tensor, categories: tuple[int, ...]) -> bool:
    high = array.amax(0).long()
    return bool((array.amin(0) < 0).any() or (high >= torch.tensor(categories)).any())
