"""Graphs of one data set in memory, as few large arrays: no object per graph, no Python loop to make a batch.

Arrays are named ``level/name`` with PyG's names: ``node/x``, ``edge/edge_index``, ``edge/edge_attr``, ``graph/y``,
``link/edge_label_index`` and so on; ``node/y`` where nodes are classified. Integers rest in the smallest type that
holds them and come out as int64.

Shapes: B graphs, N nodes and M edges of all graphs together, L labelled links.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils.data import Dataset
from torch_geometric.data import Batch, Data

from geco.errors import DataError

__all__ = ["ENDS", "LEVELS", "GraphDataset", "Info", "Level", "Split", "Target"]

Level = Literal["node", "graph", "link"]
Target = Literal["class", "labels", "values", "tokens"]
LEVELS = ("node", "edge", "link")  # those whose rows are cut into graphs by a pointer; graph rows are one a graph
ENDS = ("edge/edge_index", "link/edge_label_index")  # (2, .) arrays of node numbers, counted within their graph


@dataclass(frozen=True)
class Info:
    """What a data set asks for, in JSON's types.

    Args:
        name: of the data set.
        level: what is predicted: nodes, graphs or links.
        target: one class of several, several yes-or-no labels, real values or a sequence of tokens. Missing labels and
            values are NaN, missing classes -1; they count in no loss and no score.
        num_targets: number of classes, labels or values; of places for tokens.
        metric: name of the score.
        categories: number of categories of each column of x where x holds categories, else empty.
        edge_categories: the same for ``edge_attr``.
        names: of the targets (classes, columns, the kind of link in one graph, or the vocabulary of tokens), if they
            have any.
        note: what a reader of a result must know.
        directed: whether edges mean something in their direction only, so that training does not add the reverse ones.
    """

    name: str
    level: Level
    target: Target
    num_targets: int
    metric: str
    categories: tuple[int, ...] = ()
    edge_categories: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    note: str = ""
    directed: bool = field(default=False, repr=False)  # fingerprints are older than it

    def to_json(self) -> dict[str, Any]:
        """Return plain types."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Info:
        """Undo `to_json`."""
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}
        return cls(**values)


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers of the training, validation and test nodes or links (one graph) or graphs (several)."""

    train: Tensor
    valid: Tensor
    test: Tensor


@dataclass(frozen=True, eq=False)
class GraphDataset(Dataset[Data]):
    """A data set: ``dataset[i]`` is graph i as PyG `Data`, ``dataset.batch([3, 5])`` a PyG `Batch`.

    Args:
        info: what is asked.
        arrays: ``level/name`` to tensor, rows of all graphs after one another; ``ptr/node``, ``ptr/edge`` (and
            ``ptr/link``) ``(B + 1,)`` say where each graph starts; ``split/0/train`` and so on hold the splits.

    Example:
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> dataset = erdos_renyi(10, degree=2, graphs=3)
        >>> len(dataset), dataset[1].num_nodes, dataset.batch([0, 2]).num_graphs
        (3, 10, 2)
    """

    info: Info
    arrays: dict[str, Tensor] = field(repr=False)

    def __len__(self) -> int:
        """Return the number of graphs."""
        return self.arrays["ptr/node"].numel() - 1

    def __getitem__(self, index: int) -> Data:
        """Return one graph."""
        return Data(**self._gather(self._numbers([index])), num_nodes=int(self.sizes[index]))

    def batch(self, indices: Sequence[int] | Tensor) -> Batch:
        """Return several graphs as one PyG `Batch`, in the order given; ``graph_id`` holds their numbers."""
        chosen = self._numbers(indices)
        sizes = self.sizes[chosen]
        batch = Batch(
            **self._gather(chosen),
            batch=torch.repeat_interleave(torch.arange(len(chosen)), sizes),
            ptr=torch.nn.functional.pad(sizes.cumsum(0), (1, 0)),
            graph_id=chosen,
            num_nodes=int(sizes.sum()),
        )
        batch._num_graphs = len(chosen)
        return batch

    def split(self, number: int = 0) -> Split:
        """Return one of the data set's splits."""
        found = [self.arrays.get(f"split/{number}/{part}") for part in ("train", "valid", "test")]
        if any(part is None for part in found):
            raise DataError(f"{self.info.name} has splits 0 to {self.num_splits - 1}, split {number} was asked for")
        return Split(*(part.long() for part in found if part is not None))

    @property
    def unit(self) -> Level:
        """What a split is over: nodes or links of one graph, or graphs."""
        named = self.info.level == "link" and bool(self.info.names)  # by `geco.data.links.link_dataset`
        return self.info.level if len(self) == 1 and (named or self.info.level == "node") else "graph"

    @property
    def num_splits(self) -> int:
        """Number of splits."""
        return sum(1 for name in self.arrays if name.startswith("split/") and name.endswith("/train"))

    @cached_property
    def sizes(self) -> Tensor:
        """Number of nodes of each graph, ``(B,)``."""
        return self.arrays["ptr/node"].long().diff()

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs."""
        return int(self.arrays["ptr/node"][-1])

    @property
    def num_edges(self) -> int:
        """Directed edges of all graphs."""
        return int(self.arrays["ptr/edge"][-1])

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything in it: equal data sets, and only they, have equal fingerprints."""
        digest = hashlib.sha256(repr(self.info).encode())
        for name in sorted(self.arrays):
            array = self.arrays[name].contiguous()
            digest.update(f"{name} {array.dtype} {tuple(array.shape)}".encode())
            digest.update(array.view(torch.uint8).numpy().data if array.numel() else b"")
        return digest.hexdigest()

    def attach(self, name: str, array: Tensor) -> GraphDataset:
        """Return the data set with one more array, such as ``node/lap_pe`` with a row for each node."""
        level = name.split("/")[0]
        if level != "graph" and f"ptr/{level}" not in self.arrays:
            raise DataError(f"{name} must start with node/, edge/ or graph/ to be attached to {self.info.name}")
        rows = len(self) if level == "graph" else int(self.arrays[f"ptr/{level}"][-1])
        if len(array) != rows:
            raise DataError(f"{name} has {len(array)} rows, {self.info.name} has {rows}")
        return replace(self, arrays={**self.arrays, name: array})

    def _numbers(self, indices: Sequence[int] | Tensor) -> Tensor:
        chosen = torch.as_tensor(indices, dtype=torch.int64).view(-1)
        wrong = chosen[(chosen < -len(self)) | (chosen >= len(self))]
        if wrong.numel():
            raise IndexError(f"{self.info.name} has {len(self)} graphs, graph {int(wrong[0])} was asked for")
        return chosen % max(1, len(self))

    def _gather(self, chosen: Tensor) -> dict[str, Tensor]:
        """Return the rows of the chosen graphs by PyG name, node numbers counted through."""
        if len(self) == len(chosen) == 1:  # the whole data set: nothing to pick
            levels = ("graph", *LEVELS)
            return {k.split("/")[1]: _open(v) for k, v in self.arrays.items() if k.split("/")[0] in levels}
        rows = {"graph": chosen}
        shift = {}  # of the node numbers on each edge or link
        before = self.sizes[chosen].cumsum(0) - self.sizes[chosen]
        for level in LEVELS:
            if f"ptr/{level}" in self.arrays:
                ptr = self.arrays[f"ptr/{level}"].long()
                count = ptr[chosen + 1] - ptr[chosen]
                rows[level] = torch.repeat_interleave(ptr[chosen] - (count.cumsum(0) - count), count)
                rows[level] += torch.arange(rows[level].numel())
                shift[level] = torch.repeat_interleave(before, count)
        found = {}
        for key, array in self.arrays.items():
            level, _, name = key.partition("/")
            if level in rows:
                found[name] = _open(array.index_select(1 if key in ENDS else 0, rows[level]))
                if key in ENDS:
                    found[name] += shift[level]
        return found


def _open(array: Tensor) -> Tensor:
    return array if array.is_floating_point() or array.dtype == torch.bool else array.long()
