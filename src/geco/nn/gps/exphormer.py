r"""Exphormer's attention: along the graph's own edges, those of a random regular graph and those of virtual nodes.

Shapes: N nodes, M edges, D channels, H heads, d = D / H, V virtual nodes, E width of edge features, G graphs of a
block, W nodes of its largest.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from geco.nn.functional import dropout, full_precision
from geco.nn.graph.adjacency import adjacency
from geco.nn.graph.edge_pairs import Pairs, pairs
from geco.nn.graph.edge_sum import EdgeSum
from geco.nn.graph.expander import expander, expander_ends
from geco.nn.graph.padding import blocks
from geco.nn.graph.prepare import Graph, check_edges, check_features, plain_edges, prepare
from geco.nn.graph.remembered import Remembered
from geco.nn.graph.rings import Rings
from geco.nn.ops.edge_attention import edge_attention, edge_attention_by_rows, edge_weights

__all__ = ["Exphormer"]

Heads = tuple[Tensor, Tensor, Tensor]  # queries, keys, values
EPS = 1e-6  # beside the sum of the weights, as its authors have it

_cache = Remembered[Pairs]()


class Exphormer(nn.Module):
    r"""Sparse attention as in Exphormer (arXiv:2303.06147). Head by head, with :math:`E = W_E\, e` of an edge's
    features,

    .. math::
        y_i = \frac{\sum_j w_{ij} V_j}{\sum_j w_{ij} + 10^{-6}}, \qquad w_{ij} = \exp\Big(\mathrm{clamp}\Big(
        \tfrac{1}{\sqrt d} \sum_c Q_{ic} K_{jc} E_{ijc},\, -5,\, 5\Big)\Big),

    over the edges from j to i of three kinds: the graph's own, those of a random regular graph, and those from virtual
    nodes, which are joined with every node of their graph. e is the edge's own, if there are features; else one learned
    vector for the graph's edges, one for the random graph's, and one for each direction of each virtual node's. These
    are the equations of the paper and of its authors' code, which has no map after the heads. Time and memory are
    linear in nodes and edges.

    Ours: a layer keeps no state for the next one. There, virtual nodes are handed on, and what they read in one layer
    nodes see in the next; here, they begin every layer as learned vectors, read all nodes by the equation above, and
    what they have read is what nodes see. All layers share the random graph (`geco.nn.graph.expander.expander_ends`), a
    pure function of seed and number of nodes, on the places of the node order; theirs is drawn up to a hundred times
    for the largest spectral gap, and all pairs of up to 10 nodes are joined, here of up to ``2 expander_degree + 1``.
    Vectors of edge kinds are the layer's own, and ``edge_attr`` may be updated from layer to layer.

    Args:
        channels: D.
        heads: H, a divisor of D.
        expander_degree: random permutations that the regular graph is made of, so that its degree is twice this, as
            published; 0 for none.
        virtual_nodes: V; 0 for none.
        dropout: of the attention weights.
        edge_dim: E; D by default.
        seed: of the random graph.

    Shapes:
        ``x`` (N, D), ``edge_index`` (2, M), ``batch`` (N,), ``edge_attr`` (M, E), ``permutation`` (N,) to (N, D).

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
        >>> Exphormer(8, heads=2)(torch.randn(5, 8), edges, torch.tensor([0, 0, 1, 1, 1])).shape
        torch.Size([5, 8])
    """

    def __init__(
        self,
        channels: int,
        heads: int = 4,
        *,
        expander_degree: int = 5,
        virtual_nodes: int = 1,
        dropout: float = 0.0,
        edge_dim: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if channels < 1 or heads < 1 or channels % heads:
            raise ValueError(f"the width must be a multiple of the heads, got {channels} and {heads}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
        if expander_degree < 0 or virtual_nodes < 0 or (edge_dim is not None and edge_dim < 1):
            got = f"got {expander_degree}, {virtual_nodes} and {edge_dim}"
            raise ValueError(f"expander_degree and virtual_nodes must be at least 0 and edge_dim 1, {got}")
        self.channels, self.heads, self.dropout, self.seed = channels, heads, dropout, seed
        self.expander_degree, self.virtual_nodes, self.edge_dim = expander_degree, virtual_nodes, edge_dim or channels
        self.qkv = nn.Linear(channels, 3 * channels, bias=False)
        self.edge = nn.Linear(self.edge_dim, channels, bias=False)
        self.kinds = nn.Parameter(torch.empty(2 + 2 * virtual_nodes, self.edge_dim))  # own, random, to and from virtual
        self.virtual = nn.Parameter(torch.empty(virtual_nodes, channels)) if virtual_nodes else None
        self.masked = EdgeSum()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.qkv.reset_parameters()
        self.edge.reset_parameters()
        nn.init.normal_(self.kinds)
        if self.virtual is not None:
            nn.init.normal_(self.virtual)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | None = None,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        permutation: Tensor | None = None,
        *,
        graph: Graph | None = None,
    ) -> Tensor:
        """Mix the nodes of each graph; a ``graph`` from `prepare` stands for edges, ``batch`` and ``permutation``."""
        if graph is None:
            check_features(x, self.channels)
            graph = prepare(x, edge_index, batch, None, permutation, None)
        graph.checked_for(x, self.channels)
        check_edges(x, graph.edge_index, edge_attr, self.channels, self.edge_dim)
        work = torch.promote_types(x.dtype, torch.float32)
        qkv, kinds = self.qkv(x).to(work), self._by_head(self.edge(self.kinds).to(work))
        own = kinds[0] if edge_attr is None else self._by_head(self.edge(edge_attr).to(work))
        with full_precision(x.device):
            heads = self._heads(qkv)
            sums = self._own(heads, own, graph)
            if self.expander_degree or self.virtual is not None:
                placed = graph.rings.arrange(qkv)
                heads = heads if placed is qkv else self._heads(placed)
                sums = sums + graph.rings.restore(self._random_and_virtual(placed, heads, kinds, graph.rings))
            values, totals = sums.split([self.channels, self.heads], 1)
            out: Tensor = (self._by_head(values) / (totals.unsqueeze(2) + EPS)).flatten(1).to(x.dtype)
        return out

    def _own(self, heads: Heads, e: Tensor, graph: Graph) -> Tensor:
        """Return the sums over the graph's own edges, ``(N, D + H)``; see `edge_attention`."""
        if self.masked.explain or not _sparse(e):
            add = self.masked if self.masked.explain else None
            source, target = plain_edges(graph.edge_index)
            return edge_attention_by_rows((source, target), *heads, e, self._drop, add=add)
        return edge_attention(_sorted(graph.edge_index, graph.rings.num_nodes), *heads, e, self._drop)

    def _random_and_virtual(self, qkv: Tensor, heads: Heads, kinds: Tensor, rings: Rings) -> Tensor:
        """Return the sums over the edges of the random graph and from virtual nodes, all in the order of the rings."""
        found = []
        if self.expander_degree and _sparse(qkv):
            edges = expander(rings.sizes, self.expander_degree, self.seed, qkv.device)
            found.append(edge_attention(edges, *heads, kinds[1], self._drop))
        elif self.expander_degree:
            source, target, there = expander_ends(rings, self.expander_degree, self.seed)
            found.append(edge_attention_by_rows((source, target), *heads, kinds[1], self._drop, there=there))
        if self.virtual is not None:
            layout = blocks(rings.sizes, qkv.device)
            parts = zip(layout.lay_out(qkv), layout.each, strict=True)
            to, of = kinds[2:].chunk(2)
            found.append(layout.take_back([self._virtual(part, to, of, block.mask) for part, block in parts]))
        return found[0] if len(found) == 1 else found[0] + found[1]

    def _virtual(self, qkv: Tensor, to: Tensor, of: Tensor, mask: Tensor | None) -> Tensor:
        """Let the virtual nodes of a block read their graphs' nodes, ``(G, W, 3 D)``, and the nodes read them."""
        assert self.virtual is not None
        query, key, value = self.qkv.weight.to(qkv.dtype).chunk(3)
        q, k, v = (self._by_head(t) for t in qkv.chunk(3, 2))  # (G, W, H, d) each
        scale = math.sqrt(q.shape[-1])
        asked = self._by_head(self.virtual.to(qkv.dtype) @ query.t()) * to / scale  # (V, H, d)
        weight = edge_weights(torch.einsum("gwhd,vhd->gvhw", k, asked))
        weight = weight if mask is None else weight * mask[:, None, None]
        read = torch.einsum("gvhw,gwhd->gvhd", self._dropped(weight), v) / (weight.sum(-1, keepdim=True) + EPS)
        state = read.flatten(2)  # (G, V, D)
        keys, values = self._by_head(state @ key.t()) * of / scale, self._by_head(state @ value.t())
        weight = edge_weights(torch.einsum("gwhd,gvhd->gwhv", q, keys))
        sums = torch.einsum("gwhv,gvhd->gwhd", self._dropped(weight), values)
        return torch.cat([sums.flatten(2), weight.sum(-1)], 2)

    def _heads(self, qkv: Tensor) -> Heads:
        """Return queries, scaled, keys and values, ``(N, H, d)`` each; in memory the rows of a head follow each other,
        so that both kinds of edges read, and backward keeps, the same ones.
        """
        q, k, v = (self._by_head(t).transpose(0, 1).contiguous().transpose(0, 1) for t in qkv.chunk(3, 1))
        return q / math.sqrt(q.shape[-1]), k, v

    def _by_head(self, x: Tensor) -> Tensor:
        heads: Tensor = x.unflatten(-1, (self.heads, -1))
        return heads

    @property
    def _drop(self) -> float:
        return self.dropout if self.training else 0.0

    def _dropped(self, weight: Tensor) -> Tensor:
        return dropout(weight, self.dropout, self.training)

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        kinds = f"expander_degree={self.expander_degree}, virtual_nodes={self.virtual_nodes}"
        return f"{self.channels}, heads={self.heads}, {kinds}"


def _sparse(x: Tensor) -> bool:
    """Tell whether sums go by sparse products."""
    return x.device.type == "cpu" and not torch.compiler.is_exporting()


def _sorted(edge_index: Tensor, num_nodes: int) -> Pairs:
    """Return the edges sorted; the same tensor gives the same object back."""

    def build() -> Pairs:
        adj = adjacency(edge_index, num_nodes, None, "none")
        return pairs(adj.source, adj.target, num_nodes)

    return _cache.get(edge_index, None, num_nodes, build)
