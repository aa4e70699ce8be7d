"""What a data set holds, counted: sizes, edges, degrees, components, targets and splits.

Everything is counted over blocks of whole graphs, so memory stays small beside the data set: about 20 bytes for each
edge of the largest block, which is one graph or `BLOCK` edges, whichever is more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from geco.data.dataset import GraphDataset
from geco.data.target_counts import TargetCount, count_targets

__all__ = ["Statistics", "bins", "statistics"]

BLOCK = 1 << 22  # edges of many small graphs that are counted together
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Statistics:
    """Counts of a data set; nodes and edges are of all graphs together.

    Args:
        graphs: number of graphs.
        nodes: number of nodes.
        smallest: nodes of the smallest graph.
        largest: nodes of the largest graph.
        directed: edges as stored, an edge in both directions counted twice.
        undirected: pairs of nodes with an edge in either direction, self loops included.
        reversed: pairs of different nodes with edges in both directions.
        loops: edges from a node to itself, each counted once.
        duplicates: edges stored more than once, beyond the first.
        isolated: nodes without a neighbour; a self loop is none.
        components: connected components, direction left out.
        degrees: nodes with 0, 1, 2, ... neighbours; neighbours are other nodes with an edge in either direction.
        features: columns of x.
        edge_features: columns of ``edge_attr``.
        targets: classes, labels, values or links.
        missing: rows without any target.
        splits: rows of training, validation and test part of each split.
    """

    graphs: int
    nodes: int
    smallest: int
    largest: int
    directed: int
    undirected: int
    reversed: int
    loops: int
    duplicates: int
    isolated: int
    components: int
    degrees: Numbers = field(repr=False)
    features: int
    edge_features: int
    targets: tuple[TargetCount, ...]
    missing: int
    splits: tuple[tuple[int, int, int], ...]

    @property
    def mean_degree(self) -> float:
        """Mean number of neighbours."""
        return float(self.degrees @ np.arange(len(self.degrees))) / max(1, self.nodes)


def statistics(dataset: GraphDataset) -> Statistics:
    """Count what a data set holds.

    Example:
        >>> import torch
        >>> from geco.data.collate import collect
        >>> from geco.data.dataset import Info
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> path = {"edge_index": edges, "num_nodes": 4, "y": torch.tensor([0, 1, 1, 0])}
        >>> found = statistics(collect(Info("path", "node", "class", 2, "accuracy"), [path]))
        >>> found.undirected, found.isolated, found.components, found.degrees.tolist()
        (2, 1, 2, [1, 2, 1])
    """
    totals = dict.fromkeys(("undirected", "reversed", "loops", "duplicates", "components"), 0)
    degrees = np.zeros(1, np.int64)
    for nodes, ends in _blocks(dataset):
        counts, degree = _count(nodes, ends)
        degrees = _add(degrees, np.bincount(degree))
        totals = {name: total + counts[name] for name, total in totals.items()}
    sizes = dataset.sizes
    targets, missing = count_targets(dataset)
    return Statistics(
        graphs=len(dataset),
        nodes=dataset.num_nodes,
        smallest=int(sizes.min()) if len(sizes) else 0,
        largest=int(sizes.max()) if len(sizes) else 0,
        directed=dataset.num_edges,
        isolated=int(degrees[0]),
        degrees=degrees,
        features=_width(dataset, "node/x"),
        edge_features=_width(dataset, "edge/edge_attr"),
        targets=targets,
        missing=missing,
        splits=_splits(dataset),
        **totals,
    )


def bins(degrees: Numbers) -> list[tuple[int, int, int]]:
    """Return ``(lowest, highest degree, nodes)`` of 0, 1, 2-3, 4-7 and so on, up to the largest degree.

    Example:
        >>> bins(np.array([5, 1, 2, 3, 4]))
        [(0, 0, 5), (1, 1, 1), (2, 3, 5), (4, 7, 4)]
    """
    edges = [0, *(1 << i for i in range(max(0, len(degrees) - 1).bit_length() + 1))]
    ranges = [(low, high - 1) for low, high in pairwise(edges) if low < len(degrees)]
    return [(low, high, int(degrees[low : high + 1].sum())) for low, high in ranges]


def _blocks(dataset: GraphDataset) -> Iterator[tuple[int, Numbers]]:
    """Yield the number of nodes and the edges ``(2, M)`` of runs of graphs, nodes counted through within a run."""
    node_ptr, edge_ptr = (dataset.arrays[f"ptr/{level}"].long().numpy() for level in ("node", "edge"))
    ends = dataset.arrays["edge/edge_index"].numpy()
    first = 0
    while first < len(dataset):
        last = max(first + 1, int(np.searchsorted(edge_ptr, edge_ptr[first] + BLOCK, "right")) - 1)
        edges = ends[:, edge_ptr[first] : edge_ptr[last]]
        if last > first + 1:
            edges = edges + np.repeat(node_ptr[first:last] - node_ptr[first], np.diff(edge_ptr[first : last + 1]))
        yield int(node_ptr[last] - node_ptr[first]), edges
        first = last


def _count(nodes: int, ends: Numbers) -> tuple[dict[str, int], Numbers]:
    """Return counts of one block and the degree of each of its nodes."""
    keys = _keys(nodes, ends)
    distinct = keys[_firsts(keys)]
    duplicates = len(keys) - len(distinct)
    del keys
    directed = len(distinct)
    distinct >>= 1
    pairs = distinct[_firsts(distinct)]
    del distinct
    low, high = np.divmod(pairs, max(1, nodes))
    plain = low != high
    counts = {
        "undirected": len(pairs),
        "reversed": directed - len(pairs),
        "loops": len(pairs) - int(plain.sum()),
        "duplicates": duplicates,
        "components": _components(nodes, low, high),
    }
    return counts, np.bincount(low[plain], minlength=nodes) + np.bincount(high[plain], minlength=nodes)


def _keys(nodes: int, ends: Numbers) -> Numbers:
    """Return a number for each edge, sorted; those of the two directions of a pair differ in the last bit only."""
    keys = np.empty(ends.shape[1], np.int64)
    for start in range(0, len(keys), BLOCK):
        source, sink = ends[:, start : start + BLOCK].astype(np.int64)
        keys[start : start + BLOCK] = (np.minimum(source, sink) * nodes + np.maximum(source, sink)) * 2 + (
            source > sink
        )
    keys.sort()
    return keys


def _firsts(ordered: Numbers) -> NDArray[np.bool_]:
    """Mark the first of each run of equal numbers."""
    marks = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=marks[1:])
    return marks


def _components(nodes: int, low: Numbers, high: Numbers) -> int:
    """Return the number of connected components, joining nodes by `BLOCK` edges at a time."""
    count = nodes
    label = np.arange(nodes)
    for start in range(0, len(low), BLOCK):
        part = slice(start, start + BLOCK)
        ends = (label[low[part]], label[high[part]])
        graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(count, count))
        count, found = connected_components(graph, directed=True, connection="weak")
        label = found[label]
    return int(count)


def _add(a: Numbers, b: Numbers) -> Numbers:
    short, long = sorted((a, b), key=len)
    total = long.astype(np.int64)
    total[: len(short)] += short
    return total


def _width(dataset: GraphDataset, name: str) -> int:
    array = dataset.arrays.get(name)
    return 0 if array is None else 1 if array.dim() == 1 else array.shape[1]


def _splits(dataset: GraphDataset) -> tuple[tuple[int, int, int], ...]:
    splits = (dataset.split(number) for number in range(dataset.num_splits))
    return tuple((len(s.train), len(s.valid), len(s.test)) for s in splits)
