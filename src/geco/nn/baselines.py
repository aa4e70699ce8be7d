r"""The networks GECO is compared with, from PyG where PyG has them, all called alike: ``(x, edge_index, batch)`` to ``(N, D)``.

Sums over edges that PyG gathers and scatters are sparse products where the layer allows (`geco.nn.sparse`): equal, and faster.

Shapes: N nodes, C input channels, D channels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import (
    GCNConv,
    GINConv,
    GPSConv,
    Polynormer,
    ResGatedGraphConv,
    SGFormer,
)

from geco.nn.functional import dropout
from geco.nn.graph import Graph, prepare
from geco.nn.mixers import make_mixer
from geco.nn.ordered import OrderedStack
from geco.nn.permutation import Permutation
from geco.nn.resolve import call
from geco.nn.sparse import SparseGATConv, SparseGCNConv, SparseSAGEConv

__all__ = ["BASELINES", "PLAIN", "LocalStack", "TransformerStack"]


class LocalStack(nn.Module):
    r"""A linear map of the features, then L message-passing layers with skip, norm and dropout, which makes plain GNNs
    strong: :math:`X \leftarrow \mathrm{dropout}(\mathrm{ReLU}(\mathrm{BN}(\mathrm{conv}(X) + W X)))`.

    Args:
        in_channels: C.
        channels: D.
        layers: L.
        dropout: probability.
        conv: makes a layer from D to D; None is an MLP.
        norm: whether there is a BN; few labels may be better off without.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> LocalStack(5, 8, 2, 0.0, GCNConv)(torch.randn(3, 5), edges).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        layers: int,
        dropout: float,
        conv: Callable[[int, int], nn.Module] | None,
        norm: bool = True,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.encoder = nn.Linear(in_channels, channels)  # messages of width D, however wide the features are
        self.skips = nn.ModuleList(nn.Linear(channels, channels) for _ in range(layers))
        self.convs = nn.ModuleList(conv(channels, channels) for _ in range(layers)) if conv else None
        self.norms = nn.ModuleList(nn.BatchNorm1d(channels) if norm else nn.Identity() for _ in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        x = self.encoder(x)
        for i, (skip, norm) in enumerate(zip(self.skips, self.norms, strict=True)):
            h = skip(x) if self.convs is None else skip(x) + self.convs[i](x, edge_index)
            x = dropout(torch.relu(norm(h)), self.dropout, self.training)
        return x


class TransformerStack(OrderedStack):
    """Pre-norm Transformer layers with attention, or Hyena's operator in its place; the graph's edges are not seen.

    Args:
        in_channels: C.
        channels: D.
        layers: L.
        dropout: probability.
        heads: of attention.
        mixer: ``attention`` or ``hyena``.
        permutation: node order, as in `HybridStack`; attention does not see it.
        eval_orders: orders averaged in evaluation under ``dynamic``.
        seed: of the orders.
        mixer_kwargs: further options of the mixer.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        layers: int,
        dropout: float,
        heads: int,
        mixer: str,
        *,
        permutation: Permutation = "natural",
        eval_orders: int = 4,
        seed: int = 0,
        **mixer_kwargs: Any,
    ) -> None:
        super().__init__(permutation, layers, seed, eval_orders)
        self.dropout = dropout
        self.encoder = nn.Linear(in_channels, channels)
        mixers = [make_mixer(mixer, channels, heads=heads, **mixer_kwargs) for _ in range(layers)]
        self.mixers = nn.ModuleList(m for m in mixers if m is not None)
        self.ffns = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(channels), nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels)
            )
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(layers))

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        graph_id: Tensor | None = None,
        place: Tensor | None = None,
    ) -> Tensor:
        """Return a row per node; ``graph_id`` and ``place`` decide orders as in `GECO`."""
        g = self.ordered_by_structure(prepare(x, edge_index, batch, norm=None), batch, place)
        return self.in_order(lambda graphs: self._run(x, graphs), g, graph_id)

    def _run(self, x: Tensor, graphs: list[Graph]) -> Tensor:
        x = self.encoder(x)
        for mixer, ffn, norm, g in zip(self.mixers, self.ffns, self.norms, graphs, strict=True):
            x = x + dropout(call(mixer, norm(x), graph=g), self.dropout, self.training)
            x = x + dropout(ffn(x), self.dropout, self.training)
        return x


class GPSStack(nn.Module):
    """PyG's `GPSConv` layers around a GCN, with its attention or its Performer, whose heads share the width as well."""

    def __init__(self, in_channels: int, channels: int, layers: int, dropout: float, heads: int, kind: str) -> None:
        super().__init__()
        self.encoder = nn.Linear(in_channels, channels)
        more = {"attn_kwargs": {"head_channels": channels // heads}} if kind == "performer" else {}  # 64 if not given
        self.layers = nn.ModuleList(
            GPSConv(channels, SparseGCNConv(channels, channels), heads, dropout, attn_type=kind, **more) for _ in range(layers)
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
        self.encoder = self.attention.fcs[0]  # before nodes are padded, which is quicker where features are wide
        self.attention.fcs[0] = nn.Identity()
        self.local.convs = nn.ModuleList(SparseGCNConv(channels, channels) for _ in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        batch = torch.zeros(len(x), dtype=torch.int64, device=x.device) if batch is None else batch
        out: Tensor = (self.attention(self.encoder(x), batch) + self.local(x, edge_index)) / 2
        return out


class PolynormerBody(Polynormer):  # type: ignore[misc]
    """PyG's `Polynormer` up to its output layer; the first third of training is local, as its authors train it."""

    def __init__(self, in_channels: int, channels: int, layers: int, dropout: float, heads: int) -> None:
        super().__init__(in_channels, channels, channels, layers, 2, 0.0, dropout, dropout)  # PyG's works with one head only
        widths = [in_channels, *[channels] * layers]
        self.local_convs = nn.ModuleList(SparseGCNConv(a, b) for a, b in itertools.pairwise(widths))

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


Make = Callable[..., nn.Module]
Conv = Callable[[int, int], nn.Module]


def _gin(a: int, b: int) -> nn.Module:
    return GINConv(nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, b)))  # type: ignore[no-any-return]


PLAIN: dict[str, Callable[[int], Conv | None]] = {  # the layers of a `LocalStack`, by the number of heads
    "mlp": lambda h: None,
    "gcn": lambda h: SparseGCNConv,
    "gcn-pyg": lambda h: GCNConv,  # the same, its messages gathered and scattered
    "sage": lambda h: SparseSAGEConv,
    "gat": lambda h: lambda a, b: SparseGATConv(a, b // h, h),
    "gin": lambda h: _gin,
    "gatedgcn": lambda h: ResGatedGraphConv,
}


def _plain(conv: Callable[[int], Conv | None]) -> Make:
    return lambda c, d, n, p, h, norm=True: LocalStack(c, d, n, p, conv(h), norm)


BASELINES: dict[str, Make] = {  # (in_channels, channels, layers, dropout, heads), and ``norm`` of a plain one
    **{name: _plain(conv) for name, conv in PLAIN.items()},
    "transformer": lambda c, d, n, p, h: TransformerStack(c, d, n, p, h, "attention"),
    "hyena": lambda c, d, n, p, h, **options: TransformerStack(c, d, n, p, h, "hyena", **options),
    "gps": lambda c, d, n, p, h: GPSStack(c, d, n, p, h, "multihead"),
    "gps-performer": lambda c, d, n, p, h: GPSStack(c, d, n, p, h, "performer"),
    "sgformer": SGFormerBody,
    "polynormer": PolynormerBody,
}
