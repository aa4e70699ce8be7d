"""The graph of an explanation, and how it is drawn: a neighbourhood, a whole small graph, or a molecule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_geometric.data import Data

if TYPE_CHECKING:
    from geco.explain.explanation import Explanation

__all__ = ["Scene"]


@dataclass(frozen=True, eq=False)
class Scene:
    """What a picture is made of.

    Args:
        data: the graph.
        num_nodes: of it.
        node: the one that was asked about; None for the graph.
        names: of the nodes, or what gives the name of each.
        molecule: whether nodes are atoms with OGB's features.
    """

    data: Data
    num_nodes: int
    node: int | None
    names: Sequence[str] | Callable[[int], str]
    molecule: bool = False

    def name(self, node: int) -> str:
        """Return the name of a node."""
        return self.names(node) if callable(self.names) else self.names[node]

    def svg(self, found: Explanation) -> str:
        """Return the picture of an explanation as SVG."""
        if self.molecule:
            from geco.explain.molecule import molecule_svg

            return molecule_svg(found)
        from geco.explain.neighbourhood import neighbourhood

        return neighbourhood(found).svg()

    def png(self, found: Explanation) -> bytes:
        """Return the same as PNG."""
        if self.molecule:
            from geco.explain.molecule import molecule_png

            return molecule_png(found)
        from geco.explain.neighbourhood import neighbourhood

        return neighbourhood(found).png()
