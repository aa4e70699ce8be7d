r"""Node orders that come from the graph: nodes that are near each other in the graph stand near each other in a line.

Shapes: N nodes, M edges, C columns of colours.
"""

from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
import torch
from torch import Tensor

from geco.nn.graph.clusters import clustered
from geco.nn.graph.colour_refinement import Array, Links, links, rank, refine

__all__ = ["SMALL", "components", "depth_first", "lists", "structure_order"]

SMALL = 2000  # nodes up to which longest paths are searched for: at most a second, a few milliseconds for a molecule


def structure_order(
    edge_index: Tensor | Array, num_nodes: int, colours: Tensor | Array | None = None, version: int = 2
) -> Tensor:
    r"""Order the nodes of one graph by its structure and their colours alone, never by how somebody numbered them.

    A graph of up to `SMALL` nodes: colours are refined by those of the neighbours until none is split; from the end of
    a longest shortest path whose colour is smaller, the graph is walked depth first, at every node first into the
    branches that lead away from the other end, ties by colour. So a molecule's backbone is walked from end to end, each
    side chain on the way, and where most links between two colours point one way along it, as in a peptide, always that
    way. Components follow
    each other by size, then by colours. A larger graph: see `clustered`, its ties by refined colours. Renumber the
    nodes and the order is renumbered, up to nodes that refinement cannot tell apart.

    Args:
        edge_index: ends of each edge; directions, self loops and parallel edges do not count.
        num_nodes: N.
        colours: whole numbers that tell nodes apart, such as categories, compared column by column; smaller ones come
            first.
        version: 2, or 1, of before 2026-11-18 at night, which does not ask the links: for models trained with it.

    Shapes:
        ``edge_index`` (2, M), ``colours`` (N,) or (N, C) to (N,) int64: the node at each place.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
        >>> structure_order(edges, 4, torch.tensor([8, 6, 6, 7])).tolist()
        [3, 2, 1, 0]
    """
    ends, table = _checked(edge_index, num_nodes, colours)
    graph = links(ends, num_nodes)
    if version not in (1, 2):
        raise ValueError(f"version must be 1 or 2, got {version}")
    colour = rank(table)[0]
    return torch.from_numpy(_walks(graph, colour, version) if num_nodes <= SMALL else clustered(graph, colour))


def _checked(edge_index: Tensor | Array, num_nodes: int, colours: Tensor | Array | None) -> tuple[Array, Array]:
    """Return edges and colours, ``(2, M)`` and ``(N, C)``, as arrays of whole numbers."""
    ends, table = (np.asarray(a.detach().cpu() if isinstance(a, Tensor) else a) for a in (edge_index, colours))
    if ends.ndim != 2 or ends.shape[0] != 2 or (ends.size and ends.dtype.kind not in "iu"):
        raise ValueError(f"edge_index must be whole numbers of shape (2, M), got {ends.dtype} {ends.shape}")
    if ends.size and not 0 <= int(ends.min()) <= int(ends.max()) < num_nodes:
        raise ValueError(f"edge_index names nodes {ends.min()} to {ends.max()}, the graph has 0 to {num_nodes - 1}")
    if colours is None:
        return ends, np.zeros((num_nodes, 0), np.int64)
    if table.ndim not in (1, 2) or len(table) != num_nodes or table.dtype.kind not in "iub":
        raise ValueError(
            f"colours must be whole numbers of shape ({num_nodes},) or ({num_nodes}, C), got {table.dtype} "
            f"{table.shape}; "
            "leave real features out or round them"
        )
    return ends, table.reshape(num_nodes, table.shape[1] if table.ndim == 2 else 1)


def _walks(graph: Links, colour: Array, version: int) -> Array:
    """Return the walk through each component of a small graph, one after the other: by size, then by colours."""
    near = lists(graph)
    given = colour
    colour = refine(graph, colour)
    parts = components(near)
    if len(parts) <= 1:
        return _walk(graph, near, given, colour, version) if parts else np.zeros(0, np.int64)
    parts.sort(key=lambda part: (-len(part), sorted(colour[part].tolist())))
    walks = []
    for part in map(np.array, parts):
        alone = graph.renumbered(part)
        walks.append(part[_walk(alone, lists(alone), given[part], colour[part], version)])
    return np.concatenate(walks)


def lists(graph: Links) -> list[list[int]]:
    """Return the neighbours of each node."""
    index = graph.index.tolist()
    return [index[begin:end] for begin, end in pairwise(graph.start.tolist())]


def components(near: list[list[int]]) -> list[list[int]]:
    """Return the nodes of each connected component."""
    seen = [False] * len(near)
    parts = []
    for start in range(len(near)):
        if not seen[start]:
            seen[start] = True
            part = [start]
            for node in part:  # grows as nodes are found
                found = [other for other in near[node] if not seen[other]]
                for other in found:
                    seen[other] = True
                part += found
            parts.append(part)
    return parts


def _walk(graph: Links, near: list[list[int]], given: Array, colour: Array, version: int) -> Array:
    """Return one component's nodes depth first from one end of a longest shortest path, towards the other end last."""
    far = _ends(graph)
    first = int(far[colour[far].argmin()])
    there = _distances(near, first)
    finer = refine(graph, rank(np.stack([colour, there], 1))[0])
    far = (there == there.max()).nonzero()[0]
    last = int(far[finer[far].argmin()])
    back = _distances(near, last)
    if version == 2 and _falls(graph, given, there, back):
        first, there, back = last, back, there
        finer = refine(graph, rank(np.stack([colour, there], 1))[0])
    return depth_first(near, first, refine(graph, rank(np.stack([-back, finer], 1))[0]).tolist())


def _falls(graph: Links, colour: Array, there: Array, back: Array) -> bool:
    """Return whether the links of a chain say that it should be read from its other end.

    Each edge between two colours votes for the direction in which the larger one comes later; edges of side chains,
    which lead away from both ends alike, do not. The pair of colours with most votes more one way than the other
    decides, so that all chains of alike links are read alike, if these are more than the square root of the path, more
    than random colours have.
    """
    node = np.repeat(np.arange(len(colour)), graph.degree)
    height = there - back
    up = (colour[node] < colour[graph.index]).nonzero()[0]
    low, high = node[up], graph.index[up]
    pair = np.unique(colour[low] * (int(colour.max()) + 1) + colour[high], return_inverse=True)[1]
    votes = np.bincount(pair, np.sign(height[high] - height[low]), minlength=1)
    most = float(votes[np.abs(votes).argmax()])
    return most < 0 and most**2 > float(there.max())


def _ends(graph: Links) -> Array:
    """Return the ends of all longest shortest paths of a connected graph."""
    nodes = len(graph.degree)
    words = -(-nodes // 64)
    seen = np.packbits(np.eye(nodes, 64 * words, dtype=bool), axis=1).view(np.uint64)  # who is within so many steps
    table = np.where(graph.table == nodes, np.arange(nodes)[:, None], graph.table).T
    last = np.arange(nodes)
    while True:
        more = seen.copy()
        for column in table:
            more |= seen[column]
        changed = (more != seen).any(1).nonzero()[0]
        if not len(changed):
            return last
        seen, last = more, changed


def _distances(near: list[list[int]], start: int) -> Array:
    """Return the number of steps from a node to each node of a connected graph, ``(N,)``."""
    found = [-1] * len(near)
    found[start] = steps = 0
    ring = [start]
    while ring:
        steps += 1
        then = []
        for other in chain.from_iterable([near[node] for node in ring]):
            if found[other] < 0:
                found[other] = steps
                then.append(other)
        ring = then
    return np.array(found)


def depth_first(near: list[list[int]], start: int, key: list[int]) -> Array:
    """Return the nodes in the order of their first visits, at every node to the smallest key first."""
    seen = [False] * len(near)
    order = []
    stack = [start]
    while stack:
        node = stack.pop()
        if not seen[node]:
            seen[node] = True
            order.append(node)
            stack += sorted([other for other in near[node] if not seen[other]], key=key.__getitem__, reverse=True)
    return np.array(order)
