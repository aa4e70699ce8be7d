r"""Attention among the nodes of each graph: the exact one, and the Performer's in linear time.

Shapes: N nodes, M edges, C input channels, D channels, H heads, G graphs of a block, W nodes of its largest, R random
features.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from geco.nn.functional import dropout
from geco.nn.gps.attention_bias import AttentionBias, BiasName, make_bias
from geco.nn.graph.node_pairs import unordered
from geco.nn.graph.padding import blocks
from geco.nn.graph.prepare import Graph, check_features, input_rings, prepare
from geco.nn.graph.rings import Rings
from geco.nn.resolve import reset

__all__ = ["Performer", "SelfAttention", "orthogonal_features"]

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries, keys, values of a block to what they make
CHUNK = 2**20  # scores with a bias that are made at a time, so that they stay in the cache: 4 MiB in float32


class _Heads(nn.Module, ABC):
    """Queries, keys and values of H heads, mixed within each graph; how, is up to `_attend`."""

    def __init__(self, channels: int, heads: int, in_channels: int | None, dropout: float, bias: bool) -> None:
        super().__init__()
        if channels < 1 or heads < 1 or channels % heads:
            raise ValueError(f"the width must be a multiple of the heads, got {channels} and {heads}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
        self.channels, self.heads, self.dropout = channels, heads, dropout
        self.in_channels = in_channels or channels
        self.qkv, self.out = nn.Linear(self.in_channels, 3 * channels, bias), nn.Linear(channels, channels)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.qkv.reset_parameters()
        self.out.reset_parameters()

    def forward(self, x: Tensor, batch: Tensor | None = None, *, graph: Graph | None = None) -> Tensor:
        """Mix the nodes of each graph; a ``graph`` from `prepare` stands for ``batch``."""
        rings = input_rings(x, self.in_channels, batch, graph=graph)
        each = blocks(rings.sizes, x.device).each
        return self._mixed(x, rings, [partial(self._attend, mask=block.mask) for block in each])

    def _mixed(self, x: Tensor, rings: Rings, each: Sequence[Attend]) -> Tensor:
        """Mix the nodes of each graph, each block of graphs in its own way."""
        layout = blocks(rings.sizes, x.device)
        parts = layout.lay_out(rings.arrange(self.qkv(x)))
        mixed = [self._block(part, attend) for part, attend in zip(parts, each, strict=True)]
        out: Tensor = self.out(rings.restore(layout.take_back(mixed)))
        return out

    def _block(self, qkv: Tensor, attend: Attend) -> Tensor:
        q, k, v = qkv.unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)  # each (G, H, W, D / H)
        return attend(q, k, v).transpose(1, 2).flatten(2)

    @abstractmethod
    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Mix the values of a block, each ``(G, H, W, D / H)``."""

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"{self.channels}, heads={self.heads}"


class SelfAttention(_Heads):
    r"""Multi-head attention among the nodes of each graph, :math:`\mathrm{softmax}(Q K^\top / \sqrt{D / H})\, V`,
    fused.

    Graphs of similar size stand side by side and padding is masked, so a batch costs little more than its graphs one by
    one, and a graph's output does not depend on its batch mates.

    It does not see the edges unless it is told of them: with a ``bias``, scores have a term for each pair of nodes,
    from the hops between them (`ShortestPath`) or from powers of the adjacency (`Proximity`), or nodes see only those a
    few hops away (`HopMask`). That keeps a few numbers for each pair, and is refused for graphs of more than 16,384
    nodes.

    Args:
        channels: D.
        heads: H, a divisor of D.
        in_channels: C, D by default.
        dropout: of the attention weights.
        bias: ``none``, ``spb``, ``pma``, ``mask-1`` or ``mask-n``; see `make_bias`.
        bias_kwargs: its options.

    Shapes:
        ``x`` (N, C), ``batch`` (N,), ``edge_index`` (2, M) to (N, D).

    Example:
        >>> x, batch = torch.randn(5, 8), torch.tensor([0, 0, 0, 1, 1])
        >>> SelfAttention(8, heads=2)(x, batch).shape
        torch.Size([5, 8])
        >>> edges = torch.tensor([[0, 1, 3], [1, 2, 4]])
        >>> SelfAttention(8, heads=2, bias="spb")(x, batch, edge_index=edges).shape
        torch.Size([5, 8])
    """

    def __init__(
        self,
        channels: int,
        heads: int = 4,
        *,
        in_channels: int | None = None,
        dropout: float = 0.0,
        bias: BiasName = "none",
        bias_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(channels, heads, in_channels, dropout, bias=True)
        self.bias = make_bias(bias, heads, bias_kwargs)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        super().reset_parameters()
        if self.bias is not None:
            reset(self.bias)

    def forward(
        self,
        x: Tensor,
        batch: Tensor | None = None,
        *,
        edge_index: Tensor | None = None,
        graph: Graph | None = None,
    ) -> Tensor:
        """Mix the nodes of each graph; a ``graph`` from `prepare` stands for edges and ``batch``."""
        if self.bias is None:
            return super().forward(x, batch, graph=graph)
        if graph is None:
            check_features(x, self.in_channels)
            graph = prepare(x, edge_index, batch, None, None, None)
        graph = unordered(graph.checked_for(x, self.in_channels))
        rings = graph.rings
        pairs = self.bias.pairs(graph, torch.promote_types(x.dtype, torch.float32))
        each = zip(blocks(rings.sizes, x.device).each, pairs, strict=True)
        return self._mixed(x, rings, [partial(self._told, self.bias, block.mask, known) for block, known in each])

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        seen = None if mask is None else mask[:, None, None, :]
        drop = self.dropout if self.training else 0.0
        return nn.functional.scaled_dot_product_attention(q, k, v, seen, drop)

    def _told(self, bias: AttentionBias, mask: Tensor | None, pairs: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend with a bias, as many rows at a time as fit; scores of several are made again for backward."""
        graphs, heads, width, _ = q.shape
        rows = max(1, CHUNK // (graphs * heads * width))

        def attend(q: Tensor, k: Tensor, v: Tensor, pairs: Tensor) -> Tensor:
            told = bias(pairs, mask)
            told = told if told.dtype == torch.bool else told.to(q.dtype)
            drop = self.dropout if self.training else 0.0
            return nn.functional.scaled_dot_product_attention(q, k, v, told, drop)

        if rows >= width:
            return attend(q, k, v, pairs)
        parts = zip(q.split(rows, 2), pairs.split(rows, -2), strict=True)
        return torch.cat([checkpoint(attend, some, k, v, known, use_reentrant=False) for some, known in parts], 2)


class Performer(_Heads):
    r"""Linear-time attention by positive random features (FAVOR+),
    :math:`\phi(Q)\,(\phi(K)^\top V) \,/\, \phi(Q)\,(\phi(K)^\top 1)` with the sums over the nodes of one graph and
    :math:`\phi(u)_r = \exp(w_r \cdot u - \|u\|^2 / 2 - m) + \epsilon` at :math:`u = Q (D/H)^{-1/4}`, likewise for K.

    m, the largest exponent of the row for queries and of the *graph* for keys, keeps exponentials finite. Padding has
    no part in either sum, so a graph's output does not depend on its batch mates. The directions w are orthogonal,
    drawn once from ``seed``, part of the state and never drawn again.

    Args:
        channels: D.
        heads: H, a divisor of D.
        in_channels: C, D by default.
        features: R per head; :math:`d \ln d` at d = D / H by default, at least d.
        dropout: of the output, as published.
        eps: :math:`\epsilon`.
        seed: of the random features.

    Shapes:
        ``x`` (N, C), ``batch`` (N,) to (N, D).

    Example:
        >>> Performer(8, heads=2)(torch.randn(5, 8), torch.tensor([0, 0, 0, 1, 1])).shape
        torch.Size([5, 8])
    """

    projection: Tensor

    def __init__(
        self,
        channels: int,
        heads: int = 4,
        *,
        in_channels: int | None = None,
        features: int | None = None,
        dropout: float = 0.0,
        eps: float = 1e-4,
        seed: int = 0,
    ) -> None:
        super().__init__(channels, heads, in_channels, dropout, bias=False)
        if (features is not None and features < 1) or eps <= 0:
            raise ValueError(f"features must be at least 1 and eps above 0, got {features} and {eps}")
        width = channels // heads
        count = features or max(width, int(width * math.log(width)))
        self.eps = eps
        self.register_buffer("projection", orthogonal_features(count, width, seed).to(self.out.weight.dtype))

    def forward(self, x: Tensor, batch: Tensor | None = None, *, graph: Graph | None = None) -> Tensor:
        """Mix the nodes of each graph."""
        return dropout(super().forward(x, batch, graph=graph), self.dropout, self.training)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        with torch.autocast(q.device.type, enabled=False):
            dtype, work = q.dtype, self.projection.dtype
            nodes = None if mask is None else mask[:, None, :, None]
            queries = self._features(q.to(work), (-1,), None)  # (G, H, W, R)
            keys = self._features(k.to(work), (-2, -1), nodes)
            ones = nn.functional.pad(v.to(work), (0, 1), value=1.0)  # the last column sums up the weights
            sums = queries @ (keys.transpose(2, 3) @ ones)  # (G, H, W, D / H + 1)
            return (sums[..., :-1] / sums[..., -1:]).to(dtype)

    def _features(self, u: Tensor, largest: tuple[int, ...], mask: Tensor | None) -> Tensor:
        u = u * u.shape[-1] ** -0.25
        exponent = u @ self.projection.t()
        real = exponent.detach() if mask is None else exponent.detach().masked_fill(~mask, -math.inf)
        phi = torch.exp(exponent - u.square().sum(-1, keepdim=True) / 2 - real.amax(largest, keepdim=True)) + self.eps
        return phi if mask is None else phi.masked_fill(~mask, 0.0)


def orthogonal_features(count: int, width: int, seed: int) -> Tensor:
    """Return ``(R, width)`` normal directions, orthogonal within each group of ``width``: a function of the arguments
    only.

    Example:
        >>> w = orthogonal_features(2, 4, seed=0)
        >>> round(abs(float(w[0] @ w[1])), 6)
        0.0
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    q, r = torch.linalg.qr(normal(-(-count // width), width, width))
    q = q * r.diagonal(dim1=1, dim2=2).sign().unsqueeze(1)  # without it some directions come up more often than others
    directions: Tensor = q.transpose(1, 2).flatten(0, 1)[:count]
    length: Tensor = normal(count, width).norm(dim=1, keepdim=True)  # as long as independent normal vectors are
    return directions * length
