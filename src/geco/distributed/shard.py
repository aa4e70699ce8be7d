r"""A shard of a graph: the places of its ring that this rank holds, and the rows of :math:`\hat A` there.

The order of the ring decides who holds what: rank r has the places from ``bounds(N, P)[r]`` on. Orders are pure
functions, so that all ranks agree on them without a word; and where neighbours stand near each other, as in the order
of structure, few rows of others are wanted.

Shapes: N nodes, n of them on this rank, H rows of others, M edges, m of them into this rank's nodes, D channels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from geco.distributed.exchange import Ranks, bounds
from geco.distributed.rows import Rows, ask
from geco.distributed.span import RingSpan
from geco.errors import UsageError
from geco.nn.graph.adjacency import Adjacency, Normalisation, matrix
from geco.nn.graph.prepare import Graph
from geco.nn.graph.rings import Rings
from geco.nn.ops.shared_norm import SharedBatchNorm

__all__ = ["GraphShard", "Propagation", "shard"]

Propagation = Literal["auto", "halo", "channels"]


@dataclass(frozen=True)
class GraphShard(Graph):
    """What a rank holds of a graph: layers take it as ``graph=``, with rows of its nodes.

    Args:
        nodes: numbers of the nodes that are here, in the order of their places, ``(n,)``.
        normalisation: of its adjacency.
    """

    nodes: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))
    normalisation: Normalisation = "sym"

    def norm(self, norm: nn.BatchNorm1d) -> nn.BatchNorm1d:
        """Return the BatchNorm, with its own weights and statistics, over the nodes of all ranks."""
        assert isinstance(self.rings.span, RingSpan)
        return SharedBatchNorm(norm, self.rings.span, 0) if type(norm) is nn.BatchNorm1d else norm

    def adjacency(self, normalisation: Normalisation, dtype: torch.dtype) -> Adjacency:
        r"""Return the rows of :math:`\hat A` that are here, as they were made."""
        if (normalisation, dtype) not in self._built:
            raise UsageError(
                f"the shard was made for adjacency={self.normalisation!r} and other numbers than {dtype}, got a layer "
                f"with {normalisation!r}; give shard() the layer's normalisation and dtype={dtype}"
            )
        return self._built[normalisation, dtype]


def shard(
    graph: Graph,
    ranks: Ranks,
    normalisation: Normalisation = "sym",
    dtype: torch.dtype = torch.float32,
    propagation: Propagation = "auto",
) -> GraphShard:
    r"""Return this rank's shard of a prepared graph, which all ranks give alike.

    Rows of neighbours come either as a halo, each to who wants it, or all of them by channels: 2 N D (P - 1) / P²
    numbers, which is less where nearly every rank wants nearly every row.

    Args:
        graph: one whole graph, in the order of its layers (`OrderedStack.layer_graphs`).
        ranks: who share it.
        normalisation: of the adjacency that layers will ask for.
        dtype: of the features.
        propagation: ``halo``, ``channels``, or the one that sends less.

    Example:
        >>> from geco.nn import GECOConv
        >>> from geco.nn.graph.prepare import prepare
        >>> x, edges = torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])
        >>> part = shard(prepare(x, edges), Ranks())
        >>> GECOConv(4)(x[part.nodes], graph=part).shape
        torch.Size([3, 4])
    """
    rings = graph.rings
    if len(rings.sizes) != 1:
        raise UsageError(f"a shard is of one graph, got {len(rings.sizes)}; share out a batch graph by graph")
    if propagation not in get_args(Propagation):
        raise UsageError(f"propagation must be one of {', '.join(get_args(Propagation))}, got {propagation!r}")
    whole = graph.adjacency(normalisation, dtype)
    if whole.value.requires_grad:
        raise UsageError("edge weights of a shared graph cannot be learned; detach them")
    size = rings.num_nodes
    at = torch.arange(size, device=rings.graph.device) if rings.permutation is None else rings.permutation
    place = torch.empty_like(at)
    place[at] = torch.arange(size, device=at.device)
    span = RingSpan(size, ranks)
    edges = (place[whole.source], place[whole.target], whole.value)
    found = _adjacency(edges, span, propagation)
    here = Rings(rings.sizes, rings.graph, None, span)
    mine = at[span.first : span.first + span.count]
    ends = torch.stack([found.source, found.target])
    return GraphShard(here, ends, None, {(normalisation, dtype): found}, mine, normalisation)


Edges = tuple[Tensor, Tensor, Tensor]  # place of source and target of each edge, and its value


def _adjacency(edges: Edges, span: RingSpan, propagation: Propagation) -> Adjacency:
    ranks, size = span.ranks, span.num_nodes
    mine = (edges[1] >= span.first) & (edges[1] < span.first + span.count)
    source, target, value = (t[mine] for t in edges)
    wanted = torch.unique(source[(source < span.first) | (source >= span.first + span.count)])
    rows = Rows(wanted, ask(wanted, size, ranks), size, ranks, "edges")
    if propagation == "channels" or (propagation == "auto" and _most_sent(rows, ranks) > _by_channels(size, ranks)):
        return ChannelAdjacency(*edges, *matrix(*edges, size, size), span=span)
    column, row = rows.index(source, span.first, span.count), target - span.first
    csr = matrix(column, row, value, span.count, span.count + len(wanted))
    return HaloAdjacency(column, row, value, *csr, rows=rows)


def _most_sent(rows: Rows, ranks: Ranks) -> int:
    """Return the most rows that any rank sends, so that all choose alike."""
    sent = torch.zeros(ranks.size, dtype=torch.int64)
    sent[ranks.rank] = rows.sent
    return int(ranks.known(sent).max())


def _by_channels(size: int, ranks: Ranks) -> float:
    """Return how many rows' worth of numbers a rank sends to have its nodes by channels and back."""
    return 2 * bounds(size, ranks.size)[1] * (ranks.size - 1) / ranks.size


@dataclass(frozen=True)
class HaloAdjacency(Adjacency):
    """Rows of a matrix whose columns are this rank's nodes, then those of others that it wants."""

    rows: Rows | None = None

    def reached(self, x: Tensor) -> Tensor:
        """Return this rank's rows and the halo, ``(n, D)`` to ``(n + H, D)``."""
        assert self.rows is not None
        return self.rows.extend(x)

    def __matmul__(self, x: Tensor) -> Tensor:
        return super().__matmul__(self.reached(x))


@dataclass(frozen=True)
class ChannelAdjacency(Adjacency):
    """The whole matrix, which multiplies a share of the channels of all nodes."""

    span: RingSpan | None = None

    def reached(self, x: Tensor) -> Tensor:
        """Refuse: rows of all nodes would be too many."""
        raise UsageError("adjacency='attention' wants rows of neighbours; make the shard with propagation='halo'")

    def __matmul__(self, x: Tensor) -> Tensor:
        assert self.span is not None
        whole = self.span.to_channels(x.unsqueeze(1)).squeeze(1)  # (N, d)
        return self.span.to_nodes(super().__matmul__(whole).unsqueeze(1), x.shape[1]).squeeze(1)
