r"""Transformers that GECO is compared with: layers of attention, or of Hyena's operator. They do not see the edges.

Shapes: N nodes, B graphs, C input channels, D channels, L layers.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from geco.nn.functional import dropout
from geco.nn.gps.mixers import make_mixer
from geco.nn.graph.permutation import Permutation
from geco.nn.graph.prepare import Graph, prepare
from geco.nn.ordered_stack import OrderedStack
from geco.nn.resolve import call

__all__ = ["HyenaStack", "TransformerStack"]


class TransformerStack(OrderedStack):
    """Pre-norm Transformer layers with attention.

    Args:
        in_channels: C.
        hidden_channels: D.
        num_layers: L.
        dropout: probability.
        heads: of attention.
        mixer: what mixes the nodes of a graph, a name of `make_mixer`.
        orders: permutation, seed and number of orders, as in `OrderedStack`; attention does not see them.
        mixer_kwargs: further options of the mixer.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        dropout: float,
        heads: int,
        mixer: str = "attention",
        orders: tuple[Permutation, int, int] = ("natural", 0, 1),
        **mixer_kwargs: Any,
    ) -> None:
        permutation, seed, eval_orders = orders
        super().__init__(permutation, num_layers, seed, eval_orders)
        self.dropout = dropout
        self.encoder = nn.Linear(in_channels, hidden_channels)
        mixers = [make_mixer(mixer, hidden_channels, heads=heads, **mixer_kwargs) for _ in range(num_layers)]
        self.mixers = nn.ModuleList(m for m in mixers if m is not None)
        self.ffns = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(hidden_channels),
                nn.Linear(hidden_channels, 2 * hidden_channels),
                nn.ReLU(),
                nn.Linear(2 * hidden_channels, hidden_channels),
            )
            for _ in range(num_layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(hidden_channels) for _ in range(num_layers))

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        graph_id: Tensor | None = None,
        place: Tensor | None = None,
    ) -> Tensor:
        """Return a row per node; ``graph_id`` and ``place`` decide orders as in `GECO`."""
        g = self.ordered_by_structure(prepare(x, edge_index, batch, normalisation=None), batch, place)
        return self.in_order(lambda graphs: self._run(x, graphs), g, graph_id)

    def _run(self, x: Tensor, graphs: list[Graph]) -> Tensor:
        x = self.encoder(x)
        for mixer, ffn, norm, g in zip(self.mixers, self.ffns, self.norms, graphs, strict=True):
            x = x + dropout(call(mixer, norm(x), graph=g), self.dropout, self.training)
            x = x + dropout(ffn(x), self.dropout, self.training)
        return x


class HyenaStack(TransformerStack):
    """A `TransformerStack` with Hyena's operator in the place of attention, and so with node orders.

    Args:
        in_channels: C.
        hidden_channels: D.
        num_layers: L.
        dropout: probability.
        heads: not used.
        permutation: node order, as in `HybridStack`.
        eval_orders: orders averaged in evaluation under ``dynamic``.
        seed: of the orders.
        filter_kwargs: options of Hyena's filter.
        mixer_kwargs: further options of `Hyena`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        dropout: float,
        heads: int,
        *,
        permutation: Permutation = "natural",
        eval_orders: int = 4,
        seed: int = 0,
        filter_kwargs: dict[str, Any] | None = None,
        **mixer_kwargs: Any,
    ) -> None:
        options = {"filter_kwargs": filter_kwargs, **mixer_kwargs}
        orders = (permutation, seed, eval_orders)
        super().__init__(in_channels, hidden_channels, num_layers, dropout, heads, "hyena", orders, **options)
