r"""Layers of a hybrid network, one after the other: `GPSLayer` with the edge features and node orders of a whole data
set.

Shapes: N nodes, M edges, B graphs, C input channels, D channels.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from torch import Tensor, nn

from geco.nn.blocks import LocalPropagation
from geco.nn.functional import dropout
from geco.nn.gps.layer import EDGE_FIELDS, GPSLayer
from geco.nn.graph.permutation import Permutation
from geco.nn.graph.prepare import Graph, prepare
from geco.nn.ordered_stack import OrderedStack
from geco.nn.resolve import check_name

__all__ = ["HybridStack"]

Arrangement = Literal["parallel", "before"]


class HybridStack(OrderedStack):
    r"""A linear map to D channels, then L `GPSLayer`, edge features handed on from layer to layer.

    Node orders are those of `GECO`: as they come, shuffled once, made from the graph, or shuffled for every epoch and
    layer, in evaluation averaged over ``eval_orders`` of them. A mixer that does not depend on the order (attention,
    Performer) is best left ``natural``.

    Args:
        in_channels: C.
        hidden_channels: D.
        num_layers: L.
        dropout: of every layer.
        permutation: ``natural``, ``static``, ``dynamic`` or ``structure``.
        eval_orders: orders averaged in evaluation under ``dynamic``.
        seed: of the orders.
        arrangement: ``parallel``, local GNN and mixer side by side in each layer; or ``before``, L layers of the local
            GNN, then L of the mixer.
        layer: further options of `GPSLayer`.

    Shapes:
        ``x`` (N, C), ``edge_index`` (2, M), ``batch`` (N,), ``edge_attr`` (M, D), ``graph_id`` (B,), ``place`` (N,),
        ``edge_weight`` (M,) to (N, D).

    Example:
        >>> import torch
        >>> stack = HybridStack(5, 8, 2, 0.1, local="gcn", mixer="geco")
        >>> stack(torch.randn(3, 5), torch.tensor([[0, 1, 2], [1, 2, 0]])).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        dropout: float = 0.0,
        *,
        permutation: Permutation = "natural",
        eval_orders: int = 4,
        seed: int = 0,
        arrangement: Arrangement = "parallel",
        **layer: Any,
    ) -> None:
        check_name("arrangement", arrangement, get_args(Arrangement))
        each = [layer] if arrangement == "parallel" else _one_after_the_other(layer)
        super().__init__(permutation, num_layers * len(each), seed, eval_orders)
        self.dropout = dropout
        self.encoder = nn.Linear(in_channels, hidden_channels)
        self.layers = nn.ModuleList(
            GPSLayer(hidden_channels, dropout=dropout, **options) for options in each for _ in range(num_layers)
        )
        local = getattr(self.layers[-1].mixer, "local", None)
        # Of the adjacency, if one is needed.
        self._normalisation = local.normalisation if isinstance(local, LocalPropagation) else None

    @property
    def edge_fields(self) -> tuple[str, ...]:
        """Which of ``edge_weight`` and ``edge_attr`` the layers use."""
        ends = [layer for layer in (self.layers[0], self.layers[-1]) if isinstance(layer, GPSLayer)]
        used = {field for layer in ends for field in layer.edge_fields}
        return tuple(field for field in EDGE_FIELDS if field in used)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        for module in (self.encoder, *self.layers):
            module.reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_id: Tensor | None = None,
        place: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Return a row per node; ``graph_id`` and ``place`` decide orders as in `GECO`."""
        g = prepare(x, edge_index, batch, edge_weight, normalisation=self._normalisation)
        g = self.ordered_by_structure(g, batch, place)
        return self.in_order(lambda graphs: self._run(x, batch, edge_attr, graphs), g, graph_id)

    def _run(self, x: Tensor, batch: Tensor | None, edges: Tensor | None, graphs: list[Graph]) -> Tensor:
        h = dropout(self.encoder(x), self.dropout, self.training)
        for layer, g in zip(self.layers, graphs, strict=True):
            assert isinstance(layer, GPSLayer)
            h, edges = layer.with_edges(h, g.edge_index, batch, edges, edge_weight=g.edge_weight, graph=g)
        return h


def _one_after_the_other(layer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the options of layers of the local GNN alone, and of the mixer alone."""
    for part in ("local", "mixer"):
        if layer.get(part, "") in ("none", None):
            raise ValueError(f"arrangement='before' needs a local GNN and a mixer, got {part}={layer[part]!r}")
    alone = {name: value for name, value in layer.items() if name != "filter"}  # which is the mixer's
    return [{**alone, "mixer": "none"}, {**layer, "local": "none"}]
