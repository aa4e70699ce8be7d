r"""A line through one large graph: clusters joined to ever larger ones, each a stretch of the line.

Shapes: N nodes, M directed edges, k clusters of a level.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csgraph, csr_array

from geco.nn.graph.colour_refinement import Array, Links, rank, refine

__all__ = ["clustered", "coordinate", "matrix"]

STEPS = 10  # of diffusion; a hundred brought nothing (`python -m geco.studies.orders`)
# Of refinement: four graphs of 7,650 to 169,343 nodes took 3 to 8 until nothing changed, long paths take N / 2.
ROUNDS = 32
DIGITS = 6  # of sums that are compared: rounding must not tell nodes apart


def clustered(graph: Links, colour: Array, steps: int = STEPS) -> Array:
    r"""Return the nodes in an order in which clusters at every scale stand together, the node at each place ``(N,)``.

    Every node joins the neighbour v to which :math:`w_{uv} / \sqrt{s_u s_v}` is largest (w number of edges, s sum of
    degrees), of equal ones that of the smallest colour, and all of those that share it; what is joined becomes one
    node, its colour the smallest in it, until no edges are left. Clusters stand side by side by the mean of their
    nodes' `coordinate`. Colours are refined, at first by themselves and then with the coordinate, so that few of them
    are alike even on a grid.

    Args:
        graph: undirected.
        colour: ranks, ``(N,)``; no choice depends on anything else.
        steps: of diffusion.

    Example:
        >>> from geco.nn.graph.colour_refinement import links
        >>> edges = np.array([[0, 2, 4, 1, 3, 0], [2, 4, 0, 3, 5, 5]])
        >>> graph = links(edges, 6)  # a triangle, and a path that begins at 0
        >>> clustered(graph, np.zeros(6, np.int64)).tolist()
        [1, 3, 5, 0, 2, 4]
    """
    weight, colour = matrix(graph), refine(graph, colour, ROUNDS)
    x = coordinate(weight, colour, steps)
    colour = refine(graph, rank(np.stack([colour, np.rint(x * 10**DIGITS).astype(np.int64)], 1))[0], ROUNDS)
    keys: list[Array] = [colour, x]
    label = np.arange(len(x))
    mean = x
    size: Array = np.ones(len(x))
    strength: Array = graph.degree.astype(np.float64)
    while weight.nnz:
        count, joined = csgraph.connected_components(_choices(weight, strength, colour), directed=False)
        total, size = np.bincount(joined, size * mean, count), np.bincount(joined, size, count)
        strength, colour = np.bincount(joined, strength, count), _least(joined, colour, count)
        mean = np.round(total / size, DIGITS)
        label = joined[label]
        keys += [label, colour[label], mean[label]]
        weight = _contracted(weight, joined, count)
    return np.lexsort(keys)


def matrix(graph: Links) -> csr_array:
    """Return the adjacency, ``(N, N)``."""
    return csr_array((np.ones(len(graph.index)), graph.index, graph.start), (len(graph.degree), len(graph.degree)))


def coordinate(weight: csr_array, colour: Array, steps: int = STEPS) -> Array:
    """Return how nodes lie along the longest way through their component, ``(N,)``: a distance made smooth by
    diffusion.

    The distance is from the end of a long way: three times to the nodes farthest away, of the smallest colour.
    Diffusion is the power method for the random walk's second eigenvector, stopped while it still tells parts apart.
    """
    nodes = weight.shape[0]
    count, part = csgraph.connected_components(weight, directed=False)
    degree = np.maximum(np.diff(weight.indptr), 1).astype(np.float64)
    x = np.zeros(nodes)
    for _ in range(3):
        key = colour - x.astype(np.int64) * nodes
        far = np.flatnonzero(key == _least(part, key, count)[part])
        x = csgraph.dijkstra(weight, directed=False, indices=far, unweighted=True, min_only=True)
    for _ in range(steps):
        x -= degree @ x / degree.sum()
        x = (x + weight @ x / degree) / 2
        x /= max(float(np.sqrt(degree @ (x * x) / nodes)), 1e-300)
    return np.round(x, DIGITS)


def _least(group: Array, value: Array, count: int) -> Array:
    """Return the smallest value of each group."""
    least = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(least, group, value)
    return least


def _choices(weight: csr_array, strength: Array, colour: Array) -> coo_array:
    """Return an edge from each cluster to those it is tied to most, at a tie of the smallest colour, ``(k, k)``."""
    count = weight.shape[0]
    row = np.repeat(np.arange(count), np.diff(weight.indptr))
    column = weight.indices
    tie = weight.data / np.sqrt(strength[row] * strength[column])
    best = np.zeros(count)
    np.maximum.at(best, row, tie)
    strongest = tie == best[row]
    row, column = row[strongest], column[strongest]
    chosen = colour[column] == _least(row, colour[column], count)[row]
    return coo_array((np.ones(chosen.sum(), np.int8), (row[chosen], column[chosen])), (count, count))


def _contracted(weight: csr_array, joined: Array, count: int) -> csr_array:
    """Return the edges between clusters, added up; those within one are gone."""
    ends = weight.tocoo()
    row, column = joined[ends.row], joined[ends.col]
    keep = row != column
    return csr_array(coo_array((ends.data[keep], (row[keep], column[keep])), (count, count)))
