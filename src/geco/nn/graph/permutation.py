"""Node orders. An order is a pure function of (seed, epoch, layer, graph), never of a generator's hidden state.

Each node gets a hash of that key and of its place in its graph; sorting by the hash is the permutation. So a graph's
order does not depend on its batch mates, and resumed runs, several processes and other devices agree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from geco.nn.graph.rings import Rings

__all__ = ["Permutation", "arranged", "shuffled", "splitmix"]

Permutation = Literal["natural", "static", "dynamic", "structure"]

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as int64: splitmix64's increment
_MIX = (-4658895280553007687, -7723592293110705685)  # 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def shuffled(rings: Rings, seed: int, epoch: int = 0, layer: int = 0, graph_id: Tensor | None = None) -> Rings:
    """Permute each graph's nodes by a pure function of its arguments and the graph's size.

    Args:
        rings: the graphs in their present order.
        seed: of the run.
        epoch: of the run; 0 for a static order.
        layer: number of the layer; 0 for an order shared by all layers.
        graph_id: number of each graph in its data set, indexed by graph number, ``(B,)``; without it graphs of one size
            share an order.

    Example:
        >>> rings = Rings((4, 2), torch.arange(2))
        >>> shuffled(rings, seed=0).permutation.tolist() == shuffled(rings, seed=0).permutation.tolist()
        True
    """
    ring = rings.number()
    sizes = torch.tensor(rings.sizes, device=ring.device)
    place = torch.arange(ring.numel(), device=ring.device) - (sizes.cumsum(0) - sizes)[ring]
    key = torch.zeros_like(sizes)
    for word in (seed, epoch, layer, 0 if graph_id is None else graph_id[rings.graph].long(), sizes):
        key = splitmix(key ^ word)
    by_hash = torch.argsort(splitmix(key[ring] ^ splitmix(place)), stable=True)
    drawn = by_hash[torch.argsort(ring[by_hash], stable=True)]
    return replace(rings, permutation=drawn if rings.permutation is None else rings.permutation[drawn])


def arranged(rings: Rings, batch: Tensor | None, permutation: Tensor) -> Rings:
    """Place nodes on their rings by a given permutation.

    Args:
        rings: the graphs.
        batch: graph of each node, ``(N,)``, or None.
        permutation: ``(N,)`` int64: the node at each place; nodes of one graph keep their relative order.
    """
    nodes = rings.num_nodes
    p = permutation
    if p.dim() != 1 or p.shape[0] != nodes or p.dtype != torch.int64:
        raise ValueError(f"permutation must be an int64 tensor of shape ({nodes},), got {p.dtype} {tuple(p.shape)}")
    if p.device != rings.graph.device:
        raise ValueError(f"permutation is on {p.device}, x on {rings.graph.device}; move both to one device")
    low, high = (int(v) for v in torch.aminmax(p))
    if low < 0 or high >= nodes or int(torch.bincount(p, minlength=nodes).max()) > 1:
        raise ValueError(f"permutation is not one of 0 to {nodes - 1}: each node must appear exactly once")
    return replace(rings, permutation=p if batch is None else p[torch.argsort(batch[p], stable=True)])


def splitmix(x: Tensor) -> Tensor:
    """Mix 64 bits (splitmix64); int64 products wrap around."""
    x = x + _GOLDEN
    x = (x ^ _shift(x, 30)) * _MIX[0]
    x = (x ^ _shift(x, 27)) * _MIX[1]
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Shift right without the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
