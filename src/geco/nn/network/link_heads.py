r"""Heads for links: scores of pairs of nodes of one graph.

A network gives an embedding of every node (`forward`); of it, `pairs` scores the pairs that training asks for,
`candidates` all nodes that a source may link to, and `all_pairs` what a ranking of whole graphs needs.

Shapes: N nodes, B graphs of at most n nodes, D channels, Z channels of an embedding, L pairs, S sources.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch_geometric.nn.resolver import activation_resolver

from geco.nn.network.heads import NodeHead, check_vectors

__all__ = ["DotHead", "LinkHead", "PairHead"]

ENTRIES = 2**20  # of a temporary array while many pairs are scored: 4 MB


class LinkHead(nn.Module, ABC):
    """What heads for links have in common; ``ptr`` ``(B + 1,)`` is each graph's first node, as in PyG's batches."""

    @abstractmethod
    def forward(self, h: Tensor) -> Tensor:
        """Return an embedding of every node, ``(N, D)`` to ``(N, Z)``."""

    @abstractmethod
    def score(self, one: Tensor, other: Tensor) -> Tensor:
        """Return scores of embeddings beside one another, ``(..., Z)`` twice, broadcast, to ``(...)``."""

    def pairs(self, z: Tensor, ends: Tensor) -> Tensor:
        """Return the scores of pairs ``(2, L)``, sources over targets: ``(L,)``."""
        if ends.dim() != 2 or len(ends) != 2 or ends.is_floating_point():
            raise ValueError(
                f"pairs must be integers (2, L), sources over targets, got {ends.dtype} {tuple(ends.shape)}"
            )
        _check_nodes(ends, len(z))
        return self.score(z[ends[0]], z[ends[1]])

    def candidates(self, z: Tensor, sources: Tensor, ptr: Tensor) -> Tensor:
        """Return the scores of sources ``(S,)`` with every node of their graph, ``(S, n)``, -inf beyond its size."""
        _check_ptr(ptr, len(z))
        _check_nodes(sources, len(z))
        sizes = ptr.diff()
        graph = torch.bucketize(sources, ptr[1:], right=True)
        place = torch.arange(int(sizes.max()) if len(sources) else 0, device=z.device)
        size = max(1, ENTRIES // max(1, len(place) * z.shape[1]))
        rows = []
        for some, own in zip(sources.split(size), graph.split(size), strict=True):
            real = place < sizes[own, None]  # (s, n)
            node = torch.where(real, ptr[own, None] + place, some[:, None])
            rows.append(self.score(z[some, None], z[node]).masked_fill(~real, -torch.inf))
        return torch.cat(rows) if rows else z.new_zeros(0, len(place))

    def all_pairs(self, z: Tensor, ptr: Tensor) -> Tensor:
        """Return the scores of all pairs of each graph, ``(B, n, n)``, -inf beyond a graph's size."""
        rows = self.candidates(z, torch.arange(len(z), device=z.device), ptr)
        graph, place = _places(ptr)
        return z.new_full((len(ptr) - 1, rows.shape[1], rows.shape[1]), -torch.inf).index_put((graph, place), rows)


class DotHead(LinkHead):
    r"""Scores by dot products, :math:`s_{uv} = z_u \cdot z_v` with :math:`z = \mathrm{MLP}(h)`, as LRGB has it.

    A pair has the same score in both directions.

    Args:
        channels: D.
        layers: number of maps of the MLP.
        dropout: probability, before each map.
        act: activation.

    Shapes:
        (N, D) to (N, D).

    Example:
        >>> head = DotHead(8)
        >>> head.all_pairs(head(torch.randn(5, 8)), torch.tensor([0, 3, 5])).shape
        torch.Size([2, 3, 3])
    """

    def __init__(self, channels: int, *, layers: int = 1, dropout: float = 0.0, act: str = "relu") -> None:
        super().__init__()
        self.embed = NodeHead(channels, channels, layers=layers, dropout=dropout, act=act)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.embed.reset_parameters()

    def forward(self, h: Tensor) -> Tensor:
        """Return the embeddings."""
        out: Tensor = self.embed(h)
        return out

    def score(self, one: Tensor, other: Tensor) -> Tensor:
        """Multiply."""
        return (one * other).sum(-1)

    def all_pairs(self, z: Tensor, ptr: Tensor) -> Tensor:
        """Return the scores of all pairs of each graph, ``(B, n, n)``, by one product; -inf beyond a graph's size."""
        _check_ptr(ptr, len(z))
        graph, place = _places(ptr)
        sizes = ptr.diff()
        most = int(sizes.max()) if len(sizes) else 0
        dense = z.new_zeros(len(sizes), most, z.shape[1]).index_put((graph, place), z)
        real = torch.arange(most, device=z.device) < sizes[:, None]
        return (dense @ dense.mT).masked_fill(~(real[:, :, None] & real[:, None]), -torch.inf)


class PairHead(LinkHead):
    r"""Scores by an MLP of both vectors, :math:`s_{uv} = \mathrm{MLP}([h_u, h_v])`.

    Its first map is a sum, :math:`W [h_u, h_v] + b = W_a h_u + b + W_b h_v`: the embedding holds both terms of every
    node, so that many pairs of the same nodes cost the later maps only.

    Args:
        channels: D.
        layers: number of maps, at least two: one alone would put the targets of all sources into the same order.
        dropout: probability, before each map.
        act: activation.

    Shapes:
        (N, D) to (N, 2 D).

    Example:
        >>> head = PairHead(8)
        >>> head.pairs(head(torch.randn(5, 8)), torch.tensor([[0, 3], [1, 4]])).shape
        torch.Size([2])
    """

    def __init__(self, channels: int, *, layers: int = 2, dropout: float = 0.0, act: str = "relu") -> None:
        super().__init__()
        if channels < 1 or layers < 2:
            raise ValueError(f"a PairHead needs channels and at least 2 layers, got {channels} and {layers}")
        self.channels, self.dropout = channels, dropout
        self.act = activation_resolver(act)
        self.maps = nn.ModuleList(nn.Linear(channels, channels) for _ in range(layers - 2))
        self.first, self.last = nn.Linear(2 * channels, channels), nn.Linear(channels, 1)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        for module in (self.first, *self.maps, self.last):
            module.reset_parameters()

    def forward(self, h: Tensor) -> Tensor:
        """Return both terms of the first map."""
        check_vectors(h, self.channels)
        h = nn.functional.dropout(h, self.dropout, self.training)
        one, other = self.first.weight.chunk(2, 1)
        return torch.cat([nn.functional.linear(h, one, self.first.bias), nn.functional.linear(h, other)], 1)

    def score(self, one: Tensor, other: Tensor) -> Tensor:
        """Apply the rest of the MLP."""
        x = one[..., : self.channels] + other[..., self.channels :]
        for module in (*self.maps, self.last):
            x = module(nn.functional.dropout(self.act(x), self.dropout, self.training))
        return x.squeeze(-1)


def _places(ptr: Tensor) -> tuple[Tensor, Tensor]:
    """Return the graph of each node and its place in it."""
    sizes = ptr.diff()
    graph = torch.repeat_interleave(torch.arange(len(sizes), device=ptr.device), sizes)
    return graph, torch.arange(len(graph), device=ptr.device) - ptr[graph]


def _check_nodes(nodes: Tensor, count: int) -> None:
    if nodes.numel() and not 0 <= int(nodes.min()) <= int(nodes.max()) < count:
        raise ValueError(f"pairs name nodes {int(nodes.min())} to {int(nodes.max())}, there are 0 to {count - 1}")


def _check_ptr(ptr: Tensor, count: int) -> None:
    bad = ptr.dim() != 1 or len(ptr) < 1 or ptr.is_floating_point() or int(ptr[0]) != 0 or int(ptr[-1]) != count
    if bad or bool((ptr.diff() < 0).any()):
        raise ValueError(
            f"ptr must go up from 0 to the {count} nodes, the node at which each graph starts; got {ptr.tolist()}"
        )
