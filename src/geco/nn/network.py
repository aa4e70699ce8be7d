r"""A whole network for a task: encoder, body (GECO or a baseline), head.

Shapes: N nodes, B graphs, C input channels, D channels, T targets, P places of a token sequence, V tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from geco.nn.baselines import BASELINES, PolynormerBody
from geco.nn.model import GECO
from geco.nn.pretrained import load_pretrained, save_pretrained

__all__ = ["Columns", "Network"]

POOLS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


class Columns(nn.Module):
    r"""Categories to vectors: :math:`\sum_c E_c[x_c]`, an embedding for each column.

    Args:
        categories: number of categories of each column.
        channels: D.

    Example:
        >>> Columns((119, 4), 8)(torch.tensor([[6, 0], [8, 1]])).shape
        torch.Size([2, 8])
    """

    def __init__(self, categories: tuple[int, ...], channels: int) -> None:
        super().__init__()
        tables = [nn.Embedding(count, channels) for count in categories]
        for table in tables:
            nn.init.xavier_uniform_(table.weight)
        self.tables = nn.ModuleList(tables)

    def forward(self, x: Tensor) -> Tensor:
        """Return a row per node; a category never seen in training is refused by its column."""
        found = x.amax(0) if len(x) else x.new_zeros(len(self.tables))
        for column, (table, most) in enumerate(zip(self.tables, found.tolist(), strict=True)):
            if most >= table.num_embeddings:
                raise ValueError(f"column {column} of x has category {most}, the model knows {table.num_embeddings}")
        return sum((table(x[:, i]) for i, table in enumerate(self.tables)), x.new_zeros(()).float())


class Network(nn.Module):
    r"""Encoder, body and head in one, called with a PyG `Data` or `Batch`.

    Args:
        body: ``geco`` or a name of `BASELINES`.
        in_channels: C, columns of x; where x holds categories, their number of columns.
        level: what is predicted: ``node``, ``graph`` or ``link``.
        num_targets: T; for tokens P.
        categories: number of categories per column where x holds categories, else empty.
        encodings: width of each encoding joined to the features, by name.
        vocabulary: V for tokens, else 0.
        hidden: D.
        layers: depth.
        dropout: of the body.
        input_dropout: of the features.
        heads: of baselines with attention.
        pool: from nodes to a graph.
        geco: further options of `GECO`.

    Shapes:
        to (N, T) for nodes, (B, T) for graphs, (B, P, V) for tokens, (N, D) for links, which are scored by dot products.

    Example:
        >>> data = Data(x=torch.randn(3, 5), edge_index=torch.tensor([[0, 1], [1, 2]]))
        >>> Network("gcn", 5, "node", 2, hidden=8)(data).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        body: str,
        in_channels: int,
        level: Literal["node", "graph", "link"],
        num_targets: int,
        *,
        categories: tuple[int, ...] | list[int] = (),
        encodings: dict[str, int] | None = None,
        vocabulary: int = 0,
        hidden: int = 64,
        layers: int = 2,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        heads: int = 4,
        pool: str = "mean",
        geco: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.config: dict[str, Any] = {
            "body": body, "in_channels": in_channels, "level": level, "num_targets": num_targets,
            "categories": list(categories), "encodings": encodings or {}, "vocabulary": vocabulary, "hidden": hidden,
            "layers": layers, "dropout": dropout, "input_dropout": input_dropout, "heads": heads, "pool": pool,
            "geco": geco or {},
        }  # fmt: skip
        self.level, self.vocabulary, self.input_dropout, self.pool = level, vocabulary, input_dropout, POOLS[pool]
        self.encodings = encodings or {}
        self.columns = Columns(tuple(categories), hidden) if categories else None
        width = (hidden if categories else in_channels) + sum(self.encodings.values())
        if body == "geco":
            self.body: nn.Module = GECO(width, hidden, layers, None, dropout, **(geco or {}))
        else:
            self.body = BASELINES[body](width, hidden, layers, dropout, heads)
        out = hidden if level == "link" else num_targets * max(1, vocabulary)
        self.head = nn.Linear(hidden, out)

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """Tell the body which epoch of how many it trains in, if it depends on it."""
        if isinstance(self.body, GECO):
            self.body.set_epoch(epoch)
        elif isinstance(self.body, PolynormerBody):
            self.body.set_epoch(epoch, epochs)

    def embed(self, data: Data) -> Tensor:
        """Return the features as the body sees them, ``(N, .)``."""
        x = data.x.float() if self.columns is None else self.columns(data.x)
        x = torch.cat([x, *(data[name].float() for name in self.encodings)], 1)
        return nn.functional.dropout(x, self.input_dropout, self.training)

    def forward(self, data: Data) -> Tensor:
        """Return the scores of every node or graph; for links, embeddings of the nodes."""
        x, batch = self.embed(data), data.batch if "batch" in data else None
        if isinstance(self.body, GECO):
            weight = data.edge_weight if "edge_weight" in data else None
            h = self.body(x, data.edge_index, batch, weight, data.graph_id if "graph_id" in data else None)
        else:
            h = self.body(x, data.edge_index, batch)
        if self.level == "graph":
            h = self.pool(h, batch, size=data.num_graphs if batch is not None else 1)
        out: Tensor = self.head(h)
        return out.unflatten(1, (-1, self.vocabulary)) if self.vocabulary else out

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json`` and ``model.safetensors``."""
        save_pretrained(self, self.config, Path(folder))

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Network:
        """Read a network written by `save_pretrained`, in evaluation mode; runs no code from the folder."""
        return load_pretrained(cls, Path(folder)).eval()
