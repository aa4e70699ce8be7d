"""Surrogate attention in numbers that can be read: by how much a node acts more, or less, than the average one.

With a filter that is a mean, every node acts alike on every other, and this says nothing; nor does it look at what the
nodes carry. It shows what a layer can reach, not what a prediction rests on.

Shapes: N nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch_geometric.data import Data

from geco.console import table
from geco.explain.explain import hops_from
from geco.nn.model import GECO
from geco.nn.network.network import Network

__all__ = ["Acting", "acting"]

ALIKE = 1e-3  # largest share of the mean by which nodes differ that act alike


@dataclass(frozen=True)
class Acting:
    """What acts on a node in one layer.

    Args:
        layer: counted from 1.
        mean: strength of the average node, the mean of ``|A[i, j]|`` over channels and nodes.
        rows: name of a node, its strength less the mean, as a share of the mean, and edges to it, -1 without a path;
            those that differ most first.
        most: largest difference of any node, as a share of the mean.
    """

    layer: int
    mean: float
    rows: tuple[tuple[str, float, int], ...]
    most: float

    def text(self, node: str) -> str:
        """Return it as text."""
        if self.most < ALIKE:
            return f"layer {self.layer}: all nodes act alike on node {node}, to within {100 * self.most:.2g} %"
        rows = [[name, f"{100 * share:+.1f} %", "no path" if far < 0 else str(far)] for name, share, far in self.rows]
        head = f"layer {self.layer}: what acts on node {node} more or less than the mean of {self.mean:.4g}"
        return head + "\n" + table([["node", "against the mean", "edges away"], *rows])


@torch.no_grad()
def acting(
    network: Network, body: GECO, data: Data, node: int, name: Callable[[int], str], top: int = 10
) -> list[Acting]:
    """Return what acts on a node in each layer.

    Args:
        network: whose body it is.
        body: of the network.
        data: one graph.
        node: its number.
        name: of a node.
        top: rows of each layer.
    """
    x, far, found = network.embed(data), hops_from(data.edge_index, int(data.num_nodes or 0), node), []
    known = {"place": data.get("place", None), "graph_id": data.get("graph_id", None)}
    for layer in range(len(body.layers)):
        attention = body.attention(x, data.edge_index, data.get("edge_weight", None), layer=layer, **known)
        strength = attention.row(node).abs().mean(0)
        mean = float(strength.mean())
        share = strength / max(mean, 1e-30) - 1
        first = share.abs().topk(min(top, len(share))).indices.tolist()
        rows = tuple((name(i), float(share[i]), int(far[i])) for i in first)
        found.append(Acting(layer + 1, mean, rows, float(share.abs().max())))
    return found
