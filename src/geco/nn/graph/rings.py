"""Graphs in a batch: which node stands where on whose ring.

Shapes: N nodes in all, B graphs; graph g has ``sizes[g]`` nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from geco.nn.graph.span import Span

__all__ = ["Rings", "one_ring", "rings_of"]


@dataclass(frozen=True)
class Rings:
    """The rings of a batch of graphs, one for each.

    Args:
        sizes: number of nodes of each graph that has any, in the order of the graphs.
        graph: number of each of these graphs, ``(B,)``.
        permutation: node at each place when the rings stand one after the other, ``(N,)``; None if nodes are in that
            order.
        span: the places of a single ring that are here, in that order, if others are elsewhere.
    """

    sizes: tuple[int, ...]
    graph: Tensor
    permutation: Tensor | None = None
    span: Span | None = None

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.sizes[0] if len(self.sizes) == 1 else sum(self.sizes)

    @property
    def num_rows(self) -> int:
        """N, or the number of nodes that are here."""
        return self.num_nodes if self.span is None else self.span.count

    def arrange(self, x: Tensor) -> Tensor:
        """Bring node rows into the rings' places, ``(N, D)`` to ``(N, D)``."""
        return x if self.permutation is None else x.index_select(0, self.permutation)

    def restore(self, x: Tensor) -> Tensor:
        """Undo `arrange`, ``(N, D)`` to ``(N, D)``."""
        return x if self.permutation is None else x.index_select(0, torch.argsort(self.permutation))

    def number(self) -> Tensor:
        """Return the index into `graph` of the ring at each place, ``(N,)``."""
        if len(self.sizes) == 1:
            return torch.zeros(self.sizes[0], dtype=torch.int64, device=self.graph.device)
        sizes = torch.tensor(self.sizes, device=self.graph.device)
        return torch.repeat_interleave(torch.arange(len(self.sizes), device=sizes.device), sizes)


def one_ring(num_nodes: int, device: torch.device) -> Rings:
    """Return the ring of a single graph, unchecked; ``num_nodes`` may be a traced size."""
    return Rings((num_nodes,), torch.zeros(1, dtype=torch.long, device=device))


def rings_of(num_nodes: int, batch: Tensor | None, device: torch.device) -> Rings:
    """Check a batch vector and read the graphs off it; nodes need not be sorted by graph.

    Args:
        num_nodes: N.
        batch: graph of each node, ``(N,)`` int64, or None for one graph. Numbers without nodes are empty graphs.
        device: where x is.

    Example:
        >>> rings_of(5, torch.tensor([0, 0, 2, 2, 2]), torch.device("cpu")).sizes
        (2, 3)
    """
    if num_nodes == 0:
        raise ValueError("x has no nodes; a graph needs at least one")
    if batch is None:
        return one_ring(num_nodes, device)
    if batch.dim() != 1 or batch.shape[0] != num_nodes or batch.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"batch must be an integer tensor of shape ({num_nodes},), the graph of each node, "
            f"got {batch.dtype} {tuple(batch.shape)}"
            + ("; weights of edges go in as edge_weight=" if batch.is_floating_point() else "")
        )
    if batch.device != device:
        raise ValueError(f"batch is on {batch.device}, x on {device}; move both to one device")
    if batch.is_meta:
        raise ValueError(
            "batch is on the meta device and has no values to read graphs from; leave it out for one graph"
        )
    if int(batch.min()) < 0:
        raise ValueError(f"batch holds the negative graph number {int(batch.min())}; number graphs from 0")
    graph, counts = torch.unique(batch, return_counts=True)
    sorted_already = bool((batch[1:] >= batch[:-1]).all())
    permutation = None if sorted_already else torch.argsort(batch, stable=True)
    return Rings(tuple(counts.tolist()), graph, permutation)
