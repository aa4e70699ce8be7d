"""Small networks and graphs whose answers are known."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from geco.data.dataset import Info
from geco.nn.network.network import Network


def path(size: int) -> Data:
    """A path with both directions of every edge, each node with a number of its own."""
    there = torch.stack([torch.arange(size - 1), torch.arange(1, size)])
    x = torch.arange(size, dtype=torch.float32)[:, None] ** 2
    return Data(x=x, edge_index=torch.cat([there, there.flip(0)], 1), num_nodes=size)


def info(target: Any = "values", level: Any = "node", count: int = 1, **more: Any) -> Info:
    return Info("test", level, target, count, "mae", **more)


class Shift(nn.Module):
    """What a node is given is three times the feature of the node ``steps`` before it in the same graph, else 0; edges
    are followed, so that one that is missing cuts it off.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.config, self.body = steps, {"num_layers": 2}, nn.Identity()

    def features(self, data: Data) -> Tensor:
        return data.x.float()

    def forward(self, data: Data, features: Tensor | None = None) -> Tensor:
        x = self.features(data) if features is None else features
        source, target = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
        for _ in range(self.steps):
            x = torch.zeros_like(x).index_add(0, target, x[source])
        return 3 * x


def network(body: str, **options: Any) -> Network:
    """A network with weights from a seed, of features (N, 3) and three classes of nodes."""
    torch.manual_seed(0)
    return Network(body, 3, "node", 3, hidden_channels=8, **options).eval()


def random_graph(size: int = 12, seed: int = 0) -> Data:
    """A connected graph with random features and weights of its edges."""
    generator = torch.Generator().manual_seed(seed)
    more = torch.randint(0, size, (2, size), generator=generator)
    ring = torch.stack([torch.arange(size), (torch.arange(size) + 1) % size])
    edges = torch.cat([ring, ring.flip(0), more, more.flip(0)], 1)
    return Data(x=torch.randn(size, 3, generator=generator), edge_index=edges, num_nodes=size)
