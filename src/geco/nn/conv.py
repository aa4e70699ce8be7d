r"""The GECO operator and layer.

Shapes: N nodes, M edges, D channels, K order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn.resolver import normalization_resolver

from geco.nn.adjacency import Norm, traced_adjacency
from geco.nn.attention import SurrogateAttention
from geco.nn.blocks import FeedForward, FilterName, GlobalContext, LocalPropagation, Memory, Ring
from geco.nn.functional import dropout
from geco.nn.graph import Graph, check_features, graph
from geco.nn.permutation import arranged
from geco.nn.rows import by_rows

__all__ = ["GECOConv", "GECOLayer"]


class GECOConv(nn.Module):
    r"""The GECO operator, :math:`\mathrm{GCB}(\mathrm{BN}([X, \hat A X]))`: a drop-in for a graph transformer's attention.

    Each node hears its neighbours through :math:`\hat A` and all nodes of its graph through K gated circular convolutions,
    in O(N log N + M). A graph's output in evaluation mode does not depend on its batch mates or its place in the batch.

    Args:
        channels: D, or -1 to read it off the first input (then run one forward pass before making the optimiser).
        order: K, the number of convolutions.
        norm: :math:`\hat A`, as in `LocalPropagation`.
        filter: as in `GlobalContext`.
        ring: as in `GlobalContext`.
        memory: as in `GlobalContext`.
        out_proj: as in `GlobalContext`.
        filter_kwargs: options of the filter.

    Shapes:
        ``x`` (N, D), ``edge_index`` (2, M), torch sparse (N, N) or ``EdgeIndex``, ``batch`` (N,), ``edge_weight`` (M,),
        ``order`` (N,) to (N, D).

    Example:
        >>> conv = GECOConv(16)
        >>> conv(torch.randn(4, 16), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])).shape
        torch.Size([4, 16])
    """

    multiplies = True  # node features with one another: see `GPSLayer`
    norm: nn.BatchNorm1d
    context: GlobalContext
    local: LocalPropagation

    def __init__(
        self,
        channels: int,
        order: int = 2,
        norm: Norm | Literal["attention"] = "sym",
        *,
        filter: FilterName = "waves",
        ring: Ring = "exact",
        memory: Memory = "auto",
        out_proj: bool = False,
        filter_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if channels != -1 and channels < 1:
            raise ValueError(f"channels must be at least 1, or -1 to read it off the first input; got {channels}")
        self.channels, self.order, self.adjacency = channels, order, norm
        self._options = {
            "filter": filter, "ring": ring, "memory": memory, "out_proj": out_proj, "filter_kwargs": filter_kwargs
        }  # fmt: skip
        self._build(max(channels, 1))  # also with -1, so that wrong options are refused here
        if channels == -1:
            del self.local, self.norm, self.context

    def _build(self, channels: int) -> None:
        self.local = LocalPropagation(self.adjacency, channels)
        self.norm = nn.BatchNorm1d(2 * channels)
        self.context = GlobalContext(2 * channels, channels, self.order, **self._options)  # type: ignore[arg-type]

    def reset_parameters(self) -> None:
        """Draw all weights anew and forget statistics and cached spectra."""
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Graph,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        order: Tensor | None = None,
    ) -> Tensor:
        """Apply the operator; ``order`` is the node at each place of the ring (default: as they come)."""
        if self.channels == -1:
            check_features(x)
            self.channels = x.shape[1]
            self._build(self.channels)
            self.to(x.device)
        if torch.compiler.is_exporting():
            return self._export(x, edge_index, edge_weight)
        out: Tensor = self._mix(x, self.graph(x, edge_index, batch, edge_weight, order))
        return out

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def graph(
        self,
        x: Tensor,
        edge_index: Tensor | Graph,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        order: Tensor | None = None,
    ) -> Graph:
        """Check the input and prepare its graphs; a prepared `Graph` may be passed in place of ``edge_index``."""
        if self.training and len(x) == 1:
            raise ValueError(
                "BatchNorm cannot train on a single node (its variance is zero); call .eval(), or batch this graph with others"
            )
        if isinstance(edge_index, Graph):
            return edge_index
        found = graph(x, edge_index, batch, edge_weight, self.local.adjacency_norm)
        if x.shape[1] != self.channels:
            raise ValueError(f"x has {x.shape[1]} channels, the layer was made for {self.channels}")
        if x.device != self.norm.weight.device:
            raise ValueError(f"x is on {x.device}, the layer on {self.norm.weight.device}; move both to one device")
        return found if order is None else Graph(found.adj, arranged(found.rings, batch, order))

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _mix(self, x: Tensor, g: Graph) -> Tensor:
        return self.context.mix([x, self.local.neighbours(x, g.adj)], g.rings, self.norm)

    def _export(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None) -> Tensor:
        """Trace plain operators: one graph, its edges as they come, no checks."""
        adj = traced_adjacency(edge_index, x.shape[0], edge_weight, self.local.adjacency_norm)
        return self.context.mix([x, self.local.neighbours(x, adj)], None, self.norm)

    @torch.no_grad()
    def attention(
        self, x: Tensor, edge_index: Tensor | Graph, edge_weight: Tensor | None = None, order: Tensor | None = None
    ) -> SurrogateAttention:
        """Return the layer's surrogate attention on one graph, in factors; in evaluation mode, as everything that explains."""
        g = self.graph(x, edge_index, None, edge_weight, order)
        h = torch.cat([x, self.local.neighbours(x, g.adj)], 1)
        gates = self.context.projection(self.norm(g.rings.arrange(h))).t().view(self.order + 1, -1, len(x))[:-1]
        return SurrogateAttention(gates, self.context.filter(len(x)), g.rings.order)

    def attention_row(self, i: int, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return how every node acts on node i, per channel, ``(D, N)``, in O(N log N)."""
        return self.attention(x, edge_index, edge_weight).row(i)

    def attention_column(self, j: int, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return how node j acts on every node, per channel, ``(D, N)``, in O(N log N)."""
        return self.attention(x, edge_index, edge_weight).column(j)

    def __repr__(self) -> str:
        """Name the key arguments."""
        return f"{type(self).__name__}({self.channels}, order={self.order}, norm={self.adjacency})"


class GECOLayer(nn.Module):
    r"""One layer of Algorithm 2: :math:`H = \mathrm{LN}(\mathrm{GECO}(X) + X)`, then :math:`\mathrm{LN}(\mathrm{FFN}(H) + H)`.

    Args:
        channels: D.
        order: K.
        norm: :math:`\hat A`, as in `LocalPropagation`.
        dropout: after the operator and in the FFN.
        act: of the FFN, a name PyG's resolver knows.
        ffn_ratio: width of the FFN in multiples of D.
        block_norm: after each skip: ``layer_norm`` (the paper's, over channels), None, or a name PyG's resolver knows.
        conv_kwargs: further options of `GECOConv`.

    Shapes:
        as `GECOConv`.

    Example:
        >>> GECOLayer(16)(torch.randn(4, 16), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])).shape
        torch.Size([4, 16])
    """

    def __init__(
        self,
        channels: int,
        order: int = 2,
        norm: Norm | Literal["attention"] = "sym",
        *,
        dropout: float = 0.0,
        act: str | Callable[..., Any] = "relu",
        ffn_ratio: float = 1.0,
        block_norm: str | None = "layer_norm",
        **conv_kwargs: Any,
    ) -> None:
        super().__init__()
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        if channels < 1 or ffn_ratio <= 0:
            raise ValueError(f"channels must be at least 1 and ffn_ratio above 0, got {channels} and {ffn_ratio}")
        self.conv = GECOConv(channels, order, norm, **conv_kwargs)
        self.ffn = FeedForward(channels, max(1, round(ffn_ratio * channels)), dropout, act)
        self.norm1, self.norm2 = _block_norm(block_norm, channels), _block_norm(block_norm, channels)
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in (self.conv, self.ffn, self.norm1, self.norm2):
            if not isinstance(module, nn.Identity):
                module.reset_parameters()  # type: ignore[operator]

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Graph,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        order: Tensor | None = None,
    ) -> Tensor:
        """Apply the layer."""
        y = self.conv(x, edge_index, batch, edge_weight, order)
        if torch.compiler.is_compiling() or not isinstance(self.norm1, nn.LayerNorm | nn.Identity):
            return self._skips(x, y)
        mine = [p for module in (self.ffn, self.norm1, self.norm2) for p in module.parameters()]
        return by_rows(self._skips, mine, x, y)

    def _skips(self, x: Tensor, y: Tensor) -> Tensor:
        h: Tensor = self.norm1(x + dropout(y, self.dropout, self.training))
        out: Tensor = self.norm2(h + self.ffn(h))
        return out

    def __repr__(self) -> str:
        """Name the key arguments."""
        conv = self.conv
        return f"{type(self).__name__}({conv.channels}, order={conv.order}, norm={conv.adjacency}, dropout={self.dropout})"


def _block_norm(name: str | None, channels: int) -> nn.Module:
    if name is None:
        return nn.Identity()
    # PyG's own "layer_norm" normalises over a whole batch of graphs; the paper's is over a node's channels.
    return nn.LayerNorm(channels) if name == "layer_norm" else normalization_resolver(name, channels)
