"""Encodings of a whole data set: cached, parallel over graphs, the same whatever the number of processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch

from geco.console import progress
from geco.data.cache import Cache
from geco.data.collate import narrowed
from geco.data.dataset import GraphDataset
from geco.data.encodings.base import Array, Encoding
from geco.data.encodings.budget import Graph, announce, check_memory, seconds_needed
from geco.data.parallel import in_order, processors
from geco.errors import UsageError
from geco.store import Entry

__all__ = ["encode"]

Chunk = tuple[Array, Array, Array, Array | None, Array | None]
STRUCTURE = ("ptr/node", "ptr/edge", "edge/edge_index", "edge/edge_weight")  # all that an encoding may depend on
CHUNK = 0.3  # seconds of work in one task
WORTHWHILE = 5.0  # seconds from which processes are started


def encode(
    dataset: GraphDataset, encodings: Sequence[Encoding], cache: Cache | None = None, workers: int | None = None
) -> GraphDataset:
    """Return the data set with encodings as ``node/<name>``, from the cache if they were computed before.

    Args:
        dataset: the graphs; their ``edge_weight`` is used if they have one.
        encodings: which.
        cache: where results are kept.
        workers: number of processes; 0 works in this one. If not given, one for each processor where the work takes
            more than a few seconds.

    Example:
        >>> import tempfile, pathlib
        >>> from geco.data.encodings import Degree
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> cache = Cache(pathlib.Path(tempfile.mkdtemp()))
        >>> encode(erdos_renyi(5, degree=2, graphs=3), [Degree()], cache).arrays["node/degree"].shape
        torch.Size([15, 1])
    """
    cache = cache or Cache()
    _check(dataset, encodings)
    plain, coloured = (
        _only(dataset, STRUCTURE),
        _only(dataset, (*STRUCTURE, *(["node/x"] if dataset.info.categories else []))),
    )
    for encoding in encodings:
        graphs = coloured if encoding.ordinal else plain
        recipe = {"dataset": graphs.fingerprint, "encoding": encoding.recipe()}

        def build(encoding: Encoding = encoding, graphs: GraphDataset = graphs) -> Entry:
            return Entry(
                {"encoding": narrowed(torch.from_numpy(_compute(graphs, encoding, workers)))}, {"name": encoding.name}
            )

        found = cache.fetch(f"{dataset.info.name}-{encoding.name}", recipe, build)
        dataset = dataset.attach(f"node/{encoding.name}", found.arrays["encoding"])
    return dataset


def _only(dataset: GraphDataset, names: Sequence[str]) -> GraphDataset:
    return replace(dataset, arrays={key: dataset.arrays[key] for key in names if key in dataset.arrays})


def _check(dataset: GraphDataset, encodings: Sequence[Encoding]) -> None:
    names = [encoding.name for encoding in encodings]
    for name in names:
        if names.count(name) > 1 or name in ("x", "y"):
            raise UsageError(f"two arrays would be called node/{name}; encode with one of them at a time")
    weight = dataset.arrays.get("edge/edge_weight")
    if weight is not None and weight.numel() != dataset.num_edges:
        raise UsageError(
            f"edge_weight must be one number an edge, got {tuple(weight.shape)} for {dataset.num_edges:,} edges"
        )


def _compute(dataset: GraphDataset, encoding: Encoding, workers: int | None) -> Array:
    """Return the encoding of all nodes, ``(N, k)``, or ``(N,)`` if it is ordinal."""
    graphs = _Graphs(dataset)
    nodes, edges = graphs.node.diff().numpy(), graphs.edge.diff().numpy()
    seconds = seconds_needed(encoding, nodes, edges, graphs.one)
    if workers is None:
        workers = processors() if seconds > WORTHWHILE and len(dataset) > 1 else 0
    memory = check_memory(encoding, nodes, edges, workers)
    announce(f"{dataset.info.name}: {encoding.name}", seconds / max(1, min(workers, len(dataset))), memory)
    work = np.array([encoding.work(int(n), int(m)) for n, m in zip(nodes, edges, strict=True)])
    bounds = _cut(work, max(1, round(seconds / CHUNK)), 4 * workers)
    tasks = [(encoding, *graphs.chunk(begin, end)) for begin, end in pairwise(bounds)]
    nodes_in_all = dataset.num_nodes
    out: Array = (
        np.empty(nodes_in_all, np.int64) if encoding.ordinal else np.empty((nodes_in_all, encoding.width), np.float32)
    )
    row = 0
    results = (array for chunk in in_order(encode_chunk, tasks, workers) for array in chunk)
    for array in progress(results, encoding.name, len(dataset), "graphs"):
        out[row : row + len(array)] = array
        row += len(array)
    return out


class _Graphs:
    """The graphs as numpy arrays, cut without copies."""

    def __init__(self, dataset: GraphDataset) -> None:
        self.node, self.edge = (dataset.arrays[f"ptr/{level}"].long() for level in ("node", "edge"))
        self.ends = dataset.arrays["edge/edge_index"].numpy()
        weight = dataset.arrays.get("edge/edge_weight")
        self.weight = None if weight is None else weight.reshape(-1).numpy()
        self.colours = dataset.arrays["node/x"].numpy() if "node/x" in dataset.arrays else None

    def chunk(self, begin: int, end: int) -> Chunk:
        """Return sizes, edge counts, edges, weights and colours of some graphs."""
        low, high = int(self.edge[begin]), int(self.edge[end])
        nodes, edges = (ptr[begin : end + 1].diff().numpy() for ptr in (self.node, self.edge))
        colours = None if self.colours is None else self.colours[int(self.node[begin]) : int(self.node[end])]
        return nodes, edges, self.ends[:, low:high], None if self.weight is None else self.weight[low:high], colours

    def one(self, index: int) -> Graph:
        """Return the arguments of an encoding of one graph."""
        return next(_each(*self.chunk(index, index + 1)))


def encode_chunk(encoding: Encoding, *chunk: *Chunk) -> list[Array]:
    """Return the encodings of some graphs; runs in a worker."""
    return [encoding.compute(*graph) for graph in _each(*chunk)]


def _each(nodes: Array, edges: Array, ends: Array, weight: Array | None, colours: Array | None) -> Iterator[Graph]:
    """Yield the arguments of an encoding of each graph."""
    last, stop = nodes.cumsum(), edges.cumsum()
    for count, high, begin, end in zip(nodes, last, stop - edges, stop, strict=True):
        own = () if colours is None else (colours[high - count : high],)
        yield ends[:, begin:end], int(count), None if weight is None else weight[begin:end], *own


def _cut(work: Array, pieces: int, least: int) -> list[int]:
    """Return where to cut the graphs into pieces of about equal work, at least one graph each."""
    count = len(work)
    pieces = min(count, max(pieces, least, 1))
    share = work.cumsum() / max(float(work.sum()), 1e-300)
    inner = np.searchsorted(share, np.arange(1, pieces) / max(pieces, 1)) + 1
    return sorted({0, count, *(int(i) for i in inner if i < count)})
