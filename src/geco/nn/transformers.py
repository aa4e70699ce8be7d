r"""Transformers that GECO is compared with: layers of attention, or of Hyena's operator. They do not see the edges.

Shapes: N nodes, B graphs, C input channels, D channels, L layers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from geco.nn.functional import dropout
from geco.nn.mixers import make_mixer
from geco.nn.permutation import Permutation, check_permutation
from geco.nn.places import layer_orders
from geco.nn.resolve import call

__all__ = ["HyenaStack", "TransformerStack"]


class TransformerStack(nn.Module):
    """Pre-norm Transformer layers with attention.

    Args:
        in_channels: C.
        channels: D.
        layers: L.
        dropout: probability.
        heads: of attention.
        mixer: what mixes the nodes of a graph, a name of `make_mixer`.
        mixer_kwargs: further options of the mixer.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        layers: int,
        dropout: float,
        heads: int,
        mixer: str = "attention",
        **mixer_kwargs: Any,
    ) -> None:
        super().__init__()
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

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        return self._run(x, batch, [None] * len(self.mixers))

    def _run(self, x: Tensor, batch: Tensor | None, orders: list[Tensor | None]) -> Tensor:
        x = self.encoder(x)
        for mixer, ffn, norm, order in zip(self.mixers, self.ffns, self.norms, orders, strict=True):
            x = x + dropout(call(mixer, norm(x), batch=batch, order=order), self.dropout, self.training)
            x = x + dropout(ffn(x), self.dropout, self.training)
        return x


class HyenaStack(TransformerStack):
    """A `TransformerStack` with Hyena's operator in the place of attention, and so with node orders.

    Args:
        in_channels: C.
        channels: D.
        layers: L.
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
        channels: int,
        layers: int,
        dropout: float,
        heads: int,
        *,
        permutation: Permutation = "natural",
        eval_orders: int = 4,
        seed: int = 0,
        filter_kwargs: dict[str, Any] | None = None,
        **mixer_kwargs: Any,
    ) -> None:
        check_permutation(permutation)
        options = {"filter_kwargs": filter_kwargs, **mixer_kwargs}
        super().__init__(in_channels, channels, layers, dropout, heads, "hyena", **options)
        self.permutation, self.eval_orders, self.seed, self.epoch = permutation, eval_orders, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose orders ``dynamic`` trains with."""
        self.epoch = epoch

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        graph_id: Tensor | None = None,
        place: Tensor | None = None,
    ) -> Tensor:
        """Return a row per node; ``graph_id`` and ``place`` decide orders as in `GECO`."""
        epochs = [self.epoch]
        if self.permutation == "dynamic" and not self.training:
            epochs = [-1 - s for s in range(self.eval_orders)]  # orders that training never sees, as in `GECO`
        runs = []
        for epoch in epochs:
            known = (edge_index, len(x), batch, graph_id, place)
            orders = layer_orders(self.permutation, len(self.mixers), *known, seed=self.seed, epoch=epoch)
            runs.append(self._run(x, batch, orders))
        return runs[0] if len(runs) == 1 else torch.stack(runs).mean(0)
