"""Graphs with every kind of column, and data sets of them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Split

GRAPH = Info("some", "graph", "values", 2, "mae")


def make_graph(nodes: int, seed: int) -> Data:
    """Return a graph with repeats and self loops, of every kind of column and a wide range of integers."""
    generator = torch.Generator().manual_seed(seed)
    edges, links = torch.randint(min(nodes, 1), 3 * nodes + 1, (2,), generator=generator).tolist()

    def whole(high: int, *shape: int) -> Tensor:
        return torch.randint(-high if high > 300 else 0, max(1, high), shape, generator=generator)

    return Data(
        x=whole(100_000, nodes, 3),
        weight=torch.randn(nodes, generator=generator),
        edge_index=whole(nodes, 2, edges),
        edge_attr=whole(200, edges, 2),
        y=torch.randn(1, 2, generator=generator),
        edge_label_index=whole(nodes, 2, links),
        edge_label=whole(2, links),
        num_nodes=nodes,
    )


def same(found: Tensor, wanted: Tensor) -> bool:
    return found.dtype == wanted.dtype and torch.equal(found, wanted)


def small() -> GraphDataset:
    return collect(
        GRAPH, [make_graph(4, i) for i in range(5)], [Split(*torch.tensor([0, 1, 2, 3, 4]).split([3, 1, 1]))]
    )
