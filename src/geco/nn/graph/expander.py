r"""Random regular graphs: few edges, and yet every node is near every other.

Shapes: N nodes, d permutations.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from geco.nn.graph.edge_pairs import Pairs, pairs
from geco.nn.graph.permutation import shuffled
from geco.nn.graph.remembered import cached
from geco.nn.graph.rings import Rings

__all__ = ["expander", "expander_ends"]

EPOCH = -(2**40)  # of the permutations: no node order is drawn in it


@cached(4)
def expander(sizes: tuple[int, ...], degree: int, seed: int, device: torch.device) -> Pairs:
    """Return the expander's edges on the rings of graphs, place to place, sorted.

    Args:
        sizes: number of nodes of each graph.
        degree: d; a node has 2 d edges, some of them perhaps alike, or one to every other node if that is fewer.
        seed: of the permutations.
        device: where x is.

    Example:
        >>> found = expander((3, 40), 2, 0, torch.device("cpu"))
        >>> sorted(zip(found.source[:6].tolist(), found.target[:6].tolist()))
        [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    """
    rings = Rings(sizes, torch.arange(len(sizes), device=device))
    source, target, there = expander_ends(rings, degree, seed)
    return pairs(source[there], target[there], rings.num_nodes)


def expander_ends(rings: Rings, degree: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    r"""Return sources, targets and whether there is such an edge, ``(2 d N,)`` each.

    Edges join place t with :math:`\pi_p(t)` both ways, for d random permutations :math:`\pi_p` of each graph's places,
    pure functions of (seed, p, size of the graph); a place is not joined with itself. A union of random permutations is
    an expander with high probability. Graphs of at most 2 d + 1 nodes have every pair once, by :math:`\pi_p(t) = t + p`
    around the ring.
    """
    number = rings.number()
    sizes = torch.tensor(rings.sizes, device=number.device)
    size, start = sizes[number], (sizes.cumsum(0) - sizes)[number]
    at = torch.arange(rings.num_nodes, device=number.device)
    few = size <= 2 * degree + 1
    plain = replace(rings, permutation=None)
    ends: list[tuple[Tensor, Tensor, Tensor]] = []
    for p in range(1, degree + 1):
        drawn = shuffled(plain, seed, EPOCH, p).permutation
        assert drawn is not None
        other = torch.where(few, start + (at - start + p) % size, drawn)
        apart = other != at
        ends += [(at, other, apart & (~few | (2 * p <= size))), (other, at, apart & (~few | (2 * p < size)))]
    source, target, there = zip(*ends, strict=True)
    return torch.cat(source), torch.cat(target), torch.cat(there)
