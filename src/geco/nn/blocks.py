r"""The blocks of a GECO layer: local propagation (LCB), global context (GCB) and feed-forward.

Shapes: N nodes, M edges, C input channels, D channels, K order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn.resolver import activation_resolver
from torch_geometric.utils import softmax

from geco.nn import reference
from geco.nn.adjacency import Adjacency, Norm, adjacency
from geco.nn.filters import Filter, ImplicitFilter
from geco.nn.fourier import FourierRings
from geco.nn.functional import dropout, fast_length
from geco.nn.fused import FoldedNorm, Plan, fused_global_context, track
from geco.nn.graph import check_features
from geco.nn.paper_filter import PaperFilter
from geco.nn.resolve import build, check_name
from geco.nn.segments import Segments, segments
from geco.nn.smooth import SmoothRing, harmonic_limit
from geco.nn.waves import LONGEST, MOST_HARMONICS, WaveRings

__all__ = ["FILTERS", "FeedForward", "FilterName", "GlobalContext", "LocalPropagation", "Memory", "Ring"]

Ring = Literal["exact", "fast"]
Memory = Literal["auto", "keep", "lean"]
FilterName = Literal["waves", "paper"]
FILTERS: dict[str, type[Filter]] = {"waves": ImplicitFilter, "paper": PaperFilter}
KEPT_BYTES = 32 * 2**20  # gates of one layer that "auto" holds for backward; more than that is recomputed


class LocalPropagation(nn.Module):
    r"""Local propagation block, :math:`[X, \hat A X]`.

    :math:`\hat A` is :math:`D^{-1/2} A D^{-1/2}` (``sym``), :math:`D^{-1} A` (``row``) or A (``none``): no parameters, no self
    loops. The paper also names a local attention as in GAT; ``attention`` is
    :math:`\hat A_{ij} = w_{ij}\,\mathrm{softmax}_j(\mathrm{LeakyReLU}(a \cdot x_i + b \cdot x_j))` over the edges into i, with
    no other parameters than a and b, in keeping with a block that has none.

    Args:
        norm: ``sym``, ``row``, ``none`` or ``attention``.
        channels: C, needed for ``attention`` only.

    Shapes:
        ``x`` (N, C), ``edge_index`` (2, M), ``edge_weight`` (M,) to (N, 2 C).

    Example:
        >>> LocalPropagation()(torch.ones(3, 2), torch.tensor([[0, 1], [1, 0]]))
        tensor([[1., 1., 1., 1.],
                [1., 1., 1., 1.],
                [1., 1., 0., 0.]])
    """

    def __init__(self, norm: Norm | Literal["attention"] = "sym", channels: int | None = None) -> None:
        super().__init__()
        if norm not in (*get_args(Norm), "attention"):
            raise ValueError(f"norm must be one of {', '.join(get_args(Norm))}, attention; got {norm!r}")
        if norm == "attention" and channels is None:
            raise ValueError("norm='attention' has weights: give channels as well")
        self.norm = norm
        self.weight = nn.Parameter(torch.empty(2, channels or 0)) if norm == "attention" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the attention vectors anew, if there are any."""
        if self.weight is not None:
            nn.init.xavier_uniform_(self.weight)

    @property
    def adjacency_norm(self) -> Norm:
        """How the adjacency is built; attention starts from the plain one."""
        return "none" if self.norm == "attention" else self.norm

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return ``[X, A X]``."""
        check_features(x)
        return torch.cat([x, self.neighbours(x, adjacency(edge_index, len(x), edge_weight, self.adjacency_norm))], 1)

    def neighbours(self, x: Tensor, adj: Adjacency) -> Tensor:
        """Return the propagated half, ``(N, C)``; half precision is computed in float32."""
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        with torch.autocast(x.device.type, enabled=False):
            return (adj @ wide if self.weight is None else self._attend(wide, adj)).to(x.dtype)

    def _attend(self, x: Tensor, adj: Adjacency) -> Tensor:
        assert self.weight is not None
        to, of = (x @ self.weight.to(x.dtype).t()).unbind(1)
        score = nn.functional.leaky_relu(to[adj.target] + of[adj.source], 0.2)
        share = softmax(score, adj.target, num_nodes=x.shape[0]) * adj.value.to(x.dtype)
        return torch.zeros_like(x).index_add(0, adj.target, x[adj.source] * share.unsqueeze(1))

    def extra_repr(self) -> str:
        """Say which norm it is."""
        return f"norm={self.norm}"


class GlobalContext(nn.Module):
    r"""Global context block, Algorithm 1: :math:`P_1, \dots, P_K, V = H W^\top + b`, then K times
    :math:`V \leftarrow P_i \odot (F_i \circledast V)`, with :math:`\circledast` the circular convolution over each graph's own
    nodes.

    The paper does not say how the block starts. Here gates and value start at one and each filter's sum at one (bias 1
    on the inner gates and the value, 0 on the last gate): the block first passes the last gate's local signal and
    learns how to modulate it. See docs/design-notes.md for what that gains. With the paper's filter gates start plainly,
    as any `torch.nn.Linear` does.

    Args:
        in_channels: C.
        channels: D.
        order: K >= 1.
        filter: ``waves`` (`ImplicitFilter`) or ``paper`` (`PaperFilter`, the paper as it is written, plain start included).
        ring: ``exact``, or ``fast``: each graph on a ring of the next fast length with zeros at the extra places.
        memory: what is held for backward: inputs only (``lean``), the gates too (``keep``), or as their size allows.
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
        filter: FilterName = "waves",
        ring: Ring = "exact",
        memory: Memory = "auto",
        out_proj: bool = False,
        filter_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if order < 1:
            raise ValueError(f"order (K) must be at least 1, got {order}")
        check_name("filter", filter, FILTERS)
        if ring not in get_args(Ring):
            raise ValueError(f"ring must be one of {', '.join(get_args(Ring))}, got {ring!r}")
        if memory not in get_args(Memory):
            raise ValueError(f"memory must be one of {', '.join(get_args(Memory))}, got {memory!r}")
        self.in_channels, self.channels, self.order, self.ring, self.memory = in_channels, channels, order, ring, memory
        self.projection = nn.Linear(in_channels, (order + 1) * channels)
        self.filter = build(filter, FILTERS[filter], order, channels, options=filter_kwargs or {})
        self.out_proj = nn.Linear(channels, channels) if out_proj else nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew, with gates and value near one, but for the paper's filter."""
        self.projection.reset_parameters()
        if not isinstance(self.filter, PaperFilter):
            with torch.no_grad():
                self.projection.bias.view(self.order + 1, -1).fill_(1.0)[self.order - 1] = 0.0
        self.filter.reset_parameters()
        if isinstance(self.out_proj, nn.Linear):
            self.out_proj.reset_parameters()

    def forward(self, h: Tensor, batch: Tensor | None = None) -> Tensor:
        """Mix the nodes of each graph."""
        if torch.compiler.is_exporting():
            return self.mix([h], None)
        check_features(h, self.in_channels)
        return self.mix([h], segments(len(h), batch, h.device))

    def mix(self, parts: Sequence[Tensor], rings: Segments | None, norm: nn.BatchNorm1d | None = None) -> Tensor:
        """Mix H, given as column groups that are never put together, after BatchNorm if one is given.

        ``rings`` is None under `torch.export`, which traces the plain composition for one graph.
        """
        dtype = parts[0].dtype
        work = torch.float64 if dtype == torch.float64 else torch.float32
        with torch.autocast(parts[0].device.type, enabled=False):
            if rings is None:
                out = self._plain([part.to(work) for part in parts], norm)
            else:
                out = self._fused([part.to(work) for part in parts], rings, norm)
            return self.out_proj(out) if work == dtype else self.out_proj(out).to(dtype)  # type: ignore[no-any-return]

    def _fused(self, parts: list[Tensor], rings: Segments, norm: nn.BatchNorm1d | None) -> Tensor:
        parts = [rings.arrange(part) for part in parts]
        weight = self.projection.weight.to(parts[0].dtype).view(self.order + 1, self.channels, -1)
        bias = self.projection.bias.to(parts[0].dtype).view(self.order + 1, -1)
        plan, filters, spectra = self._plan(rings.sizes, parts[0])
        folded = FoldedNorm.identity(weight.detach()[0, 0]) if norm is None else FoldedNorm.of(norm, parts[0].dtype)
        out, mean, var = fused_global_context(parts, weight, bias, filters, plan, folded, spectra)
        if norm is not None and norm.training:
            track(norm, mean, var, len(out))
        return rings.restore(out)

    def _plan(self, sizes: tuple[int, ...], like: Tensor) -> tuple[Plan, Sequence[Tensor], Sequence[Tensor] | None]:
        """Choose how to compute: by waves where the filters are smooth and rings all short or one and long, by FFT otherwise.

        Returns the plan, the filters it takes and, without gradients, their spectra, cached until a weight changes.
        """
        if len(sizes) == 1 and (limit := harmonic_limit(sizes[0])):
            spectrum = self.filter.cached(limit, lambda: self.filter.harmonics_of(limit))
            if spectrum is not None:
                around = fast_length(sizes[0]) if self.ring == "fast" else sizes[0]
                return SmoothRing(sizes[0], around, spectrum.shape[1], like, self._keep(self.order, like)), (spectrum,), None
        if max(sizes) <= LONGEST and self.ring == "exact":
            spectrum = self.filter.cached(MOST_HARMONICS, lambda: self.filter.harmonics_of(MOST_HARMONICS))
            if spectrum is not None:
                return WaveRings(sizes, spectrum.shape[1], like, self._keep(self.order + 1, like)), (spectrum,), None
        plan = FourierRings(sizes, self.ring == "fast", like.device, self._keep(self.order + 1, like))

        def filters() -> tuple[Tensor, ...]:
            return tuple(t.to(like.dtype) for t in self.filter.factors(plan.rings))

        if torch.is_grad_enabled():
            return plan, filters(), None
        return plan, (), self.filter.cached((sizes, self.ring, like.dtype), lambda: plan.transform(filters()))

    def _keep(self, tensors: int, like: Tensor) -> bool:
        size = tensors * len(like) * self.channels * like.element_size()
        return torch.is_grad_enabled() and (self.memory == "keep" or (self.memory == "auto" and size <= KEPT_BYTES))

    def _plain(self, parts: list[Tensor], norm: nn.BatchNorm1d | None) -> Tensor:
        h = torch.cat(parts, 1)
        h = h if norm is None else norm(h)
        gates = nn.functional.linear(h, self.projection.weight.to(h.dtype), self.projection.bias.to(h.dtype))
        return reference.global_context(gates, self.filter(h.shape[0]).to(h.dtype))  # len() would fix N in an export

    def extra_repr(self) -> str:
        """Say what the submodules do not show."""
        return f"order={self.order}, ring={self.ring}, memory={self.memory}"


class FeedForward(nn.Module):
    r"""Feed-forward block, :math:`\sigma(X W_1) W_2`, with dropout after each map.

    Args:
        channels: D.
        hidden_channels: width between the maps; the paper's is D.
        dropout: probability.
        act: activation, a name PyG's resolver knows, or a module.

    Shapes:
        (N, D) to (N, D).

    Example:
        >>> FeedForward(4)(torch.randn(3, 4)).shape
        torch.Size([3, 4])
    """

    def __init__(
        self, channels: int, hidden_channels: int | None = None, dropout: float = 0.0, act: str | Callable[..., Any] = "relu"
    ) -> None:
        super().__init__()
        self.lin1 = nn.Linear(channels, hidden_channels or channels)
        self.act = activation_resolver(act)
        self.lin2 = nn.Linear(hidden_channels or channels, channels)
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.lin1.reset_parameters()
        self.lin2.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each row."""
        h = dropout(self.act(self.lin1(x)), self.dropout, self.training)
        return dropout(self.lin2(h), self.dropout, self.training)
