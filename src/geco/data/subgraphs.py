r"""Parts of one large graph, for steps that do not see all of it. An approximation: see `SubgraphLoader`.

Which nodes and edges a batch has is a pure function of (seed, epoch, batch): draws are hashes, so no generator is
kept. Plain torch, without pyg-lib.

Shapes: N nodes, M edges, n nodes of a subgraph, m edges between them, T training nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from geco.errors import UsageError
from geco.nn.functional import row_starts
from geco.nn.graph.permutation import splitmix
from geco.nn.graph.structure_order import structure_order

__all__ = ["InEdges", "Sampling", "SubgraphLoader", "nodes_on_walks", "nodes_within"]

Sampling = Literal["clusters", "hops", "walks"]
STRETCHES = 4  # clusters that are put together into a batch, others in every epoch


@dataclass(frozen=True)
class InEdges:
    """The edges of a graph by their targets.

    Args:
        start: where each node's edges begin, and where the last ones end, ``(N + 1,)``.
        source: of each edge, ``(M,)``.
        number: of each edge in ``edge_index``, ``(M,)``.

    Example:
        >>> edges = InEdges.of(torch.tensor([[0, 1, 2], [2, 2, 0]]), 3)
        >>> edges.into(torch.tensor([2]))
        (tensor([0, 0]), tensor([1, 2]))
    """

    start: Tensor
    source: Tensor
    number: Tensor

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int) -> InEdges:
        """Sort edges by their targets."""
        number = torch.argsort(edge_index[1], stable=True)
        return cls(row_starts(edge_index[1], num_nodes), edge_index[0][number], number)

    def into(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the place among the nodes ``(n,)`` of each edge's target, and where the edge stands in `source`, of
        all edges into them.
        """
        first, count = self.start[nodes], self.start[nodes + 1] - self.start[nodes]
        row = torch.repeat_interleave(torch.arange(len(nodes)), count)
        where = torch.arange(len(row)) + (first - (count.cumsum(0) - count))[row]
        return row, where

    def drawn(self, nodes: Tensor, most: int, key: int) -> Tensor:
        """Return sources of up to ``most`` edges into each of the nodes, those whose hashes with the key are
        smallest.
        """
        row, where = self.into(nodes)
        by_hash = torch.argsort(splitmix(splitmix(where) ^ key), stable=True)
        by_row = by_hash[torch.argsort(row[by_hash], stable=True)]
        count = torch.bincount(row, minlength=len(nodes))
        rank = torch.arange(len(row)) - (count.cumsum(0) - count)[row[by_row]]
        drawn: Tensor = self.source[where[by_row[rank < most]]]
        return drawn

    def induced(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return all edges between sorted nodes ``(n,)``, counted within them, ``(2, m)``, and their numbers,
        ``(m,)``, in the order of ``edge_index``.

        Example:
            >>> edges = InEdges.of(torch.tensor([[0, 1, 2], [2, 2, 0]]), 3)
            >>> edges.induced(torch.tensor([0, 2]))
            (tensor([[0, 1],
                    [1, 0]]), tensor([0, 2]))
        """
        row, where = self.into(nodes)
        source = self.source[where]
        place = torch.searchsorted(nodes, source).clamp(max=len(nodes) - 1)
        inside = nodes[place] == source
        number = self.number[where[inside]]
        order = torch.argsort(number)
        return torch.stack([place[inside], row[inside]])[:, order], number[order]


def nodes_within(edges: InEdges, seeds: Tensor, fanout: tuple[int, ...], key: int) -> Tensor:
    """Return the seeds and whom they are reached from in as many steps as there are numbers, sorted, ``(n,)``.

    In step h each node that is new draws up to ``fanout[h]`` of the edges into it.

    Args:
        edges: of the graph.
        seeds: nodes.
        fanout: for each step.
        key: of the draws.

    Example:
        >>> path = InEdges.of(torch.tensor([[0, 1, 2], [1, 2, 3]]), 4)
        >>> nodes_within(path, torch.tensor([3]), (5, 5), key=0)
        tensor([1, 2, 3])
    """
    new: Tensor = seeds.unique()
    reached: Tensor = new
    for step, most in enumerate(fanout):
        found = edges.drawn(new, most, _mixed(key, step)).unique()
        new = found[~torch.isin(found, reached)]
        reached = torch.cat([reached, new]).unique()
    return reached


def nodes_on_walks(edges: InEdges, seeds: Tensor, steps: int, key: int) -> Tensor:
    """Return the seeds and whom a random walk from each of them against the edges meets, sorted, ``(n,)``.

    A walk that cannot go on stays where it is.

    Args:
        edges: of the graph.
        seeds: nodes.
        steps: of each walk.
        key: of the draws.

    Example:
        >>> path = InEdges.of(torch.tensor([[0, 1, 2], [1, 2, 3]]), 4)
        >>> nodes_on_walks(path, torch.tensor([2]), 5, key=0)
        tensor([0, 1, 2])
    """
    at, met = seeds, [seeds]
    for step in range(steps):
        count = edges.start[at + 1] - edges.start[at]
        going = count > 0
        draw = splitmix(splitmix(torch.arange(len(at))) ^ _mixed(key, step)).remainder(count.clamp(min=1))
        at = at.index_put((going,), edges.source[(edges.start[at] + draw)[going]])
        met.append(at)
    found: Tensor = torch.cat(met).unique()
    return found


class SubgraphLoader:
    r"""Subgraphs around the training nodes of one graph, each of which is a seed of exactly one batch of an epoch.

    ``clusters``: the nodes stand in the line of `structure_order`, which is cut into stretches of equally many seeds;
    a batch is `STRETCHES` of them, others in every epoch (after Cluster-GCN). ``hops``: a batch is seeds at random and
    what `nodes_within` reaches from them. ``walks``: the same with `nodes_on_walks` (after GraphSAINT). Each time the
    subgraph has all edges between its nodes, with node and edge data of the graph, is a graph of its own, and nodes are
    in the order of the graph.

    What is left out: edges to nodes outside, which changes degrees and neighbourhoods, and all other nodes: what
    the global context takes over the graph it takes over the subgraph. Outputs are not those of the whole graph, and
    gradients not their unbiased estimates.

    Args:
        graph: whole.
        node_fields: which of its fields have a row for each node.
        edge_fields: which have one for each edge.
        seeds: the training nodes, ``(T,)``; at least two.
        batch_size: seeds in a batch; batches differ by one at most.
        method: ``clusters``, ``hops`` or ``walks``.
        fanout: of hops, most edges that a node draws, for each of them.
        walk: steps of each walk.
        seed: of everything random.

    Example:
        >>> ring = Data(edge_index=torch.stack([torch.arange(9), (torch.arange(9) + 1) % 9]), num_nodes=9)
        >>> loader = SubgraphLoader(ring, (), (), torch.arange(6), batch_size=3, method="hops", fanout=(1,))
        >>> [int(part.seed_mask.sum()) for part in loader.epoch(0)]
        [3, 3]
    """

    def __init__(
        self,
        graph: Data,
        node_fields: tuple[str, ...],
        edge_fields: tuple[str, ...],
        seeds: Tensor,
        batch_size: int,
        *,
        method: Sampling = "clusters",
        fanout: tuple[int, ...] = (10, 10),
        walk: int = 4,
        seed: int = 0,
    ) -> None:
        if batch_size < 2 or len(seeds) < 2:
            raise UsageError(
                f"sampled batches need two training nodes each, got batches of {batch_size} of {len(seeds)}; choose a "
                "larger --data.batch-size, or leave --data.sample out"
            )
        self.graph, self.node_fields, self.edge_fields, self.seeds = graph, node_fields, edge_fields, seeds
        self.method, self.fanout, self.walk, self.seed = method, fanout, walk, seed
        self.steps = min(-(-len(seeds) // batch_size), len(seeds) // 2)
        self.edges = InEdges.of(graph.edge_index, graph.num_nodes)

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return self.steps

    def epoch(self, epoch: int = 0, start: int = 0) -> Iterator[Data]:
        """Yield the subgraphs of an epoch from the given one on; ``seed_mask`` ``(n,)`` marks the seeds."""
        parts = self._stretches(epoch) if self.method == "clusters" else self._seeds(epoch)
        for number, part in enumerate(parts[start:], start):
            if self.method == "clusters":
                yield self.subgraph(part.sort().values, self.seeds)
            else:
                yield self.subgraph(self._around(part, _mixed(self.seed, epoch, number)), part)

    def _around(self, seeds: Tensor, key: int) -> Tensor:
        if self.method == "walks":
            return nodes_on_walks(self.edges, seeds, self.walk, key)
        return nodes_within(self.edges, seeds, self.fanout, key)

    def subgraph(self, nodes: Tensor, seeds: Tensor) -> Data:
        """Return the graph between sorted nodes, with those of them marked that are among the seeds."""
        edge_index, number = self.edges.induced(nodes)
        rows = {name: self.graph[name][nodes] for name in self.node_fields}
        links = {name: self.graph[name][number] for name in self.edge_fields}
        marked = {"seed_mask": torch.isin(nodes, seeds), "node_id": nodes}
        return Data(edge_index=edge_index, num_nodes=len(nodes), **rows, **links, **marked)

    def _seeds(self, epoch: int) -> list[Tensor]:
        """Return the seeds of each batch."""
        return list(self.seeds[self._shuffled(len(self.seeds), epoch)].tensor_split(self.steps))

    def _stretches(self, epoch: int) -> list[Tensor]:
        """Return the nodes of each batch."""
        order = self._shuffled(len(self._line), epoch).tensor_split(self.steps)
        return [torch.cat([self._line[i] for i in some.tolist()]) for some in order]

    def _shuffled(self, count: int, epoch: int) -> Tensor:
        """Return the numbers below ``count`` in the order of an epoch."""
        return torch.argsort(splitmix(splitmix(torch.arange(count)) ^ _mixed(self.seed, epoch, -1)), stable=True)

    @cached_property
    def _line(self) -> list[Tensor]:
        """Stretches of the line of all nodes, with two seeds or more each: cut behind every so-manieth seed."""
        line = structure_order(self.graph.edge_index, self.graph.num_nodes)
        at = torch.isin(line, self.seeds).nonzero().squeeze(1)
        each = min(STRETCHES, len(self.seeds) // (2 * self.steps))  # 1 or more: a step has two seeds
        last = [int(part[-1]) for part in at.tensor_split(self.steps * each)]
        return list(line.tensor_split([place + 1 for place in last[:-1]]))


def _mixed(*words: int) -> int:
    """Return a hash of numbers."""
    key = torch.zeros((), dtype=torch.int64)
    for word in words:
        key = splitmix(key ^ word)
    return int(key)
