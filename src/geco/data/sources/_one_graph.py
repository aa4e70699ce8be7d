"""One graph put together: what the readers of single graphs share. Files are not trusted: shapes and numbers are
checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Split
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_npz
from geco.data.sources._many_graphs import info_of
from geco.errors import DataError

__all__ = ["csr", "csr_edges", "dense", "pairs", "read_arrays", "rows", "single", "split_of", "tensor"]

WIDEST = 1 << 20  # columns of a feature matrix; more is a damaged file, not a data set


def single(spec: Spec, folder: Path, graph: Mapping[str, Tensor], splits: Sequence[Split]) -> GraphDataset:
    """Return the data set of one graph, checked; an error names the folder.

    Args:
        spec: of the data set.
        folder: where its files are.
        graph: arrays by PyG's names, y ``(N,)`` for classes and ``(N, num_targets)`` for labels.
        splits: over the nodes.
    """
    if spec.target == "class":
        low, high = (int(v) for v in graph["y"].aminmax()) if graph["y"].numel() else (0, 0)
        if low < 0 or high >= spec.num_targets:
            raise DataError(f"{folder} has classes from {low} to {high}, {spec.name} has 0 to {spec.num_targets - 1}")
    elif graph["y"].shape[1:] != (spec.num_targets,):
        raise DataError(
            f"{folder} has labels of shape {tuple(graph['y'].shape)}, {spec.name} has {spec.num_targets} a node"
        )
    try:
        return collect(info_of(spec), [graph], splits)
    except DataError as error:
        raise DataError(f"the files in {folder} do not fit together: {error}") from None


def read_arrays(path: Path, *names: str) -> dict[str, np.ndarray]:
    """Return the named arrays of an ``.npz`` file; all must be there and hold numbers."""
    found = read_npz(path, only=names)
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"{path} lacks the arrays {', '.join(missing)}; it may be of another data set")
    wrong = [name for name in names if found[name].dtype.kind not in "biuf"]
    if wrong:
        raise DataError(f"{path}: {wrong[0]} should hold numbers, it holds {found[wrong[0]].dtype}")
    return found


def rows(array: np.ndarray, count: int, path: Path) -> np.ndarray:
    """Return the array if it has a row for each of ``count`` nodes."""
    if array.ndim == 0 or len(array) != count:
        raise DataError(f"{path} has {len(array) if array.ndim else 0:,} rows for {count:,} nodes")
    return array


def pairs(array: np.ndarray, path: Path) -> Tensor:
    """Return edges ``(M, 2)`` of a file as ``(2, M)`` int64.

    Example:
        >>> pairs(np.array([[0, 1], [2, 3]]), Path("graph.npz")).tolist()
        [[0, 2], [1, 3]]
    """
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise DataError(f"{path}: edges should be whole numbers of shape (M, 2), they are {array.dtype} {array.shape}")
    return tensor(array.T, np.int64)


def csr(path: Path, indptr: np.ndarray, indices: np.ndarray, shape: np.ndarray, data: np.ndarray | None = None) -> Any:
    """Return a sparse matrix of a file's arrays, with ones where no data is given."""
    try:
        data = np.ones(len(indices), np.float32) if data is None else data
        matrix = sparse.csr_matrix((data, indices, indptr), [int(n) for n in shape])
        matrix.check_format(full_check=True)  # SciPy would write outside its memory otherwise
    except (TypeError, ValueError, IndexError) as error:
        raise DataError(f"{path} does not hold a sparse matrix: {error}") from None
    return matrix


def csr_edges(matrix: Any, path: Path) -> Tensor:
    """Return the entries of a square sparse matrix as edges from row to column ``(2, M)``, in their order there.

    Example:
        >>> csr_edges(sparse.csr_matrix([[0, 1], [1, 1]]), Path("adj.npz")).tolist()
        [[0, 1, 1], [1, 0, 1]]
    """
    if matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"{path} holds a matrix of shape {matrix.shape}, an adjacency is square")
    source = np.repeat(np.arange(matrix.shape[0], dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    return torch.from_numpy(np.stack([source, matrix.indices]))


def dense(matrix: Any, path: Path) -> np.ndarray:
    """Return a matrix, sparse or not, as float32 ``(N, F)``."""
    if getattr(matrix, "ndim", 0) != 2 or matrix.dtype.kind not in "biuf" or matrix.shape[1] > WIDEST:
        raise DataError(
            f"{path} should hold a matrix of numbers with at most {WIDEST:,} columns, it holds {_what(matrix)}"
        )
    if sparse.issparse(matrix):
        whole = matrix.tocsr()
        whole = csr(path, whole.indptr, whole.indices, np.array(whole.shape), whole.data)
        return np.asarray(whole.astype(np.float32).toarray())
    return np.asarray(matrix, np.float32)


def tensor(array: np.ndarray, dtype: Any) -> Tensor:
    """Return an array as a tensor, copied only if it must be."""
    return torch.from_numpy(np.require(array, dtype, ["C", "W"]))


def split_of(train: np.ndarray, valid: np.ndarray, test: np.ndarray) -> Split:
    """Return the split of three masks over the nodes.

    Example:
        >>> split_of(np.array([True, False, True]), np.array([False, True, False]), np.zeros(3, bool)).train
        tensor([0, 2])
    """
    return Split(*(torch.from_numpy(np.flatnonzero(mask)) for mask in (train, valid, test)))


def _what(value: object) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {shape}"
