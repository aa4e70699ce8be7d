"""What an explanation holds, as text and as tables.

Shapes: N nodes, M edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd
from torch_geometric.data import Data

from geco.console import table

__all__ = ["Effect", "Findings", "Kind", "Scene"]

Kind = Literal["node", "edge", "nodes", "part"]


@dataclass(frozen=True)
class Effect:
    """What a prediction is without one thing.

    Args:
        kind: a node, an edge, nodes by their distance, or a part of the network.
        name: of it: a node's id, both ids of an edge, or what it is.
        without: probability or value that is left without it.
        change: from the prediction to that; below 0 where the thing speaks for the prediction.
        strength: the same in log-odds, which tell apart what rounds to 0 and 1, and without its sign; things are sorted
            by it.
        nodes: their numbers in the graph.
        hops: edges from the node that was asked about, -1 where no path leads there; None for what has no distance.
        layer: of the network, counted from 1; None for all layers.
    """

    kind: Kind
    name: str
    without: float
    change: float
    strength: float
    nodes: tuple[int, ...] = ()
    hops: int | None = None
    layer: int | None = None

    def arrow(self, value: float) -> str:
        """Return the prediction with and without it."""
        return f"{value:.3g} → {self.without:.3g}"


@dataclass(frozen=True, eq=False)
class Scene:
    """What pictures are made of.

    Args:
        data: the graph.
        num_nodes: of it.
        node: the one that was asked about; None for the graph.
        names: of the nodes, or what gives the name of each.
        molecule: whether nodes are atoms with OGB's features, to be drawn as such.
    """

    data: Data
    num_nodes: int
    node: int | None
    names: Sequence[str] | Callable[[int], str]
    molecule: bool = False

    def name(self, node: int) -> str:
        """Return the name of a node."""
        return self.names(node) if callable(self.names) else self.names[node]


@dataclass(frozen=True, repr=False)
class Findings:
    """Why a network predicts what it does for one node or graph.

    Args:
        asked: the node or graph, for people.
        quantity: what is predicted, such as "probability of class cat".
        value: the prediction.
        nodes: the effect of each node that was left out, strongest first.
        edges: of each edge, both directions of it, strongest first; none for large graphs.
        parts: of parts of the network and of nodes by their distance.
        scene: the graph, for pictures.
        total: nodes of the graph.
    """

    asked: str
    quantity: str
    value: float
    nodes: tuple[Effect, ...]
    edges: tuple[Effect, ...]
    parts: tuple[Effect, ...]
    scene: Scene = field(compare=False)
    total: int = 0

    @property
    def table(self) -> pd.DataFrame:
        """Every effect, a row each: kind, name, hops, layer, without, change, strength."""
        rows = [
            (e.kind, e.name, e.hops, e.layer, e.without, e.change, e.strength)
            for e in (*self.nodes, *self.edges, *self.parts)
        ]
        names = ["kind", "name", "hops", "layer", "without", "change", "strength"]
        return pd.DataFrame(rows, columns=names).astype({"hops": "Int64", "layer": "Int64"})

    def text(self, top: int = 10) -> str:
        """Return the strongest effects as text."""
        lines = [f"{self.asked}, {self.quantity}: {self.value:.4g}", "", *self.said(), ""]
        shown = self.nodes[:top]
        far = any(effect.hops is not None for effect in shown)
        head = ["without node", *(["edges away"] if far else []), *self.columns]
        lines.append(table([head, *([e.name, *([_hops(e)] if far else []), *self.numbers(e)] for e in shown)]))
        whole = [effect for effect in self.parts if effect.layer is None]
        if whole:
            lines += ["", table([["without", *self.columns], *([e.name, *self.numbers(e)] for e in whole)])]
        return "\n".join(lines)

    @property
    def columns(self) -> tuple[str, ...]:
        """What `numbers` are; of probabilities also the change in log-odds, by which effects are sorted."""
        return ("left", "change", *(["in log-odds"] if self.quantity.startswith("probability") else []))

    def numbers(self, effect: Effect) -> list[str]:
        """Return an effect's numbers for a table."""
        return [f"{effect.without:.4g}", f"{effect.change:+.3g}", f"{effect.strength:.3g}"][: len(self.columns)]

    def said(self) -> list[str]:
        """Return what stands out in a sentence or two."""
        if not self.nodes or self.nodes[0].strength == 0:
            return [f"No node changes the {self.quantity} when it is left out."]
        first = self.nodes[0]
        verb = "falls" if first.change < 0 else "rises"
        lines = [f"Without node {first.name} the {self.quantity} {verb} from {self.value:.4g} to {first.without:.4g}."]
        if len(self.nodes) < self.total:
            lines.append(
                f"Of {self.total:,} nodes, the {len(self.nodes):,} that gradients name were left out one by one."
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return plain types."""
        parts = {name: [_plain(effect) for effect in getattr(self, name)] for name in ("nodes", "edges", "parts")}
        return {"asked": self.asked, "quantity": self.quantity, "value": self.value, "total": self.total, **parts}


def _plain(effect: Effect) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(effect).items()}


def _hops(effect: Effect) -> str:
    return "no path" if effect.hops == -1 else "" if effect.hops is None else str(effect.hops)
