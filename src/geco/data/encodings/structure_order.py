"""Orders from structure, made once for a data set by `encode` or for a graph by PyG's transforms.

Shapes: N nodes, M directed edges, C columns of colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch_geometric.data import Data

from geco.data.encodings.base import Array, Encoding
from geco.errors import UsageError
from geco.nn.graph.structure_order import SMALL, structure_order

__all__ = ["StructureOrder", "structure_order"]


@dataclass(frozen=True)
class StructureOrder(Encoding):
    """The place of each node in its graph's `structure_order`, for ``permutation="structure"``.

    `encode` takes the node categories of a data set as colours and writes ``node/place``; as a transform it takes the
    columns of an attribute and writes ``data.place``, or another ``attr_name``.

    Args:
        colours: attribute that tells nodes apart; x counts if it holds categories (whole numbers).
        rule: version of `structure_order`.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
        >>> StructureOrder()(Data(x=torch.tensor([[8], [6], [6], [7]]), edge_index=edges)).place
        tensor([3, 2, 1, 0])
    """

    colours: str = "x"
    rule: int = 2
    ordinal: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """``place``."""
        return "place"

    @property
    def width(self) -> int:
        """1."""
        return 1

    def compute(
        self, edge_index: Array, num_nodes: int, edge_weight: Array | None = None, colours: Array | None = None
    ) -> Array:
        """Return the place of each node, ``(N,)`` int64; weights do not count."""
        place = np.empty(num_nodes, np.int64)
        place[structure_order(edge_index, num_nodes, colours, self.rule).numpy()] = np.arange(num_nodes)
        return place

    def work(self, nodes: int, edges: int) -> float:
        """Sets of nodes passed along the edges of a small graph, some tens of passes over a large one."""
        return 6000.0 * nodes + 0.1 * nodes * edges if nodes <= SMALL else 600.0 * (nodes + edges)

    def memory(self, nodes: int, edges: int) -> float:
        """A bit for each pair of nodes of a small graph, some copies of a large one's edges."""
        return nodes * nodes + 200.0 * edges if nodes <= SMALL else 200.0 * (nodes + edges)

    def forward(self, data: Data) -> Data:
        """Return the graph with its nodes' places."""
        colours = data.get(self.colours, None)
        if self.colours != "x" and (colours is None or colours.is_floating_point()):
            raise UsageError(
                f"colours={self.colours!r} must name an attribute of whole numbers; it is missing or holds others"
            )
        chosen = None if colours is None or colours.is_floating_point() else colours.cpu().numpy()
        found = torch.from_numpy(self.compute(data.edge_index.cpu().numpy(), int(data.num_nodes), None, chosen))
        data[self.attr_name or "place"] = found.to(data.edge_index.device)
        return data
