"""The node orders of a batch. That of its structure: places that came with the data, or worked out from the edges.

Shapes: N nodes, M edges.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geco.nn.graph.adjacency import endpoints
from geco.nn.graph.permutation import arranged
from geco.nn.graph.remembered import Remembered
from geco.nn.graph.rings import Rings, rings_of
from geco.nn.graph.structure_order import structure_order

__all__ = ["placed", "places"]

_cache = Remembered[Tensor]()


@torch.compiler.disable  # type: ignore[untyped-decorator]
def placed(rings: Rings, edge_index: Tensor, batch: Tensor | None, place: Tensor | None) -> Rings:
    """Put the nodes of each graph in the order of their places.

    Args:
        rings: the graphs.
        edge_index: of the batch.
        batch: graph of each node, ``(N,)``, or None.
        place: of each node in its graph, ``(N,)`` int64, as `geco.data.StructureOrder` makes it with node categories;
            None works it out from the edges alone.
    """
    nodes = rings.num_nodes
    if place is None:
        place = places(edge_index, nodes, batch)
    if place.shape != (nodes,) or place.is_floating_point():
        raise ValueError(f"place must be whole numbers of shape ({nodes},), got {place.dtype} {tuple(place.shape)}")
    return arranged(rings, batch, torch.argsort(place, stable=True))


def places(edge_index: Tensor, num_nodes: int, batch: Tensor | None = None) -> Tensor:
    """Return the place of each node in its graph's `structure_order`, ``(N,)``; the same tensors give the same one
    back.

    Example:
        >>> places(torch.tensor([[0, 2, 3], [1, 3, 4]]), 5, torch.tensor([0, 0, 1, 1, 1]))
        tensor([0, 1, 0, 1, 2])
    """
    return _cache.get(edge_index, batch, num_nodes, lambda: _places(edge_index, num_nodes, batch))


def _places(edge_index: Tensor, num_nodes: int, batch: Tensor | None) -> Tensor:
    source, target, _ = (ends.cpu() for ends in endpoints(edge_index, num_nodes, None))
    graph = torch.zeros(num_nodes, dtype=torch.int64) if batch is None else batch.cpu().long()
    rings = rings_of(num_nodes, graph, graph.device)
    nodes = torch.arange(num_nodes) if rings.permutation is None else rings.permutation
    by_graph = torch.argsort(graph[source], stable=True)
    number = torch.argsort(nodes)  # of each node, counted through the rings
    ends = number[torch.stack([source, target])[:, by_graph]]
    counts = torch.bincount(graph[source], minlength=int(graph.max()) + 1)[rings.graph].tolist()
    place = torch.empty(num_nodes, dtype=torch.int64)
    first = 0
    for size, edges in zip(rings.sizes, ends.split(counts, dim=1), strict=True):
        order = structure_order(edges - first, size)
        place[nodes[first + order]] = torch.arange(size)
        first += size
    return place.to(edge_index.device)
