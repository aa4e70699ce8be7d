r"""The GECO operator with either of its blocks replaced: local then global, in a row.

Shapes: N nodes, M edges, D channels.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from geco.nn.blocks import LocalPropagation
from geco.nn.conv import GlobalContext
from geco.nn.gps.attention import Performer, SelfAttention
from geco.nn.gps.hyena import Hyena, ShortConv
from geco.nn.gps.local import LOCALS, make_local
from geco.nn.graph.prepare import Graph, check_features, check_not_single, prepare
from geco.nn.resolve import accepted, build, call, check_name, reset

__all__ = ["Cascade"]

CONTEXTS: dict[str, type[nn.Module]] = {
    "gcb": GlobalContext,
    "attention": SelfAttention,
    "performer": Performer,
    "hyena": Hyena,
}


class Cascade(nn.Module):
    r"""A local block, BatchNorm and a global block in a row, :math:`\mathrm{global}(\mathrm{BN}([X,
    \mathrm{local}(X)]))`.

    With ``lcb`` and ``gcb`` it is `GECOConv`. The paper's other combinations: ``gcb`` replaced by a Transformer
    (``context="attention"``), ``lcb`` by a message-passing layer (``local="gcn"``, ...) or by a short convolution over
    the node order (``local="conv", local_kwargs={"width": 10}`` for Conv-10). What is replaced is :math:`\hat A X`: X
    itself is passed on beside it in every case, so the global block's width and all else stay the same.
    ``local="none"`` passes X alone.

    Args:
        channels: D.
        local: ``lcb``, ``conv``, or a name of `make_local`.
        context: ``gcb``, ``attention``, ``performer`` or ``hyena``.
        heads: of attention, Performer and ``gat``.
        local_kwargs: options of the local block.
        context_kwargs: options of the global block.

    Shapes:
        ``x`` (N, D), ``edge_index`` (2, M), ``batch`` (N,), ``edge_attr`` (M, D), ``permutation`` (N,),
        ``edge_weight`` (M,) to (N, D).

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
        >>> Cascade(16, "conv", "gcb", local_kwargs={"width": 10})(torch.randn(4, 16), edges).shape
        torch.Size([4, 16])
    """

    multiplies = True  # node features with one another: see `GPSLayer`

    def __init__(
        self,
        channels: int,
        local: str = "lcb",
        context: str = "gcb",
        *,
        heads: int = 4,
        local_kwargs: dict[str, Any] | None = None,
        context_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        check_name("local block", local, ("lcb", "conv", *LOCALS))
        check_name("global block", context, CONTEXTS)
        self.channels, self.names = channels, (local, context)
        self.local = _make_local(local, channels, heads, local_kwargs or {})
        width = channels if self.local is None else 2 * channels
        self.norm = nn.BatchNorm1d(width)
        options = dict(context_kwargs or {})
        if context in ("attention", "performer"):
            options.setdefault("heads", heads)
        self.context: nn.Module
        if context == "gcb":
            self.context = build(context, GlobalContext, width, channels, options=options)
        else:
            self.context = build(context, CONTEXTS[context], channels, options={**options, "in_channels": width})

    @property
    def edge_fields(self) -> tuple[str, ...]:
        """Which of ``edge_weight`` and ``edge_attr`` the local block uses."""
        if isinstance(self.local, LocalPropagation):
            return ("edge_weight",)
        known = {} if self.local is None else accepted(self.local.forward, {"edge_attr": None})
        own: tuple[str, ...] = getattr(self.local, "edge_fields", tuple(known))
        return own

    def reset_parameters(self) -> None:
        """Reset all weights and statistics."""
        for module in self.children():
            reset(module)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | None = None,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        permutation: Tensor | None = None,
        *,
        edge_weight: Tensor | None = None,
        graph: Graph | None = None,
    ) -> Tensor:
        """Apply both blocks; ``permutation`` and ``graph`` as in `GECOConv.forward`."""
        if graph is None:
            check_features(x, self.channels)
            graph = prepare(x, edge_index, batch, edge_weight, permutation, None)
        check_not_single(graph.rings.num_nodes, self.norm)
        known = {
            "edge_index": graph.edge_index,
            "batch": batch,
            "edge_attr": edge_attr,
            "edge_weight": graph.edge_weight,
        }
        parts = [x] if self.local is None else [x, self._nearby(x, graph, known)]
        if isinstance(self.context, GlobalContext):
            return self.context.mix(parts, graph.rings, graph.norm(self.norm))
        out: Tensor = call(self.context, self.norm(torch.cat(parts, 1)), **known, graph=graph)
        return out

    def _nearby(self, x: Tensor, graph: Graph, known: dict[str, Any]) -> Tensor:
        if isinstance(self.local, LocalPropagation):
            return self.local.propagate(x, graph)
        assert self.local is not None
        out: Tensor = call(self.local, x, **known, graph=graph)
        return out

    def __repr__(self) -> str:
        """Name the key arguments."""
        return f"{type(self).__name__}({self.channels}, local={self.names[0]}, context={self.names[1]})"


def _make_local(name: str, channels: int, heads: int, options: dict[str, Any]) -> nn.Module | None:
    if name == "lcb":
        return build(name, LocalPropagation, options={**options, "channels": channels})
    if name == "conv":
        return build(name, ShortConv, channels, options=options)
    return build(name, make_local, name, channels, options={"heads": heads, **options})
