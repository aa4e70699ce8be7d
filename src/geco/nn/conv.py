r"""The GECO operator and layer, to be read top to bottom.

The global block has two forms of the same computation. The plain one is written here, in the paper's names and stock
operators. The fast one, on a CPU, is one autograd function (`geco.nn.ops.global_context`), which takes one of the
algorithms of `geco.nn.ops.plan` and never makes the normalised [X, ÂX].

Shapes: N nodes, M edges, C input channels, D channels, K order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from geco.nn.blocks import AdjacencyName, FeedForward, LocalPropagation
from geco.nn.explain import SurrogateAttention
from geco.nn.filters import FILTERS, Filter, FilterName, PaperFilter
from geco.nn.functional import dropout, full_precision
from geco.nn.graph.prepare import Graph, check_features, check_not_single, prepare
from geco.nn.graph.rings import Rings, one_ring, rings_of
from geco.nn.ops.global_context import global_context
from geco.nn.ops.plain_span import plain_form
from geco.nn.ops.plan import Algorithm, Memory, choose, has_plan
from geco.nn.ops.rowwise import by_rows
from geco.nn.resolve import build, check_name, check_one_width, norm_layer, normed, reset
from geco.nn.whole_graph import WithoutEdgeFeatures, check_no_edge_features

__all__ = ["GECOConv", "GECOLayer", "GlobalContext"]


class GlobalContext(nn.Module):
    r"""Global context block, Algorithm 1: :math:`P_1, \dots, P_K, V = H W^\top + b`, then K times
    :math:`V \leftarrow P_i \odot (F_i \circledast V)`, with :math:`\circledast` the circular convolution over each
    graph's own nodes.

    The paper does not say how the block starts. Here the biases of V and :math:`P_1, \dots, P_{K-1}` start at one,
    that of :math:`P_K` at zero, and each filter sums to one: the block first passes the local signal of :math:`P_K` and
    learns how to modulate it. See docs/design-notes.md for what that gains. With the paper's filter gates start
    plainly, as any `torch.nn.Linear` does.

    Args:
        in_channels: C.
        channels: D.
        order: K >= 1.
        filter: ``windows`` (`WindowedFilter`: mean, waves and windows over distances), ``waves`` (`ImplicitFilter`:
            mean and waves), ``mean`` (`MeanFilter`), ``paper`` (`PaperFilter`, the paper as it is written, plain start
            included), or ``none``: the block is a linear map of H, and no node reaches another.
        algorithm: ``auto``, the fast form on a CPU (see `plan`), or ``plain``, which is twice differentiable.
        memory: what the fast form holds for backward: inputs only (``lean``), the gates too (``keep``), or the gates
            where they are small (``auto``).
        out_proj: a linear map of the result, which Algorithm 1 does not have.
        filter_kwargs: options of the filter.

    Shapes:
        ``h`` (N, C), ``batch`` (N,) to (N, D).

    Example:
        >>> GlobalContext(6, 4)(torch.randn(10, 6)).shape
        torch.Size([10, 4])
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        order: int = 2,
        *,
        filter: FilterName = "windows",
        algorithm: Literal["auto", "plain"] = "auto",
        memory: Memory = "auto",
        out_proj: bool = False,
        filter_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if order < 1:
            raise ValueError(f"order (K) must be at least 1, got {order}")
        check_name("filter", filter, get_args(FilterName))
        check_name("algorithm", algorithm, ("auto", "plain"))
        check_name("memory", memory, get_args(Memory))
        self.in_channels, self.channels, self.order = in_channels, channels, order
        self.algorithm, self.memory = algorithm, memory
        self.projection = nn.Linear(in_channels, channels if filter == "none" else (order + 1) * channels)
        self.filter: Filter | None = None
        if filter != "none":
            self.filter = build(filter, FILTERS[filter], order, channels, options=filter_kwargs or {})
        self.out_proj = nn.Linear(channels, channels) if out_proj else nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset all weights, with biases of one and zero as said above, but for the paper's filter."""
        self.projection.reset_parameters()
        if self.filter is not None and not isinstance(self.filter, PaperFilter):
            with torch.no_grad():
                rows = self.projection.bias.view(self.order + 1, -1)  # P_1 .. P_K and V
                rows.fill_(1.0)
                rows[self.order - 1] = 0.0  # P_K
        if self.filter is not None:
            self.filter.reset_parameters()
        if isinstance(self.out_proj, nn.Linear):
            self.out_proj.reset_parameters()

    def forward(self, h: Tensor, batch: Tensor | None = None) -> Tensor:
        """Mix the nodes of each graph."""
        return self.mix([h], _rings(h, batch, self.in_channels))

    def mix(self, parts: Sequence[Tensor], rings: Rings, norm: nn.BatchNorm1d | None = None) -> Tensor:
        """Mix H, given as column groups, after BatchNorm if one is given."""
        dtype, work = parts[0].dtype, _working(parts[0].dtype)
        with full_precision(parts[0].device):  # statistics and transforms
            parts = [part.to(work) for part in parts]
            if not self._runs_plain(parts[0].device) and has_plan(self.filter, rings, parts[0]):
                out: Tensor = self._fast(parts, rings, norm)
                return out.to(dtype)
            h = torch.cat(list(parts), dim=1)  # H, (N, C)
            return self.plain(h if norm is None else norm(h), rings).to(dtype)

    def plain(self, h: Tensor, rings: Rings) -> Tensor:
        """Return Algorithm 1 as it is written."""
        z = nn.functional.linear(h, self.projection.weight.to(h.dtype), self.projection.bias.to(h.dtype))
        if self.filter is None:
            return self.out_proj(z)  # type: ignore[no-any-return]
        form = plain_form(rings, self.filter, h)
        *gates, v = form.lay_out(z, self.order)  # P_1 .. P_K and V, a row for each place of a ring
        for p, f in zip(gates, form.filters(self.filter, h.dtype), strict=True):
            v = p * form.convolve(v, f)  # V <- P_i * (F_i conv V)
        return self.out_proj(form.take_back(v))  # type: ignore[no-any-return]

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _fast(self, parts: Sequence[Tensor], rings: Rings, norm: nn.BatchNorm1d | None) -> Tensor:
        """Return the same as `plain` of the normalised parts."""
        assert self.filter is not None
        chosen = choose(self.filter, rings.sizes, parts[0], self.memory, rings.span)
        v = global_context([rings.arrange(part) for part in parts], self.projection, self.order, chosen, norm)
        return self.out_proj(rings.restore(v))  # type: ignore[no-any-return]

    def plan(self, sizes: Sequence[int]) -> Algorithm:
        """Return which algorithm will run for graphs of these sizes, with the current weights, and why.

        Example:
            >>> GlobalContext(6, 4).plan([30, 50]).name
            'short-rings'
        """
        weight = self.projection.weight
        if self.filter is None:
            return Algorithm("none", "filter='none' is a linear map of each node")
        if self._runs_plain(weight.device):
            return Algorithm("plain", "algorithm='plain'" if self.algorithm == "plain" else f"on {weight.device.type}")
        like = weight.new_empty((), dtype=_working(weight.dtype)).expand(sum(sizes), 1)  # rows that take no memory
        with torch.no_grad():
            return choose(self.filter, tuple(sizes), like, self.memory).algorithm

    def _runs_plain(self, device: torch.device) -> bool:
        """Tell whether `plain` runs, which with ``filter="none"`` is the projection alone."""
        no_choice = self.filter is None or torch.compiler.is_exporting() or device.type != "cpu"
        return no_choice or self.algorithm == "plain"

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"order={self.order}, algorithm={self.algorithm}, memory={self.memory}"


class GECOConv(WithoutEdgeFeatures):
    r"""The GECO operator, :math:`\mathrm{GCB}(\mathrm{BN}([X, \hat A X]))`: a drop-in for a graph transformer's
    attention.

    Each node is reached by its neighbours through :math:`\hat A` and by all nodes of its graph through K gated circular
    convolutions, in O(N log N + M). A graph's output in evaluation mode does not depend on its batch mates or its place
    in the batch.

    Args:
        channels: D, or -1 to read it off the first input (then run one forward pass before making the optimiser).
        order: K, the number of convolutions.
        adjacency: :math:`\hat A`, as in `LocalPropagation`.
        filter: as in `GlobalContext`.
        algorithm: as in `GlobalContext`.
        memory: as in `GlobalContext`.
        out_proj: as in `GlobalContext`.
        filter_kwargs: options of the filter.

    Shapes:
        ``x`` (N, D), ``edge_index`` (2, M), torch sparse (N, N) or ``EdgeIndex``, ``batch`` (N,), ``edge_weight`` (M,),
        ``permutation`` (N,) to (N, D).

    Example:
        >>> conv = GECOConv(16)
        >>> conv(torch.randn(4, 16), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])).shape
        torch.Size([4, 16])
    """

    multiplies = True  # its output is a product of features, so `GPSLayer` puts a norm over channels after it
    norm: nn.BatchNorm1d
    context: GlobalContext
    local: LocalPropagation

    def __init__(
        self,
        channels: int,
        order: int = 2,
        adjacency: AdjacencyName = "sym",
        *,
        filter: FilterName = "windows",
        algorithm: Literal["auto", "plain"] = "auto",
        memory: Memory = "auto",
        out_proj: bool = False,
        filter_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if channels != -1 and channels < 1:
            raise ValueError(f"channels must be at least 1, or -1 to read it off the first input; got {channels}")
        check_one_width(self, channels, order)
        self.channels, self.order, self.adjacency = channels, order, adjacency
        self._context_options: dict[str, Any] = {
            "filter": filter, "algorithm": algorithm, "memory": memory, "out_proj": out_proj,
            "filter_kwargs": filter_kwargs,
        }  # fmt: skip
        self._build(max(channels, 1))  # with -1 to check the options only: built again at the first input
        if channels == -1:
            del self.local, self.norm, self.context

    def _build(self, channels: int) -> None:
        self.local = LocalPropagation(self.adjacency, channels)
        self.norm = nn.BatchNorm1d(2 * channels)
        self.context = GlobalContext(2 * channels, channels, self.order, **self._context_options)

    def reset_parameters(self) -> None:
        """Reset all weights with statistics and cached spectra."""
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | None = None,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        permutation: Tensor | None = None,
        *,
        graph: Graph | None = None,
    ) -> Tensor:
        """Apply the operator.

        ``permutation`` is the node at each place of the ring (default: as they come). A ``graph`` from `prepare`, which
        a stack of layers shares, takes the place of all other arguments but x.
        """
        if self.channels == -1:
            self._build_for(x)
        g = self.prepare(x, edge_index, batch, edge_weight, permutation) if graph is None else graph
        g.checked_for(x, self.channels)
        check_not_single(g.rings.num_nodes, self.norm)
        h = [x, self.local.propagate(x, g)]  # LCB: [X, ÂX], kept apart
        return self.context.mix(h, g.rings, g.norm(self.norm))  # BatchNorm, P_i and V, K times V <- P_i * (F_i conv V)

    def prepare(
        self,
        x: Tensor,
        edge_index: Tensor | None,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        permutation: Tensor | None = None,
    ) -> Graph:
        """Check the input and prepare its graphs, for this layer and all that share its adjacency."""
        g = prepare(x, edge_index, batch, edge_weight, permutation, self.local.normalisation)
        if x.shape[1] != self.channels:
            raise ValueError(f"x has {x.shape[1]} channels, the layer was made for {self.channels}")
        if x.device != self.norm.weight.device:
            raise ValueError(f"x is on {x.device}, the layer on {self.norm.weight.device}; move both to one device")
        return g

    def _build_for(self, x: Tensor) -> None:
        check_features(x)
        self.channels = x.shape[1]
        self._build(self.channels)
        self.to(x.device)

    @torch.no_grad()
    def attention(
        self,
        x: Tensor,
        edge_index: Tensor | None = None,
        edge_weight: Tensor | None = None,
        permutation: Tensor | None = None,
        *,
        graph: Graph | None = None,
    ) -> SurrogateAttention:
        """Return the layer's surrogate attention on one graph, in factors, as in evaluation mode."""
        if self.context.filter is None:
            raise ValueError("filter='none' has no global block and so no surrogate attention; use another filter")
        g = self.prepare(x, edge_index, None, edge_weight, permutation) if graph is None else graph
        g.checked_for(x, self.channels)
        h = g.rings.arrange(torch.cat([x, self.local.propagate(x, g)], dim=1))
        n = self.norm
        h = nn.functional.batch_norm(h, n.running_mean, n.running_var, n.weight, n.bias, eps=n.eps)
        gates = self.context.projection(h).t().view(self.order + 1, -1, len(x))[:-1]
        return SurrogateAttention(gates, self.context.filter(len(x)), g.rings.permutation)

    def __repr__(self) -> str:
        """Name the key arguments."""
        return f"{type(self).__name__}({self.channels}, order={self.order}, adjacency={self.adjacency})"


class GECOLayer(WithoutEdgeFeatures):
    r"""One layer of Algorithm 2: :math:`H = \mathrm{LN}(\mathrm{dropout}(\mathrm{GECO}(X)) + X)`, then
    :math:`\mathrm{LN}(\mathrm{FFN}(H) + H)`.

    Args:
        channels: D.
        order: K.
        adjacency: :math:`\hat A`, as in `LocalPropagation`.
        dropout: after the operator and in the FFN.
        act: of the FFN: a name PyG's resolver knows, a callable, a module or None.
        act_kwargs: options of act.
        ffn_ratio: width of the FFN in multiples of D.
        norm: after each skip: ``layer_norm`` (the paper's, over channels), None, another name that PyG's resolver
            knows, a class, or a module, which is copied. Norms that take ``batch`` norm each graph by itself.
        norm_kwargs: options of norm.
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
        adjacency: AdjacencyName = "sym",
        *,
        dropout: float = 0.0,
        act: str | Callable[..., Any] | None = "relu",
        act_kwargs: dict[str, Any] | None = None,
        ffn_ratio: float = 1.0,
        norm: str | Callable[..., Any] | None = "layer_norm",
        norm_kwargs: dict[str, Any] | None = None,
        **conv_kwargs: Any,
    ) -> None:
        super().__init__()
        check_no_edge_features(self, conv_kwargs)
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {dropout}")
        if channels < 1 or ffn_ratio <= 0:
            raise ValueError(f"channels must be at least 1 and ffn_ratio above 0, got {channels} and {ffn_ratio}")
        check_one_width(self, channels, order)
        self.conv = GECOConv(channels, order, adjacency, **conv_kwargs)
        self.ffn = FeedForward(channels, max(1, round(ffn_ratio * channels)), dropout, act, act_kwargs)
        named = {"layer_norm": nn.LayerNorm}
        self.norm1, self.norm2 = (norm_layer(norm, channels, named, **(norm_kwargs or {})) for _ in range(2))
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Reset all weights."""
        for module in (self.conv, self.ffn, self.norm1, self.norm2):
            if module is not None:
                reset(module)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | None = None,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        permutation: Tensor | None = None,
        *,
        graph: Graph | None = None,
    ) -> Tensor:
        """Apply the layer; arguments as in `GECOConv.forward`."""
        y = self.conv(x, edge_index, batch, edge_weight, permutation, graph=graph)
        if torch.compiler.is_compiling() or not isinstance(self.norm1, nn.LayerNorm | None):  # others see more nodes
            return self._skips_and_ffn(x, y, batch if graph is None else graph.batch())
        weights = [
            p for module in (self.ffn, self.norm1, self.norm2) if module is not None for p in module.parameters()
        ]
        return by_rows(self._skips_and_ffn, weights, x, y)  # the same, a few rows at a time

    def _skips_and_ffn(self, x: Tensor, y: Tensor, batch: Tensor | None = None) -> Tensor:
        h = normed(self.norm1, x + dropout(y, self.dropout, self.training), batch)
        return normed(self.norm2, h + self.ffn(h), batch)

    def __repr__(self) -> str:
        """Name the key arguments."""
        conv = self.conv
        options = f"order={conv.order}, adjacency={conv.adjacency}, dropout={self.dropout}"
        return f"{type(self).__name__}({conv.channels}, {options})"


def _rings(h: Tensor, batch: Tensor | None, channels: int) -> Rings:
    if torch.compiler.is_exporting():
        return one_ring(h.shape[0], h.device)
    check_features(h, channels)
    return rings_of(len(h), batch, h.device)


def _working(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32
