r"""What a graph says of each pair of its nodes, N^2 numbers: hops between them, powers of its adjacency.

Graphs stand in blocks as in `geco.nn.graph.padding`, every edge counts both ways and once, and padding is joined with
nothing. What is worked out is remembered for as long as the edges are there.

Shapes: N nodes, M edges, G graphs of a block, W nodes of its largest, S powers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from geco.nn.graph.adjacency import Adjacency, adjacency, endpoints
from geco.nn.graph.padding import Block, Blocks, blocks
from geco.nn.graph.prepare import Graph
from geco.nn.graph.remembered import Remembered
from geco.nn.graph.rings import Rings

__all__ = ["FAR", "MOST", "hops", "powers", "unordered"]

FAR = 255  # hops of pairs that are too far apart, or not connected
MOST = 16_384  # nodes of a graph: 1 GiB for each float32 of all pairs

_cache = Remembered[list[Tensor]]()


def hops(graph: Graph, most: int) -> list[Tensor]:
    """Return the hops between all nodes of a graph, `FAR` where there are more than ``most``, block by block.

    Args:
        graph: the graphs of a batch.
        most: counted up to here, below `FAR`.

    Shapes:
        ``(G, W, W)`` uint8 each; the nodes of a graph are in the order of its ring.

    Example:
        >>> from geco.nn.graph.prepare import prepare
        >>> path = prepare(torch.ones(4, 1), torch.tensor([[0, 1], [1, 2]]))
        >>> hops(path, 5)[0].tolist()
        [[[0, 1, 2, 255], [1, 0, 1, 255], [2, 1, 0, 255], [255, 255, 255, 0]]]
    """
    if not 0 <= most < FAR:
        raise ValueError(f"hops are counted up to {FAR - 1}, got {most}")
    return _remembered(graph, ("hops", most), lambda edges, block: _hops(edges, block, most))


def powers(graph: Graph, count: int, dtype: torch.dtype) -> list[Tensor]:
    r"""Return :math:`\tilde A, \tilde A^2, \dots, \tilde A^S` with :math:`\tilde A = D^{-1/2} (A + I) D^{-1/2}`, block
    by block.

    Args:
        graph: the graphs of a batch.
        count: S.
        dtype: of the entries.

    Shapes:
        ``(S, G, W, W)`` each.

    Example:
        >>> from geco.nn.graph.prepare import prepare
        >>> pair = prepare(torch.ones(2, 1), torch.tensor([[0], [1]]))
        >>> powers(pair, 2, torch.float32)[0][1]
        tensor([[[0.5000, 0.5000],
                 [0.5000, 0.5000]]])
    """
    if count < 1:
        raise ValueError(f"there must be at least one power, got {count}")
    return _remembered(graph, ("powers", count, dtype), lambda edges, block: _powers(edges, block, count, dtype))


def unordered(graph: Graph) -> Graph:
    """Return the graphs with their nodes as they come, if those of a graph follow one another, for what does not depend
    on an order: orders are made anew at each step, and what is remembered of pairs would be, too.

    Args:
        graph: the graphs of a batch, in any order.
    """
    rings = graph.rings
    if rings.permutation is None:
        return graph
    if len(rings.sizes) > 1:
        of = rings.restore(rings.number())
        if bool((of[1:] < of[:-1]).any()):
            return graph
    return replace(graph, rings=replace(rings, permutation=None))


def _remembered(graph: Graph, what: tuple[object, ...], build: Callable[[Tensor, Block], Tensor]) -> list[Tensor]:
    if torch.compiler.is_exporting():
        raise ValueError("attention with a bias from the graph cannot be exported: its pairs are not traced")
    found: list[Tensor] = _each(graph, what, build)
    return found


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _each(graph: Graph, what: tuple[object, ...], build: Callable[[Tensor, Block], Tensor]) -> list[Tensor]:
    rings = graph.rings
    if max(rings.sizes) > MOST:
        raise ValueError(
            f"attention with a bias from the graph keeps N x N numbers, for graphs of up to {MOST:,} nodes; one has "
            f"{max(rings.sizes):,}. Use mixer='exphormer' or 'geco', or attention without a bias"
        )

    def make() -> list[Tensor]:
        layout = blocks(rings.sizes, graph.edge_index.device)
        edges = _placed(graph, layout)
        return [build(part, block) for part, block in zip(_by_block(edges, layout.each), layout.each, strict=True)]

    return _cache.get(graph.edge_index, rings.permutation, (*what, rings.sizes), make)


def _placed(graph: Graph, layout: Blocks) -> Tensor:
    """Return the places of the edges' ends in all blocks, both ways, once each and with a loop everywhere."""
    num_nodes = graph.rings.num_nodes
    source, target, _ = endpoints(graph.edge_index, num_nodes, None)
    node = torch.arange(num_nodes, device=source.device)
    place = graph.rings.restore(node if layout.back is None else layout.back)
    both = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    total = sum(block.graphs * block.width for block in layout.each)
    loops = torch.arange(total, device=source.device).expand(2, -1)
    _check_within(graph.rings, source, target)
    once: Tensor = torch.unique(torch.cat([place[both], loops], 1), dim=1)
    return once


def _check_within(rings: Rings, source: Tensor, target: Tensor) -> None:
    of = rings.restore(rings.number())
    if bool((of[source] != of[target]).any()):
        first = int((of[source] != of[target]).nonzero()[0])
        raise ValueError(f"edge {first} joins nodes of two graphs of the batch; check that edge_index and batch agree")


def _by_block(edges: Tensor, each: tuple[Block, ...]) -> list[Tensor]:
    """Return the edges of each block, counted from its first place."""
    found, start = [], 0
    for block in each:
        end = start + block.graphs * block.width
        inside = (edges[0] >= start) & (edges[0] < end)
        found.append(edges[:, inside] - start)
        start = end
    return found


def _hops(edges: Tensor, block: Block, most: int) -> Tensor:
    near, reached = _start(edges, block, torch.float32, normalised=False)
    steps = torch.full(reached.shape, FAR, dtype=torch.uint8, device=edges.device)
    for step in range(most + 1):
        new = (reached > 0) & (steps == FAR)
        if not bool(new.any()):
            break
        steps.masked_fill_(new, step)
        if step < most:
            reached = (near @ reached).clamp_(max=1)
    return steps.view(block.graphs, block.width, block.width)


def _powers(edges: Tensor, block: Block, count: int, dtype: torch.dtype) -> Tensor:
    near, last = _start(edges, block, dtype, normalised=True)
    found = []
    for _ in range(count):
        last = near @ last
        found.append(last)
    return torch.stack(found).view(count, block.graphs, block.width, block.width)


def _start(edges: Tensor, block: Block, dtype: torch.dtype, normalised: bool) -> tuple[Adjacency, Tensor]:
    """Return the adjacency of all places, and each graph's identity matrix below each other, ``(G W, W)``."""
    near = adjacency(edges, block.graphs * block.width, None, "sym" if normalised else "none", dtype)
    return near, torch.eye(block.width, dtype=dtype, device=edges.device).repeat(block.graphs, 1)
