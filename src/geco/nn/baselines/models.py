r"""The networks GECO is compared with, from PyG where PyG has them, all called alike: ``(x, edge_index, batch)`` to
``(N, D)``. Those without message passing are in `geco.nn.baselines.transformers`.

Sums over edges that PyG gathers and scatters are sparse products where the layer allows
(`geco.nn.baselines.sparse_convs`): equal, and faster.

Shapes: N nodes, C input channels, D channels.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial

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

from geco.nn.baselines.sparse_convs import SparseGATConv, SparseGCNConv, SparseSAGEConv
from geco.nn.functional import dropout
from geco.nn.resolve import accepted

__all__ = ["GPSStack", "LocalStack", "PolynormerBody", "SGFormerBody", "edged", "plain"]

Conv = Callable[[int, int], nn.Module]


class LocalStack(nn.Module):
    r"""A linear map of the features, then L message-passing layers with skip, norm and dropout, which makes plain GNNs
    strong: :math:`X \leftarrow \mathrm{dropout}(\mathrm{ReLU}(\mathrm{BN}(\mathrm{conv}(X) + W X)))`.

    Args:
        in_channels: C.
        hidden_channels: D.
        num_layers: L.
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
        hidden_channels: int,
        num_layers: int,
        dropout: float,
        conv: Conv | None,
        norm: bool = True,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        self.encoder = nn.Linear(in_channels, hidden_channels)  # messages of width D, however wide the features are
        self.skips = nn.ModuleList(nn.Linear(hidden_channels, hidden_channels) for _ in range(num_layers))
        self.convs = nn.ModuleList(conv(hidden_channels, hidden_channels) for _ in range(num_layers)) if conv else None
        self.norms = nn.ModuleList(
            nn.BatchNorm1d(hidden_channels) if norm else nn.Identity() for _ in range(num_layers)
        )

    @property
    def edge_fields(self) -> tuple[str, ...]:
        """Which of ``edge_weight`` and ``edge_attr`` the layers use."""
        conv = None if self.convs is None else self.convs[0]
        known = {"edge_weight": None, **({} if getattr(conv, "edge_dim", None) is None else {"edge_attr": None})}
        return () if conv is None else tuple(accepted(conv.forward, known))

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """Return a row per node; the layers are given what they use of the edges."""
        given = {"edge_weight": edge_weight, "edge_attr": edge_attr}
        known = {name: given[name] for name in self.edge_fields if given[name] is not None}
        x = self.encoder(x)
        for i, (skip, norm) in enumerate(zip(self.skips, self.norms, strict=True)):
            h = skip(x) if self.convs is None else skip(x) + self.convs[i](x, edge_index, **known)
            x = dropout(torch.relu(norm(h)), self.dropout, self.training)
        return x


def plain(conv: Callable[[int], Conv | None]) -> Callable[..., LocalStack]:
    """Return a baseline: a `LocalStack` of the layers that ``conv`` gives for a number of heads.

    Example:
        >>> plain(lambda heads: GCNConv)(5, 8, 2, 0.0, 4, norm=False).norms
        ModuleList(
          (0-1): 2 x Identity()
        )
    """

    def make(
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        dropout: float,
        heads: int,
        *,
        norm: bool = True,
    ) -> LocalStack:
        return LocalStack(in_channels, hidden_channels, num_layers, dropout, conv(heads), norm)

    return make


def edged(conv: Callable[[int, int | None], Conv]) -> Callable[..., LocalStack]:
    """Return a baseline as `plain` does, of layers that take edge features: ``conv`` gives them for a number of heads
    and the width of the features, or None.

    Example:
        >>> edged(lambda heads, edge_dim: lambda a, b: ResGatedGraphConv(a, b, edge_dim=edge_dim))(
        ...     5, 8, 2, 0.0, 4, edge_dim=8).edge_fields
        ('edge_attr',)
    """

    def make(
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        dropout: float,
        heads: int,
        *,
        norm: bool = True,
        edge_dim: int | None = None,
    ) -> LocalStack:
        return LocalStack(in_channels, hidden_channels, num_layers, dropout, conv(heads, edge_dim), norm)

    return make


def _gin(in_channels: int, out_channels: int) -> nn.Module:
    mlp = nn.Sequential(nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))
    return GINConv(mlp)  # type: ignore[no-any-return]


mlp = plain(lambda heads: None)
gcn = plain(lambda heads: SparseGCNConv)
gcn_pyg = plain(lambda heads: GCNConv)  # the same, its messages gathered and scattered
sage = plain(lambda heads: SparseSAGEConv)
gat = edged(lambda heads, edge_dim: lambda a, b: SparseGATConv(a, b // heads, heads, edge_dim))
gin = plain(lambda heads: _gin)
gatedgcn = edged(lambda heads, edge_dim: lambda a, b: ResGatedGraphConv(a, b, edge_dim=edge_dim))


class GPSStack(nn.Module):
    """PyG's `GPSConv` layers around a GCN, with its attention or its Performer, whose heads share the width as well."""

    def __init__(
        self, in_channels: int, hidden_channels: int, num_layers: int, dropout: float, heads: int, kind: str
    ) -> None:
        super().__init__()
        self.encoder = nn.Linear(in_channels, hidden_channels)
        width = hidden_channels // heads  # PyG's Performer takes 64 if it is not given
        more = {"attn_kwargs": {"head_channels": width}} if kind == "performer" else {}
        local = partial(SparseGCNConv, hidden_channels, hidden_channels)
        self.layers = nn.ModuleList(
            GPSConv(hidden_channels, local(), heads, dropout, attn_type=kind, **more) for _ in range(num_layers)
        )

    def forward(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Return a row per node."""
        x = self.encoder(x)
        for layer in self.layers:
            x = layer(x, edge_index, batch, edge_weight=edge_weight)
        return x


gps = partial(GPSStack, kind="multihead")
gps_performer = partial(GPSStack, kind="performer")


class SGFormerBody(nn.Module):
    """PyG's `SGFormer` up to its output layer: half linear attention, half GCN."""

    def __init__(self, in_channels: int, hidden_channels: int, num_layers: int, dropout: float, heads: int) -> None:
        super().__init__()
        model = SGFormer(in_channels, hidden_channels, hidden_channels, 1, 1, dropout, num_layers, dropout)
        self.attention, self.local = model.trans_conv, model.graph_conv
        self.encoder = self.attention.fcs[0]  # before nodes are padded, which is quicker where features are wide
        self.attention.fcs[0] = nn.Identity()
        self.local.convs = nn.ModuleList(SparseGCNConv(hidden_channels, hidden_channels) for _ in range(num_layers))

    def forward(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Return a row per node."""
        batch = torch.zeros(len(x), dtype=torch.int64, device=x.device) if batch is None else batch
        with _weighted(self.local.convs, edge_weight):
            out: Tensor = (self.attention(self.encoder(x), batch) + self.local(x, edge_index)) / 2
        return out


class PolynormerBody(Polynormer):  # type: ignore[misc]
    """PyG's `Polynormer` up to its output layer, trained in two phases: its local part first, then all of it.

    Its authors switch the global part on after a number of epochs, and begin with it from the best local epoch:
    ``local_epochs``, by `geco.train.phases`. Each phase has a linear map of its own after its part, as published; ours
    is that the head after it is shared, and begins the second phase trained.

    Args:
        in_channels: C.
        hidden_channels: D.
        num_layers: L of the local part; the global one has 2.
        dropout: probability.
        heads: not used; PyG's works with one only.
        local_epochs: of the first phase; 0 is a third of the epochs.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        dropout: float,
        heads: int,
        *,
        local_epochs: int = 0,
    ) -> None:
        super().__init__(in_channels, hidden_channels, hidden_channels, num_layers, 2, 0.0, dropout, dropout)
        self.local_epochs = local_epochs
        widths = [in_channels, *[hidden_channels] * num_layers]
        self.local_convs = nn.ModuleList(SparseGCNConv(a, b) for a, b in itertools.pairwise(widths))

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """Switch global attention on once the local epochs, or a third of all, are over."""
        self._global = epoch >= self.local_epochs if self.local_epochs else 3 * epoch >= epochs

    def forward(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Return a row per node: the input of PyG's output layer, whose softmax is not wanted here."""
        batch = torch.zeros(len(x), dtype=torch.int64, device=x.device) if batch is None else batch
        taken: list[Tensor] = []
        last = self.pred_global if self._global else self.pred_local
        handle = last.register_forward_hook(lambda _module, _inputs, output: taken.append(output))
        try:
            with _weighted(self.local_convs, edge_weight):
                super().forward(x, edge_index, batch)
        finally:
            handle.remove()
        return taken[0]


@contextlib.contextmanager
def _weighted(convs: Iterable[nn.Module], edge_weight: Tensor | None) -> Iterator[None]:
    """Give layers edge weights, which the network of PyG around them does not hand on."""
    given = {} if edge_weight is None else {"edge_weight": edge_weight}
    handles = [
        conv.register_forward_pre_hook(lambda _, args, known: (args, {**known, **given}), with_kwargs=True)
        for conv in convs
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
