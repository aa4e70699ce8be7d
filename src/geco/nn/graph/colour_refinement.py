r"""Colour refinement: nodes told apart by what is around them, the ranks a function of the graph and never of its
numbering.

Shapes: N nodes, M directed edges, C columns of colours, d largest degree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Links", "links", "rank", "refine"]

Array = NDArray[Any]
TABLE = 8_000_000  # entries up to which a table of neighbours is sorted; beyond, neighbours are summed up by a hash
LARGEST = 2**62  # of a key made of several columns
MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # splitmix64's


@dataclass(frozen=True)
class Links:
    """An undirected graph without loops or parallel edges; v has neighbours ``index[start[v] : start[v + 1]]``."""

    start: Array
    index: Array

    @cached_property
    def degree(self) -> Array:
        """Number of neighbours, ``(N,)``."""
        return np.diff(self.start)

    @cached_property
    def table(self) -> Array:
        """Neighbours side by side, ``(N, d)``, N where a node has fewer."""
        nodes, width = len(self.degree), int(self.degree.max(initial=0))
        table = np.full((nodes, width), nodes)
        table[np.arange(width) < self.degree[:, None]] = self.index
        return table

    def renumbered(self, order: Array) -> Links:
        """Return the graph of the nodes of ``order``, numbered as they stand there; edges to other nodes must not
        exist.

        Example:
            >>> links(np.array([[0, 1], [1, 2]]), 3).renumbered(np.array([1, 0, 2])).index
            array([1, 2, 0, 0])
        """
        new = np.full(len(self.degree), -1)
        new[order] = np.arange(len(order))
        row = np.repeat(new, self.degree)
        key = np.sort(row[row >= 0] * len(order) + new[self.index[row >= 0]])
        return _links(key, len(order))


def links(edge_index: Array, num_nodes: int) -> Links:
    """Return the undirected graph of some edges, ``(2, M)``.

    Example:
        >>> links(np.array([[0, 1, 1, 1], [1, 0, 2, 1]]), 3).index
        array([1, 0, 2, 1])
    """
    source, target = edge_index.astype(np.int64)
    keep = source != target
    source, target = source[keep], target[keep]
    key = np.sort(np.concatenate([source * num_nodes + target, target * num_nodes + source]))
    return _links(key[np.diff(key, prepend=-1) > 0], num_nodes)


def _links(key: Array, num_nodes: int) -> Links:
    return Links(np.searchsorted(key, np.arange(num_nodes + 1) * num_nodes), key % max(1, num_nodes))


def rank(columns: Array, high: int | None = None) -> tuple[Array, int]:
    """Return the rank of every row among the different rows, compared column by column, ``(N,)``, and how many there
    are.

    Args:
        columns: ``(N, C)`` integers.
        high: one more than the largest of them where they are known to be 0 or more.

    Example:
        >>> rank(np.array([[1, 7], [0, 9], [1, 7], [0, 8]]))
        (array([2, 1, 2, 0]), 3)
    """
    key = np.zeros(len(columns), np.int64)
    room = 1
    for column in columns.T:
        if high is None:
            column, top = _dense(column)
        else:
            top = high
        if room * top > LARGEST:
            key, room = _dense(key)
        key, room = key * top + column, room * top
    return _dense(key)


def _dense(key: Array) -> tuple[Array, int]:
    if not len(key):
        return np.zeros(0, np.int64), 0
    order = key.argsort(kind="stable")
    there = key[order]
    place = np.empty(len(key), np.int64)
    place[order[0]] = 0
    place[order[1:]] = step = (there[1:] != there[:-1]).cumsum()
    return place, int(step[-1]) + 1 if len(step) else 1


def refine(graph: Links, colour: Array, rounds: int | None = None) -> Array:
    r"""Return finer colours: ranks of (colour, colours of the neighbours in order), again and again until none is
    split.

    An older colour stays the major key. Two nodes of one colour are told apart by the colours around them, fewer
    neighbours first; what comes first depends on trees of colours around the nodes only, so it is the same in every
    graph. Where a table of neighbours would be large, a sum of hashes takes its place: the same split, in an order that
    means nothing.

    Args:
        graph: undirected.
        colour: ranks ``(N,)``.
        rounds: at most so many; until nothing changes if None.

    Example:
        >>> refine(links(np.array([[0, 1, 2, 3], [1, 2, 3, 4]]), 5), np.zeros(5, np.int64))
        array([0, 1, 2, 1, 0])
    """
    nodes = len(colour)
    colour, count = _dense(colour)
    before = 0
    width = int(graph.degree.max(initial=0))
    while before < count < nodes and rounds != 0:
        before = count
        rounds = None if rounds is None else rounds - 1
        if nodes * width <= TABLE:
            around = np.sort(np.append(colour + 1, 0)[graph.table], axis=1)  # no neighbour is 0: fewer come first
            colour, count = rank(np.concatenate([colour[:, None], around], axis=1), count + 1)
        else:
            colour, count = _by_hash(graph, colour)
    return colour


def _by_hash(graph: Links, colour: Array) -> tuple[Array, int]:
    """Split colours by the sum of a hash of the neighbours' colours, modulo 2^64."""
    x = colour.astype(np.uint64) * MIX[0] + MIX[0]
    x = (x ^ (x >> np.uint64(30))) * MIX[1]
    x = (x ^ (x >> np.uint64(27))) * MIX[2]
    x ^= x >> np.uint64(31)
    total = np.concatenate([np.zeros(1, np.uint64), x[graph.index].cumsum(dtype=np.uint64)])
    around = total[graph.start[1:]] - total[graph.start[:-1]]
    order = np.lexsort((around, colour))
    step = (np.diff(around[order]) != 0) | (np.diff(colour[order]) != 0)
    place = np.zeros(len(colour), np.int64)
    place[order[1:]] = step.cumsum()
    return place, int(step.sum()) + 1
