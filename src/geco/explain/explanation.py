"""What an explanation says, as a table, as a picture and in files.

Shapes: N nodes, M edges.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from geco.console import table
from geco.errors import UsageError
from geco.explain.scene import Scene
from geco.store import write_file

if TYPE_CHECKING:
    from geco.pages import Block

__all__ = ["SUFFIXES", "Effect", "Explanation", "Kind", "check_file", "save"]

Kind = Literal["node", "edge", "nodes", "part"]
SUFFIXES = (".csv", ".json", ".html", ".svg", ".png")


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


@dataclass(frozen=True, repr=False)
class Explanation:
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
        head = ["without node", *(["edges away"] if far else []), "left", "change"]
        lines.append(table([head, *([e.name, *([_hops(e)] if far else []), *_numbers(e)] for e in shown)]))
        whole = [effect for effect in self.parts if effect.layer is None]
        if whole:
            lines += ["", table([["without", "left", "change"], *([e.name, *_numbers(e)] for e in whole)])]
        return "\n".join(lines)

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

    def __repr__(self) -> str:
        """Return the five strongest effects as text."""
        return self.text(5)

    def svg(self) -> str:
        """Return a picture: the neighbourhood of the node, or the graph, shaded by what each node gives."""
        return self.scene.svg(self)

    def png(self) -> bytes:
        """Return the same picture as PNG."""
        return self.scene.png(self)

    def to_json(self) -> dict[str, Any]:
        """Return plain types."""
        parts = {name: [_plain(effect) for effect in getattr(self, name)] for name in ("nodes", "edges", "parts")}
        return {"asked": self.asked, "quantity": self.quantity, "value": self.value, "total": self.total, **parts}

    def blocks(self, top: int = 20) -> list[Block]:
        """Return what stands of it on a page."""
        from geco.explain.page import blocks

        return blocks(self, top)

    def save(self, path: str | Path) -> Path:
        """Write it as a table (.csv, .json), a page (.html) or a picture (.svg, .png), and return where."""
        save([self], Path(path))
        return Path(path)


def check_file(path: Path, count: int = 1) -> None:
    """Refuse a file that explanations could not be written to."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"cannot write {path}: its name must end in one of {', '.join(SUFFIXES)}")
    if path.suffix in (".svg", ".png") and count > 1:
        raise UsageError(f"{path} holds one picture, {count} were asked for; ask for one, or write .html")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder, or its folder does not exist")


def save(found: Sequence[Explanation], path: Path, command: str = "") -> None:
    """Write explanations to a file, in the format its name says.

    Args:
        found: one or more.
        path: ends in one of `SUFFIXES`.
        command: what made it, for the page.
    """
    check_file(path, len(found))
    write_file(path, _bytes(found, path, command))


def _bytes(found: Sequence[Explanation], path: Path, command: str) -> bytes:
    if path.suffix == ".svg":
        return found[0].svg().encode()
    if path.suffix == ".png":
        return found[0].png()
    if path.suffix == ".json":
        return (json.dumps([one.to_json() for one in found], indent=1, ensure_ascii=False) + "\n").encode()
    if path.suffix == ".html":
        from geco.explain.page import page

        return page(found, command).html().encode()
    tables = [one.table.assign(asked=one.asked, quantity=one.quantity, value=one.value) for one in found]
    whole = pd.concat(tables)[["asked", "quantity", "value", *tables[0].columns[:-3]]]
    text: bytes = whole.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
    return text


def _plain(effect: Effect) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(effect).items()}


def _hops(effect: Effect) -> str:
    return "no path" if effect.hops == -1 else "" if effect.hops is None else str(effect.hops)


def _numbers(effect: Effect) -> list[str]:
    return [f"{effect.without:.4g}", f"{effect.change:+.3g}"]
