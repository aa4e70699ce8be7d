r"""The GECO model: an input map, L layers with a node order each, an output map.

Shapes: N nodes, M edges, B graphs, L layers, S orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.nn.dense import Linear

from geco.nn.adjacency import Norm
from geco.nn.attention import SurrogateAttention
from geco.nn.blocks import FilterName
from geco.nn.conv import GECOLayer
from geco.nn.functional import dropout
from geco.nn.graph import Graph, check_features
from geco.nn.permutation import Permutation, check_permutation, shuffled
from geco.nn.places import placed
from geco.nn.pretrained import first_filters, load_pretrained, save_pretrained

__all__ = ["GECO"]


class GECO(nn.Module):
    r"""Node embeddings (or scores) with global context, for one graph of any size or a batch of graphs.

    Node order, Section 3.5 of the paper: ``natural`` takes nodes as they come, ``static`` shuffles each graph once,
    ``dynamic`` anew for every epoch (`set_epoch`) and layer. ``structure`` is ours: an order made from the graph and its node
    categories, see `structure_order`, so that outputs do not depend on how nodes are numbered. The others are pure functions
    of (seed, epoch, layer, graph). In evaluation mode ``dynamic`` averages the output over ``eval_orders`` orders that
    training never uses; `orders` returns them singly. Natural order can carry information (a file sorted by class, say):
    report which one was used.

    Args:
        in_channels: width of the input, or -1 to read it off the first one.
        hidden_channels: D.
        num_layers: L.
        out_channels: width of the output; None returns the last layer's embeddings.
        dropout: on the embedded input, after each operator and in each FFN.
        order: K, convolutions per layer.
        norm: :math:`\hat A`, as in `LocalPropagation`.
        act: activation of the FFNs.
        filter: of the convolutions, as in `GlobalContext`.
        permutation: ``natural``, ``static``, ``dynamic`` or ``structure``.
        seed: of the orders.
        eval_orders: S, orders averaged in evaluation mode under ``dynamic``.
        layer_kwargs: further options of `GECOLayer` and `GECOConv`.

    Shapes:
        ``x`` (N, in_channels), dense or sparse in CSR, ``edge_index`` (2, M), ``batch`` (N,), ``edge_weight`` (M,),
        ``graph_id`` (B,), ``place`` (N,) to (N, out_channels).

    Example:
        >>> model = GECO(8, 16, num_layers=2, out_channels=3)
        >>> model(torch.randn(4, 8), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])).shape
        torch.Size([4, 3])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        *,
        order: int = 2,
        norm: Norm | Literal["attention"] = "sym",
        act: str | Callable[..., Any] = "relu",
        filter: FilterName = "windows",
        permutation: Permutation = "natural",
        seed: int = 0,
        eval_orders: int = 8,
        **layer_kwargs: Any,
    ) -> None:
        super().__init__()
        check_permutation(permutation)
        for name, value in (("hidden_channels", hidden_channels), ("num_layers", num_layers), ("eval_orders", eval_orders)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.config: dict[str, Any] = {
            "in_channels": in_channels, "hidden_channels": hidden_channels, "num_layers": num_layers,
            "out_channels": out_channels, "dropout": dropout, "order": order, "norm": norm, "act": act, "filter": filter,
            "permutation": permutation, "seed": seed, "eval_orders": eval_orders, **layer_kwargs,
        }  # fmt: skip
        self.permutation, self.seed, self.eval_orders, self.dropout = permutation, seed, eval_orders, dropout
        self.epoch = 0
        self.encoder = Linear(in_channels, hidden_channels)
        self.layers = nn.ModuleList(
            GECOLayer(hidden_channels, order, norm, dropout=dropout, act=act, filter=filter, **layer_kwargs)
            for _ in range(num_layers)
        )
        self.head = None if out_channels is None else nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in [self.encoder, *self.layers, *([] if self.head is None else [self.head])]:
            module.reset_parameters()

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch's orders ``dynamic`` trains with."""
        self.epoch = epoch

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        graph_id: Tensor | None = None,
        place: Tensor | None = None,
    ) -> Tensor:
        """Return a row per node.

        ``graph_id`` numbers the graphs of a data set, so that each has orders of its own. ``place`` is where each node stands
        in its graph under ``structure``, from `geco.data.StructureOrder`; without it, it is worked out from the edges alone.
        """
        if torch.compiler.is_exporting():
            if self.permutation != "natural":
                raise ValueError(f"torch.export traces natural order only, got permutation={self.permutation!r}")
            return self._run(x, [edge_index] * len(self.layers))
        g = self._graph(x, edge_index, batch, edge_weight, place)
        if self.permutation == "dynamic" and not self.training:
            return self._orders(x, g, graph_id, self.eval_orders).mean(0)
        return self._run(x, self._rings(g, graph_id, self.epoch if self.permutation == "dynamic" else 0))

    def orders(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        graph_id: Tensor | None = None,
        *,
        count: int = 8,
    ) -> Tensor:
        """Return the output under ``count`` seeded orders, ``(S, N, out_channels)``: its spread is what order adds."""
        return self._orders(x, self._graph(x, edge_index, batch, edge_weight), graph_id, count)

    @torch.no_grad()
    def attention(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        *,
        layer: int = 0,
        place: Tensor | None = None,
    ) -> SurrogateAttention:
        """Return a layer's surrogate attention on one graph; ``.top(i)`` names the nodes that act most on node i.

        Under ``dynamic`` this is the first of the orders that evaluation averages over. Puts the model into evaluation mode.
        """
        self.eval()
        g = self._graph(x, edge_index, None, edge_weight, place)
        graphs = self._rings(g, None, -1 if self.permutation == "dynamic" else 0)
        chosen = self.layers[layer]
        assert isinstance(chosen, GECOLayer)
        h = self.encoder(x)
        for before, ring in zip(self.layers[:layer], graphs, strict=False):
            h = before(h, ring)
        return chosen.conv.attention(h, graphs[layer])

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _graph(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None, edge_weight: Tensor | None, place: Tensor | None = None
    ) -> Graph:
        layer, width = self.layers[0], self.encoder.in_channels
        assert isinstance(layer, GECOLayer)
        check_features(x, width if width > 0 else None)
        hidden = torch.zeros(len(x), 1, dtype=x.dtype, device=x.device).expand(-1, layer.conv.channels)  # x may be sparse
        g: Graph = layer.conv.graph(hidden, edge_index, batch, edge_weight)
        return replace(g, rings=placed(g.rings, edge_index, batch, place)) if self.permutation == "structure" else g

    def _orders(self, x: Tensor, g: Graph, graph_id: Tensor | None, count: int) -> Tensor:
        # Epochs count up from 0, so negative numbers are orders that training never sees.
        return torch.stack([self._run(x, self._rings(g, graph_id, -1 - s, shuffle=True)) for s in range(count)])

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _rings(self, g: Graph, graph_id: Tensor | None, epoch: int, shuffle: bool = False) -> list[Graph]:
        """Return each layer's graph in that layer's node order."""
        if self.permutation in ("natural", "structure") and not shuffle:
            return [g] * len(self.layers)
        if self.permutation == "dynamic":
            layers = range(len(self.layers))
            return [replace(g, rings=shuffled(g.rings, self.seed, epoch, layer, graph_id)) for layer in layers]
        return [replace(g, rings=shuffled(g.rings, self.seed, epoch, 0, graph_id))] * len(self.layers)

    def _run(self, x: Tensor, graphs: Sequence[Tensor | Graph]) -> Tensor:
        x = dropout(self.encoder(x), self.dropout, self.training)
        for layer, g in zip(self.layers, graphs, strict=True):
            x = layer(x, g)
        return x if self.head is None else self.head(x)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json`` and ``model.safetensors`` into a folder, each in one piece or not at all."""
        save_pretrained(self, {**self.config, "in_channels": self.encoder.in_channels}, Path(folder))

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> GECO:
        """Read a model written by `save_pretrained`, in evaluation mode; runs no code from the folder."""
        return load_pretrained(cls, Path(folder)).eval()

    @staticmethod
    def of_format_1(config: dict[str, Any]) -> dict[str, Any]:
        """Return a stored configuration of format 1 as one of today."""
        return first_filters(config)

    def __repr__(self) -> str:
        """Name the key arguments."""
        out = "" if self.head is None else f", out_channels={self.head.out_features}"
        width = f"{self.encoder.in_channels}, {self.config['hidden_channels']}, num_layers={len(self.layers)}{out}"
        return f"{type(self).__name__}({width}, order={self.config['order']}, permutation={self.permutation})"
