"""Stacks of layers with a node order each: what GECO, hybrids and transformers share.

Shapes: N nodes, M edges, B graphs, L layers, S orders, C channels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import torch
from torch import Tensor

from geco.nn.graph.permutation import Permutation, shuffled
from geco.nn.graph.places import placed
from geco.nn.graph.prepare import Graph
from geco.nn.resolve import check_name
from geco.nn.whole_graph import WholeGraph

__all__ = ["OrderedStack"]


class OrderedStack(WholeGraph):
    """Base of networks whose layers see nodes in an order, as `GECO` describes it.

    Args:
        permutation: ``natural``, ``static``, ``dynamic`` or ``structure``.
        num_layers: L.
        seed: of the orders.
        eval_orders: S, orders averaged in evaluation mode under ``dynamic``.
    """

    def __init__(self, permutation: Permutation, num_layers: int, seed: int, eval_orders: int) -> None:
        super().__init__()
        check_name("permutation", permutation, get_args(Permutation))
        for name, value in (("num_layers", num_layers), ("eval_orders", eval_orders)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.permutation, self.num_layers, self.seed, self.eval_orders = permutation, num_layers, seed, eval_orders
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose orders ``dynamic`` trains with."""
        self.epoch = epoch

    def ordered(self, g: Graph, place: Tensor | None = None, graph_id: Tensor | None = None) -> Graph:
        """Return graphs in the one order that all layers have, at every step; ``dynamic`` has none."""
        if self.permutation == "dynamic":
            raise ValueError(
                "permutation='dynamic' has another order in each layer and epoch, so that no graph can be prepared for "
                "all of them; use 'static' or 'structure'"
            )
        batch = g.batch()
        first: Graph = self.layer_graphs(self.ordered_by_structure(g, batch, place), graph_id, 0)[0]
        return first

    def in_order(self, run: Callable[[list[Graph]], Tensor], g: Graph, graph_id: Tensor | None) -> Tensor:
        """Return ``run`` of each layer's graph; its mean over orders where evaluation averages over several."""
        if self.permutation == "dynamic" and not self.training:
            return self.in_orders(run, g, graph_id, self.eval_orders).mean(0)
        return run(self.layer_graphs(g, graph_id, self.epoch))

    def in_orders(self, run: Callable[[list[Graph]], Tensor], g: Graph, graph_id: Tensor | None, count: int) -> Tensor:
        """Return ``run`` under so many seeded orders, ``(S, N, C)``."""
        # Epochs count up from 0, so negative numbers are orders that training never sees.
        return torch.stack([run(self.layer_graphs(g, graph_id, -1 - s, shuffle=True)) for s in range(count)])

    def ordered_by_structure(self, g: Graph, batch: Tensor | None, place: Tensor | None) -> Graph:
        """Return the graphs with their nodes at their places, if the order is that of structure."""
        return replace(g, rings=placed(g.rings, g.edge_index, batch, place)) if self.permutation == "structure" else g

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def layer_graphs(self, g: Graph, graph_id: Tensor | None, epoch: int, shuffle: bool = False) -> list[Graph]:
        """Return each layer's graph in that layer's node order."""
        if self.permutation in ("natural", "structure") and not shuffle:
            return [g] * self.num_layers
        if self.permutation == "dynamic":
            layers = range(self.num_layers)
            return [replace(g, rings=shuffled(g.rings, self.seed, epoch, layer, graph_id)) for layer in layers]
        epoch = epoch if shuffle else 0
        return [replace(g, rings=shuffled(g.rings, self.seed, epoch, 0, graph_id))] * self.num_layers
