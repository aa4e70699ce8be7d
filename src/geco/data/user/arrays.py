"""A user's graph as arrays: an ``.npz``, or the tensors of a PyG `Data` in a ``.pt`` or ``.safetensors`` file.

Names are PyG's: ``x (N, F)``, ``edge_index (2, M)``, ``y (N,)`` or ``(N, T)``, ``edge_attr``, ``edge_weight``. The
split is either ``split (N,)`` with 0, 1, 2 or words, or three masks or lists of nodes (``train``, ``valid`` or ``val``,
``test``, also with ``_mask`` or ``_idx``); masks ``(N, S)`` give S splits. In y, -1 (for classes) and NaN are missing
labels.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from geco.data.collate import ONE_KIND, collect
from geco.data.dataset import GraphDataset
from geco.data.safe.readers import read_npz, read_torch
from geco.data.user.doubts import doubts
from geco.data.user.edges import spread
from geco.data.user.labels import read_labels, read_parts, read_splits
from geco.data.user.links import as_links, as_messages, link_schema
from geco.data.user.partition import read_times
from geco.data.user.schema import Column, OwnOptions, Role, Schema, refuse
from geco.data.user.tables import Field
from geco.errors import DataError

__all__ = ["ARRAY_SUFFIXES", "Arrays", "count_nodes", "describe", "label_fields", "masked_parts", "read_arrays"]

ARRAY_SUFFIXES = (".npz", ".pt", ".pth", ".safetensors")
FILE = "arrays"  # their table in the schema
HOW = "torch.save(data.to_dict(), 'graph.pt')"
Arrays = dict[str, np.ndarray]


def read_arrays(path: Path, options: OwnOptions, schema: Schema | None = None) -> tuple[GraphDataset, Schema]:
    """Read one graph, whose nodes have labels.

    Args:
        path: of the file.
        options: flags; ``label`` names the array of labels if it is not y, ``ignore`` arrays to leave out.
        schema: how such a file was read before; y may be absent then.
    """
    refuse(options, ("id", "features", "smiles", "source", "target", "weight", "graph", "split"), "a file of arrays")
    if options.level == "graph":
        raise DataError(f"{path}: a file of arrays holds one graph with labels for its nodes; leave out --level graph")
    arrays = {name: array for name, array in _load(path).items() if name not in options.ignore}
    ends, nodes = _ends(path, arrays), _count_nodes(path, arrays)
    if ends.size and int(ends.max()) >= nodes:
        raise DataError(
            f"{path}, edge_index: node {int(ends.max())} is out of range, x has {nodes} rows, numbered from 0"
        )
    if (schema.level == "link") if schema else (options.task == "link"):
        return _links(path, arrays, ends, nodes, options, schema)
    label = (schema.select(FILE, "label")[0].name if schema else None) or (options.label[0] if options.label else "y")
    labels = read_labels(label_fields(path, arrays, label, nodes, schema), options.task, nodes, schema)
    times = _times(path, arrays, nodes, options)
    splits, notes = read_splits(labels, masked_parts(path, arrays, nodes), str(path), options, schema, times=times)
    ends, rows, edge_notes = spread(ends, nodes, schema.directed if schema else options.directed)
    graph = {"x": _features(path, arrays, nodes, schema), "edge_index": torch.from_numpy(ends), "y": labels.y}
    graph |= {name: values[rows] for name, values in _edge_values(path, arrays, schema).items()}
    info = labels.info(path.stem, "node", options, schema)
    columns = [describe(name, array, label) for name, array in arrays.items()]
    return collect(info, [graph], splits), schema or labels.schema(
        "arrays", info, options.directed, columns, [*edge_notes, *notes, *doubts(labels)]
    )


def _links(
    path: Path, arrays: Arrays, ends: np.ndarray, nodes: int, options: OwnOptions, schema: Schema | None
) -> tuple[GraphDataset, Schema]:
    """Return the graph as a data set of links; with a schema, all of its edges pass messages."""
    graph = {"x": _features(path, arrays, nodes, schema), "edge_index": torch.from_numpy(ends)}
    graph |= _edge_values(path, arrays, schema)
    if schema is not None:
        return as_messages(graph, schema), schema
    times = _times(path, arrays, ends.shape[1], options)
    dataset, notes = as_links(path, graph, options, {} if times is None else {"times": times})
    columns = [describe(name, array, "") for name, array in arrays.items()]
    return dataset, link_schema("arrays", dataset, options.directed, columns, notes)


def _edge_values(path: Path, arrays: Arrays, schema: Schema | None) -> dict[str, Tensor]:
    """Return features and weights of the edges as in the file; with a schema those that it has, and no others."""
    edges, found = arrays["edge_index"].shape[1], {}
    for name in ("edge_attr", "edge_weight"):
        before = _before(schema, name)
        if before or (schema is None and name in arrays):
            found[name] = _floats(path, name, _wanted(path, arrays, name), edges)
            _check_width(path, name, arrays[name], before)
    return found


def _before(schema: Schema | None, name: str) -> Column | None:
    """Return what a schema says of an array, if it is used."""
    columns = schema.columns if schema else ()
    return next((column for column in columns if column.name == name and column.role != "ignored"), None)


def _check_width(path: Path, name: str, array: np.ndarray, before: Column | None) -> None:
    """Refuse an array with other columns than one of that name had before."""
    if before is None:
        return
    now, then = (kind.split(" x ")[1:] or ["1"] for kind in (describe(name, array, "").type, before.type))
    if now != then:
        raise DataError(f"{path}, {name}: {now[0]} features, the data set was made with {then[0]}")


def _times(path: Path, arrays: Arrays, rows: int, options: OwnOptions) -> np.ndarray | None:
    """Return the time of each node or edge, if the split is by time."""
    if options.time is None:
        return None
    found = _wanted(path, arrays, options.time).ravel()
    if len(found) != rows:
        raise DataError(f"{path}, {options.time}: a time for each of {rows} is wanted, got the shape {found.shape}")
    return read_times(Field(options.time, pd.Series(found), lambda row: f"{path}, {options.time}, row {row}"))


def count_nodes(path: Path) -> int:
    """Return how many nodes a file of arrays has."""
    return _count_nodes(path, _load(path))


def _load(path: Path) -> Arrays:
    """Return the arrays of a file by name."""
    if path.suffix == ".npz":
        return read_npz(path)
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            found: Any = load_file(path)
        except (SafetensorError, OSError) as error:
            raise DataError(f"{path} is not a valid safetensors file: {error}") from error
    else:
        try:
            found = read_torch(path)
        except DataError as error:
            raise DataError(f"{error}. A PyG Data object is saved as plain tensors by: {HOW}") from error
    if not isinstance(found, dict):
        raise DataError(f"{path} holds a {type(found).__name__}; a dictionary of tensors is wanted: {HOW}")
    if any(isinstance(value, dict) and value for value in found.values()):  # HeteroData.to_dict()
        raise DataError(f"{path} holds dictionaries of several kinds of nodes or edges. {ONE_KIND}")
    return {str(name): _array(value) for name, value in found.items() if _is_array(value)}


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | int) or (isinstance(value, Tensor) and value.layout == torch.strided)


def _array(value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        value = value.detach().float() if value.dtype == torch.bfloat16 else value.detach()  # NumPy has no bfloat16
    return np.asarray(value)


def _ends(path: Path, arrays: Arrays) -> np.ndarray:
    ends = _wanted(path, arrays, "edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2:
        turned = "; turn it with .T" if ends.ndim == 2 and ends.shape[1] == 2 else ""
        raise DataError(f"{path}, edge_index: the shape (2, M) is wanted, got {ends.shape}{turned}")
    if ends.dtype.kind not in "iu":
        raise DataError(
            f"{path}, edge_index: whole numbers are wanted, got {ends.dtype}; save it with .astype('int64')"
        )
    if ends.size and int(ends.min()) < 0:
        raise DataError(f"{path}, edge_index: node {int(ends.min())} is out of range, nodes are numbered from 0")
    return ends.astype(np.int64)


def _count_nodes(path: Path, arrays: Arrays) -> int:
    if "x" not in arrays and "num_nodes" in arrays:
        return int(arrays["num_nodes"])
    return len(np.atleast_1d(_wanted(path, arrays, "x")))


def _features(path: Path, arrays: Arrays, nodes: int, schema: Schema | None) -> Tensor:
    before = _before(schema, "x")
    if before is None and (schema is not None or "x" not in arrays):
        return torch.ones(nodes, 1)
    x = _floats(path, "x", _wanted(path, arrays, "x"), nodes)
    _check_width(path, "x", arrays["x"], before)
    return x.view(nodes, -1)


def _floats(path: Path, name: str, array: np.ndarray, rows: int) -> Tensor:
    if array.ndim not in (1, 2) or len(array) != rows:
        raise DataError(f"{path}, {name}: {rows} rows are wanted, got the shape {array.shape}")
    if array.dtype.kind not in "iufb":
        raise DataError(f"{path}, {name}: numbers are wanted, got {array.dtype}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise DataError(
            f"{path}, {name}, row {bad[0][0]}: {array[tuple(bad[0].tolist())]} is not a finite number ({len(bad):,} in "
            "all)"
        )
    return torch.from_numpy(np.ascontiguousarray(array, np.float32))


def label_fields(path: Path, arrays: Arrays, name: str, nodes: int, schema: Schema | None) -> list[Field]:
    """Return the labels column by column; classes of -1 are missing."""
    if name not in arrays and schema is not None:
        return []
    y = _wanted(path, arrays, name)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim not in (1, 2) or len(y) != nodes:
        raise DataError(f"{path}, {name}: a label for each of {nodes} nodes is wanted, got the shape {y.shape}")
    if y.dtype.kind not in "iufbSU":
        raise DataError(f"{path}, {name}: numbers or text are wanted, got {y.dtype}")
    columns = [y] if y.ndim == 1 else list(y.T)
    names = [name] if y.ndim == 1 else [f"{name}{i}" for i in range(len(columns))]
    return [Field(n, _series(c), lambda row: f"{path}, {name}, row {row}") for n, c in zip(names, columns, strict=True)]


def _series(column: np.ndarray) -> pd.Series:
    if column.dtype.kind in "SU":
        return pd.Series(column.astype(str)).replace("", None)
    numbers = pd.Series(column)
    return numbers.where(numbers != -1) if column.dtype.kind == "i" else numbers


def masked_parts(path: Path, arrays: Arrays, nodes: int) -> list[np.ndarray]:
    """Return 0, 1, 2 or -1 of each node, for each split that arrays or masks give."""
    if "split" in arrays:
        field = Field("split", _series(arrays["split"].ravel()), lambda row: f"{path}, split, row {row}")
        if len(field.values) != nodes:
            raise DataError(
                f"{path}, split: one for each of {nodes} nodes is wanted, got the shape {arrays['split'].shape}"
            )
        return [read_parts(field)]
    masks = [_mask(path, arrays, words, nodes) for words in (("train",), ("valid", "val"), ("test",))]
    given = [mask for mask in masks if mask is not None]
    if masks[0] is None:
        return []
    result = []
    for number in range(given[0].shape[1]):
        parts = np.full(nodes, -1)
        for part, mask in enumerate(masks):
            if mask is not None:
                chosen = mask[:, number % mask.shape[1]]  # one test mask may serve several splits
                if (parts[chosen] >= 0).any():
                    raise DataError(
                        f"{path}: node {int(np.flatnonzero(chosen & (parts >= 0))[0])} is in two parts of the split"
                    )
                parts[chosen] = part
        result.append(parts)
    return result


def _mask(path: Path, arrays: Arrays, words: tuple[str, ...], nodes: int) -> np.ndarray | None:
    """Return ``(N, S)`` of True where nodes are in a part, from a mask or a list of nodes."""
    name = next((n for word in words for n in (word, f"{word}_mask", f"{word}_idx") if n in arrays), None)
    if name is None:
        return None
    array = arrays[name]
    if name.endswith("_mask") and array.dtype.kind in "iu" and np.isin(array, (0, 1)).all():
        array = array.astype(bool)
    if array.dtype == bool and array.ndim in (1, 2) and len(array) == nodes:
        return array.reshape(nodes, -1)
    if array.dtype.kind not in "iu" or array.ndim != 1 or (array.size and (array.min() < 0 or array.max() >= nodes)):
        raise DataError(
            f"{path}, {name}: a mask of {nodes} nodes or a list of nodes is wanted, got {array.dtype} {array.shape}"
        )
    counts = np.bincount(array, minlength=nodes)
    if (counts > 1).any():
        raise DataError(
            f"{path}, {name}: node {int(counts.argmax())} is listed {counts.max()} times; a mask must be of type bool"
        )
    return (counts > 0)[:, None]


def _wanted(path: Path, arrays: Arrays, name: str) -> np.ndarray:
    if name in arrays:
        return arrays[name]
    near = difflib.get_close_matches(name, arrays, 1, 0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise DataError(f"{path}: no array {name!r} among {', '.join(arrays) or 'none'}.{hint}")


def describe(name: str, array: np.ndarray, label: str) -> Column:
    """Return what was understood of an array."""
    used: dict[str, Role] = {
        label: "label",
        "x": "feature",
        "edge_attr": "feature",
        "edge_weight": "weight",
        "split": "split",
    }
    used["edge_index"] = "source"
    split = name.split("_")[0] in ("train", "valid", "val", "test")
    role: Role = used.get(name) or ("split" if split else "ignored")
    shape = " x ".join(map(str, array.shape)) or "1"
    example = str(array.ravel()[0]) if array.size else ""
    missing = int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
    return Column(FILE, name, role, f"{array.dtype} {shape}", example, missing)
