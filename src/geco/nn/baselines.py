r"""The networks GECO is compared with, from PyG where PyG has them, all called alike: ``(x, edge_index, batch)`` to ``(N, D)``.

Shapes: N nodes, C input channels, D channels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    GPSConv,
    Polynormer,
    ResGatedGraphConv,
    SAGEConv,
    SGFormer,
)
from torch_geometric.utils import to_dense_batch

__all__ = ["BASELINES", "LocalStack", "SelfAttention"]


class LocalStack(nn.Module):
    r"""L message-passing layers with skip, norm and dropout, the recipe that makes plain GNNs strong:
    :math:`X \leftarrow \mathrm{dropout}(\mathrm{ReLU}(\mathrm{BN}(\mathrm{conv}(X) + W X)))`.

    Args:
        in_channels: C.
        channels: D.
        layers: L.
        dropout: probability.
        conv: makes a layer from D to D; None is an MLP.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> LocalStack(5, 8, 2, 0.0, GCNConv)(torch.randn(3, 5), edges).shape
        torch.Size([3, 8])
    """

    def __init__(
        self, in_channels: int, channels: int, layers: int, dropout: float, conv: Callable[[int, int], nn.Module] | None
    ) -> None:
        super().__init__()
        self.dropout = dropout
        widths = [in_channels, *[channels] * layers]
        self.skips = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        self.convs = nn.ModuleList(conv(a, b) for a, b in itertools.pairwise(widths)) if conv else None
        self.norms = nn.ModuleList(nn.BatchNorm1d(channels) for _ in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        for i, (skip, norm) in enumerate(zip(self.skips, self.norms, strict=True)):
            h = skip(x) if self.convs is None else skip(x) + self.convs[i](x, edge_index)
            x = nn.functional.dropout(torch.relu(norm(h)), self.dropout, self.training)
        return x


class SelfAttention(nn.Module):
    """Fused multi-head attention among the nodes of each graph, padding masked: a Transformer's mixer."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        if channels % heads:
            raise ValueError(f"the width must be a multiple of the heads, got {channels} and {heads}")
        self.heads = heads
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        dense, mask = to_dense_batch(x, batch)  # (B, n, D), (B, n)
        q, k, v = self.qkv(dense).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)  # each (B, heads, n, D / heads)
        seen = None if bool(mask.all()) else mask[:, None, None, :]
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, seen).transpose(1, 2).flatten(2)
        out: Tensor = self.out(mixed[mask])
        return out


class TransformerStack(nn.Module):
    """Pre-norm Transformer layers; the graph's edges are not seen."""

    def __init__(self, in_channels: int, channels: int, layers: int, dropout: float, heads: int) -> None:
        super().__init__()
        self.dropout = dropout
        self.encoder = nn.Linear(in_channels, channels)
        self.mixers = nn.ModuleList(SelfAttention(channels, heads) for _ in range(layers))
        self.ffns = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(channels), nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels)
            )
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        x = self.encoder(x)
        for mixer, ffn, norm in zip(self.mixers, self.ffns, self.norms, strict=True):
            x = x + nn.functional.dropout(mixer(norm(x), batch), self.dropout, self.training)
            x = x + nn.functional.dropout(ffn(x), self.dropout, self.training)
        return x


class GPSStack(nn.Module):
    """PyG's `GPSConv` layers around a GCN, with its attention or its Performer."""

    def __init__(self, in_channels: int, channels: int, layers: int, dropout: float, heads: int, kind: str) -> None:
        super().__init__()
        self.encoder = nn.Linear(in_channels, channels)
        self.layers = nn.ModuleList(
            GPSConv(channels, GCNConv(channels, channels), heads, dropout, attn_type=kind) for _ in range(layers)
        )

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        x = self.encoder(x)
        for layer in self.layers:
            x = layer(x, edge_index, batch)
        return x


class SGFormerBody(nn.Module):
    """PyG's `SGFormer` up to its output layer: half linear attention, half GCN."""

    def __init__(self, in_channels: int, channels: int, layers: int, dropout: float, heads: int) -> None:
        super().__init__()
        model = SGFormer(in_channels, channels, channels, 1, 1, dropout, layers, dropout)
        self.attention, self.local = model.trans_conv, model.graph_conv

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        batch = torch.zeros(len(x), dtype=torch.int64, device=x.device) if batch is None else batch
        out: Tensor = (self.attention(x, batch) + self.local(x, edge_index)) / 2
        return out


class PolynormerBody(Polynormer):  # type: ignore[misc]
    """PyG's `Polynormer` up to its output layer; the first third of training is local, as its authors train it."""

    def __init__(self, in_channels: int, channels: int, layers: int, dropout: float, heads: int) -> None:
        super().__init__(in_channels, channels, channels, layers, 2, 0.0, dropout, dropout)  # PyG's works with one head only

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """Switch global attention on once a third of the epochs is over."""
        self._global = 3 * epoch >= epochs

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node: the input of PyG's output layer, whose softmax is not wanted here."""
        batch = torch.zeros(len(x), dtype=torch.int64, device=x.device) if batch is None else batch
        taken: list[Tensor] = []
        last = self.pred_global if self._global else self.pred_local
        handle = last.register_forward_hook(lambda _module, _inputs, output: taken.append(output))
        try:
            super().forward(x, edge_index, batch)
        finally:
            handle.remove()
        return taken[0]


Make = Callable[[int, int, int, float, int], nn.Module]


def _gin(a: int, b: int) -> nn.Module:
    return GINConv(nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, b)))  # type: ignore[no-any-return]


BASELINES: dict[str, Make] = {  # (in_channels, channels, layers, dropout, heads)
    "mlp": lambda c, d, n, p, h: LocalStack(c, d, n, p, None),
    "gcn": lambda c, d, n, p, h: LocalStack(c, d, n, p, GCNConv),
    "sage": lambda c, d, n, p, h: LocalStack(c, d, n, p, SAGEConv),
    "gat": lambda c, d, n, p, h: LocalStack(c, d, n, p, lambda a, b: GATConv(a, b // h, h)),
    "gin": lambda c, d, n, p, h: LocalStack(c, d, n, p, _gin),
    "gatedgcn": lambda c, d, n, p, h: LocalStack(c, d, n, p, ResGatedGraphConv),
    "transformer": TransformerStack,
    "gps": lambda c, d, n, p, h: GPSStack(c, d, n, p, h, "multihead"),
    "gps-performer": lambda c, d, n, p, h: GPSStack(c, d, n, p, h, "performer"),
    "sgformer": SGFormerBody,
    "polynormer": PolynormerBody,
}
