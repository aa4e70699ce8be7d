"""The fields of a PyG `Data`, checked one by one before anything is made of them.

Shapes: N nodes, M edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.edge_index import EdgeIndex

from geco.data.collate import ONE_KIND
from geco.errors import DataError, UsageError

__all__ = ["MASKS", "Fields", "check_alike", "fields_of", "graphs_of", "in_graphs", "unused"]

Fields = dict[str, Tensor]
TAKEN = ("x", "edge_index", "edge_attr", "edge_weight", "y")
MASKS = tuple(f"{part}{end}" for part in ("train", "valid", "val", "test") for end in ("_mask", "_idx"))
FINITE = ("x", "edge_attr", "edge_weight")


def in_graphs(graphs: Sequence[Data]) -> Iterator[tuple[Data, str]]:
    """Yield each graph with what messages call it."""
    for number, graph in enumerate(graphs):
        yield graph, f"graph {number}" if len(graphs) > 1 else "graph"


def graphs_of(data: Any, what: str) -> list[Data]:
    """Return one graph or several as a list.

    Args:
        data: a `Data`, a `Batch`, or a list or PyG `Dataset` of `Data`.
        what: who takes it, for messages.
    """
    if isinstance(data, Batch):
        return list(data.to_data_list())
    if isinstance(data, Data | HeteroData):
        return [data]
    if isinstance(data, DataLoader):
        raise UsageError(f"{what} takes graphs, not a loader of them; give loader.dataset")
    if not isinstance(data, Sequence | Dataset) or isinstance(data, str):
        raise UsageError(f"{what} takes a PyG Data or a list of them, got a {type(data).__name__}")
    graphs = [data[number] for number in range(len(data))]  # type: ignore[arg-type]
    if not graphs:
        raise UsageError(f"{what} got an empty list of graphs; give PyG Data in it")
    return graphs


def fields_of(data: Data, where: str) -> Fields:
    """Return what a graph gives: x ``(N, F)``, a single 1 each where there is none, ``edge_index`` (2, M), maybe
    ``edge_attr`` (M, E), ``edge_weight`` (M,) and y as it is.

    Args:
        data: the graph.
        where: what messages call it.

    Example:
        >>> fields_of(Data(x=torch.tensor([[0.0], [torch.nan]]), edge_index=torch.empty(2, 0).long()), "graph 7")
        Traceback (most recent call last):
        geco.errors.DataError: graph 7, x, row 1: nan is not a finite number (1 in all); ...
    """
    if not isinstance(data, Data):
        kind = type(data).__name__
        raise DataError(f"{where} is a {kind}. {ONE_KIND if kind == 'HeteroData' else 'A PyG Data is wanted'}")
    found = {name: _tensor(data[name], name, where) for name in TAKEN if data.get(name) is not None}
    if "x" not in found and "num_nodes" not in data:
        raise DataError(f"{where} has neither x nor num_nodes, its size is unknown; give data.num_nodes")
    x = found.get("x", torch.ones(int(data.num_nodes), 1))
    found["x"] = x.unsqueeze(1) if x.dim() == 1 else x
    if found["x"].dim() != 2:
        raise DataError(f"{where}: x must be (N, F), a row for each node, got {tuple(x.shape)}")
    _check_edges(data, found, where)
    for name in FINITE:
        if name in found:
            _check_finite(found[name], f"{where}, {name}")
    return found


def check_alike(found: Sequence[Fields]) -> None:
    """Refuse graphs that do not all have the same fields of the same width."""
    first = _widths(found[0])
    for number, fields in enumerate(found):
        widths = _widths(fields)
        for name in sorted(first.keys() | widths.keys()):
            if first.get(name) != widths.get(name):
                one, other = (f"{w[name]} columns of {name}" if name in w else f"no {name}" for w in (widths, first))
                raise DataError(f"graph {number} has {one}, graph 0 has {other}; all graphs must have the same fields")


def unused(graphs: Sequence[Data], one: bool) -> list[str]:
    """Return the names of tensors that nothing is made of.

    Args:
        graphs: the graphs.
        one: whether they are one whose masks are the split.
    """
    taken = {*TAKEN, "num_nodes", "batch", "ptr", *(MASKS if one else ())}
    given = dict.fromkeys(name for graph in graphs for name, value in graph if isinstance(value, Tensor))
    return [name for name in given if name not in taken]


def _tensor(value: Any, name: str, where: str) -> Tensor:
    array = value.as_tensor() if isinstance(value, EdgeIndex) else value
    if not isinstance(array, Tensor):
        try:
            array = torch.as_tensor(array)
        except (TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"{where}: {name} must be a tensor, got a {type(value).__name__}") from error
    if array.layout != torch.strided:
        raise DataError(f"{where}: {name} is sparse; give it as data.{name}.to_dense()")
    if array.is_complex():
        raise DataError(f"{where}: {name} holds complex numbers; give real and imaginary parts as columns")
    array = array.detach().cpu()
    return array.float() if array.dtype in (torch.bfloat16, torch.float16) else array


def _check_edges(data: Data, found: Fields, where: str) -> None:
    if "edge_index" not in found:
        hint = "; make it of adj_t: torch.stack(data.adj_t.t().coo()[:2])" if data.get("adj_t") is not None else ""
        raise DataError(f"{where} has no edge_index (2, M){hint or ': give the two ends of each edge'}")
    ends, nodes = found["edge_index"], len(found["x"])
    if ends.dim() != 2 or ends.shape[0] != 2 or ends.is_floating_point() or ends.dtype == torch.bool:
        turned = "; turn it with .t()" if ends.dim() == 2 and ends.shape[1] == 2 else ""
        got = f"{str(ends.dtype).removeprefix('torch.')} {tuple(ends.shape)}"
        raise DataError(f"{where}: edge_index must be whole numbers of shape (2, M), got {got}{turned}")
    wrong = ends[(ends < 0) | (ends >= nodes)]
    if len(wrong):
        raise DataError(f"{where}: edge_index names node {int(wrong[0])}, there are {nodes}, numbered from 0")
    edges = ends.shape[1]
    for name in ("edge_attr", "edge_weight"):
        if name in found and (found[name].dim() not in (1, 2) or len(found[name]) != edges):
            raise DataError(
                f"{where}: {name} must have a row for each of {edges} edges, got {tuple(found[name].shape)}"
            )
    if "edge_attr" in found:
        found["edge_attr"] = found["edge_attr"].reshape(edges, -1)
    if "edge_weight" in found:
        if found["edge_weight"].numel() != edges:
            raise DataError(f"{where}: edge_weight must be one number for each edge; give several as edge_attr")
        found["edge_weight"] = found["edge_weight"].reshape(-1)


def _check_finite(array: Tensor, where: str) -> None:
    if array.is_floating_point() and not bool(array.isfinite().all()):
        bad = (~array.isfinite()).nonzero()
        value = float(array[tuple(bad[0].tolist())])
        raise DataError(
            f"{where}, row {int(bad[0, 0])}: {value} is not a finite number ({len(bad):,} in all); fill such values in "
            "or leave their rows out"
        )


def _widths(fields: Fields) -> dict[str, int]:
    return {name: fields[name].reshape(len(fields[name]), -1).shape[1] for name in FINITE if name in fields}
