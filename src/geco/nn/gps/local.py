r"""Message-passing layers by name, called alike: ``(x, edge_index, edge_attr=None)`` to ``(N, D)``.

Shapes: N nodes, M edges, D channels, E width of the edge features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GINEConv, PNAConv

from geco import names
from geco.nn.baselines.sparse_convs import SparseGCNConv
from geco.nn.gps.gated_gcn import GatedGCN
from geco.nn.graph.edge_checks import check_edges, plain_edges
from geco.nn.resolve import activation, check_name, keywords

__all__ = ["EDGE_LAYERS", "LOCALS", "GatedGCN", "LocalConv", "degree_histogram", "make_local"]

LOCALS = (*names.LOCALS, "none")
EDGE_LAYERS = ("gatedgcn", "gine")  # those for which a `Network` encodes the edge features
Act = str | Callable[..., Any] | None


class LocalConv(nn.Module):
    """A message-passing layer of PyG with its input checked.

    Args:
        conv: the layer, from D to D.
        channels: D.
        edge_dim: E, width of the edge features the layer needs; None if it takes none.
        blind: leave edge features out if they are given, rather than refuse them.

    Shapes:
        ``x`` (N, D), ``edge_index`` (2, M), ``edge_attr`` (M, E) to (N, D).

    Example:
        >>> LocalConv(SparseGCNConv(4, 4), 4)(torch.randn(3, 4), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 4])
    """

    def __init__(self, conv: nn.Module, channels: int, edge_dim: int | None = None, blind: bool = False) -> None:
        super().__init__()
        self.conv, self.channels, self.edge_dim, self.blind = conv, channels, edge_dim, blind

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.conv.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """Pass messages along the edges."""
        edge_attr = None if self.blind else edge_attr
        name = type(self.conv).__name__
        if self.edge_dim is not None and edge_attr is None:
            raise ValueError(
                f"{name} needs edge features: give edge_attr of shape (M, {self.edge_dim}), or use gcn or gat"
            )
        if self.edge_dim is None and edge_attr is not None:
            raise ValueError(f"this {name} was made without edge features: make it with edge_dim={edge_attr.shape[-1]}")
        check_edges(x, edge_index, edge_attr, self.channels, self.edge_dim)
        edges = plain_edges(edge_index)
        out: Tensor = self.conv(x, edges) if edge_attr is None else self.conv(x, edges, edge_attr=edge_attr)
        return out


def make_local(
    name: str,
    channels: int,
    *,
    heads: int = 4,
    dropout: float = 0.0,
    act: Act = "relu",
    edge_dim: int | None = None,
    degrees: Sequence[int] | Tensor | None = None,
) -> nn.Module | None:
    """Return a message-passing layer from D to D, or None for ``none``.

    ``gatedgcn`` has edge features of width D, carries them from layer to layer and can do without; ``gine`` needs edge
    features; ``gat`` and ``pna`` take them if made with ``edge_dim``; ``gcn`` leaves them out.

    Args:
        name: one of `geco.names.LOCALS`, or ``none``.
        channels: D.
        heads: of ``gat``, a divisor of D.
        dropout: of ``gatedgcn``, whose skips are its own.
        act: activation inside ``gatedgcn``, ``gine`` and ``pna``.
        edge_dim: E; D by default where edge features are needed.
        degrees: how many nodes of the training graphs have in-degree 0, 1, 2 and so on, needed by ``pna``; see
            `degree_histogram`.

    Example:
        >>> make_local("gat", 8, heads=2)(torch.randn(3, 8), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 8])
    """
    check_name("local layer", name, LOCALS)
    if channels < 1 or (edge_dim is not None and edge_dim < 1):
        raise ValueError(f"channels and edge_dim must be at least 1, got {channels} and {edge_dim}")
    if name == "none":
        return None
    make = resolve_name(names.LOCALS[name])
    known = {"heads": heads, "dropout": dropout, "act": act, "edge_dim": edge_dim, "degrees": degrees}
    layer: nn.Module = make(channels, **keywords(make, known))
    return layer


def degree_histogram(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return how many nodes have in-degree 0, 1, 2 and so on.

    Example:
        >>> degree_histogram(torch.tensor([[0, 1, 2], [1, 1, 0]]), 3).tolist()
        [1, 1, 1]
    """
    return torch.bincount(torch.bincount(edge_index[1], minlength=num_nodes))


def gatedgcn(channels: int, *, dropout: float, act: Act, edge_dim: int | None) -> GatedGCN:
    """Return a `GatedGCN`, whose edges are as wide as its nodes."""
    if edge_dim not in (None, channels):
        wanted = f"both are {channels} wide"
        raise ValueError(f"gatedgcn adds edge features to node features: {wanted}, got edge_dim={edge_dim}")
    return GatedGCN(channels, dropout=dropout, act=act)


def gine(channels: int, *, act: Act, edge_dim: int | None) -> LocalConv:
    """Return GINE, which needs edge features."""
    mlp = nn.Sequential(nn.Linear(channels, channels), activation(act), nn.Linear(channels, channels))
    return LocalConv(GINEConv(mlp, edge_dim=None if edge_dim == channels else edge_dim), channels, edge_dim or channels)


def gcn(channels: int) -> LocalConv:
    """Return a GCN that leaves edge features out."""
    return LocalConv(SparseGCNConv(channels, channels), channels, blind=True)


def gat(channels: int, *, heads: int, edge_dim: int | None) -> LocalConv:
    """Return GAT, the heads side by side."""
    if heads < 1 or channels % heads:
        raise ValueError(f"the width must be a multiple of the heads, got {channels} and {heads}")
    return LocalConv(GATConv(channels, channels // heads, heads, edge_dim=edge_dim), channels, edge_dim)


def pna(channels: int, *, act: Act, edge_dim: int | None, degrees: Sequence[int] | Tensor | None) -> LocalConv:
    """Return PNA, scaled by the degrees of the training graphs."""
    counts = torch.as_tensor([] if degrees is None else degrees)
    if counts.numel() == 0 or counts.dim() != 1 or not bool(counts[1:].sum() > 0) or bool((counts < 0).any()):
        raise ValueError(
            "pna is scaled by the training graphs' degrees: give degrees, the number of nodes of in-degree 0, 1, 2 and "
            "so on, "
            "from degree_histogram; at least one node must have an edge"
        )
    aggregators, scalers = ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"]
    return LocalConv(
        PNAConv(channels, channels, aggregators, scalers, counts, edge_dim, act=activation(act)), channels, edge_dim
    )
