"""Node orders. An order is a pure function of (seed, epoch, layer, graph), never of a generator's hidden state.

Each node gets a hash of that key and of its place in its graph; sorting by the hash is the permutation. So a graph's
order does not depend on its batch mates, and resumed runs, several processes and other devices agree.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from geco.nn.segments import Segments, segments

__all__ = ["arranged", "layer_orders", "shuffled", "splitmix"]

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as int64: splitmix64's increment
_MIX = (-4658895280553007687, -7723592293110705685)  # 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def shuffled(rings: Segments, seed: int, epoch: int = 0, layer: int = 0, graph_id: Tensor | None = None) -> Segments:
    """Permute each graph's nodes by a pure function of its arguments and the graph's size.

    Args:
        rings: the graphs in their present order.
        seed: of the run.
        epoch: of the run; 0 for a static order.
        layer: number of the layer; 0 for an order shared by all layers.
        graph_id: number of each graph in its data set, indexed by graph number, ``(B,)``; without it graphs of one size
            share an order.

    Example:
        >>> rings = Segments((4, 2), torch.arange(2))
        >>> shuffled(rings, seed=0).order.tolist() == shuffled(rings, seed=0).order.tolist()
        True
    """
    ring = rings.ring()
    sizes = torch.tensor(rings.sizes, device=ring.device)
    place = torch.arange(ring.numel(), device=ring.device) - (sizes.cumsum(0) - sizes)[ring]
    key = torch.zeros_like(sizes)
    for word in (seed, epoch, layer, 0 if graph_id is None else graph_id[rings.graph].long(), sizes):
        key = splitmix(key ^ word)
    by_hash = torch.argsort(splitmix(key[ring] ^ splitmix(place)), stable=True)
    order = by_hash[torch.argsort(ring[by_hash], stable=True)]
    return replace(rings, order=order if rings.order is None else rings.order[order])


def layer_orders(
    kind: str, layers: int, x: Tensor, batch: Tensor | None, graph_id: Tensor | None, *, seed: int, epoch: int
) -> list[Tensor | None]:
    """Return the order of every layer, None for the natural one: ``static`` shares one, ``dynamic`` has one for each.

    Example:
        >>> layer_orders("natural", 2, torch.randn(3, 1), None, None, seed=0, epoch=0)
        [None, None]
    """
    if kind == "natural":
        return [None] * layers
    rings = segments(len(x), batch, x.device)
    if kind == "static":
        return [shuffled(rings, seed, 0, 0, graph_id).order] * layers
    return [shuffled(rings, seed, epoch, layer, graph_id).order for layer in range(layers)]


def arranged(rings: Segments, batch: Tensor | None, order: Tensor) -> Segments:
    """Place nodes on their rings in a given order.

    Args:
        rings: the graphs.
        batch: graph of each node, ``(N,)``, or None.
        order: permutation, ``(N,)`` int64: the node at each place; nodes of one graph keep their relative order.
    """
    nodes = sum(rings.sizes)
    if order.dim() != 1 or order.shape[0] != nodes or order.dtype != torch.int64:
        raise ValueError(f"order must be an int64 tensor of shape ({nodes},), got {order.dtype} {tuple(order.shape)}")
    if order.device != rings.graph.device:
        raise ValueError(f"order is on {order.device}, x on {rings.graph.device}; move both to one device")
    low, high = (int(v) for v in torch.aminmax(order))
    if low < 0 or high >= nodes or int(torch.bincount(order, minlength=nodes).max()) > 1:
        raise ValueError(f"order is not a permutation of 0 to {nodes - 1}: each node must appear exactly once")
    return replace(rings, order=order if batch is None else order[torch.argsort(batch[order], stable=True)])


def splitmix(x: Tensor) -> Tensor:
    """Mix 64 bits (splitmix64); int64 products wrap around."""
    x = x + _GOLDEN
    x = (x ^ _shift(x, 30)) * _MIX[0]
    x = (x ^ _shift(x, 27)) * _MIX[1]
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Shift right without the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
