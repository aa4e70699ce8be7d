r"""The GECO model: an input map, L layers with a node order each, an output map.

Shapes: N nodes, M edges, B graphs, L layers, S orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn import JumpingKnowledge
from torch_geometric.nn.dense import Linear

from geco.nn.blocks import AdjacencyName
from geco.nn.conv import GECOLayer
from geco.nn.explain import SurrogateAttention
from geco.nn.filters import FilterName
from geco.nn.functional import dropout
from geco.nn.graph.permutation import Permutation
from geco.nn.graph.prepare import Graph, check_features, prepare
from geco.nn.ordered_stack import OrderedStack
from geco.nn.pretrained import load_pretrained, save_pretrained, upgrade_layer
from geco.nn.resolve import accepted, check_name
from geco.nn.whole_graph import check_no_edge_features

__all__ = ["GECO"]


class GECO(OrderedStack):
    r"""Node embeddings (or scores) with global context, for one graph of any size or a batch of graphs.

    Node order, Section 3.5 of the paper: ``natural`` takes nodes as they come, ``static`` shuffles each graph once,
    ``dynamic`` for every epoch (`set_epoch`) and layer. ``structure`` is ours: an order made from the graph and
    its node categories, see `structure_order`, so that outputs do not depend on how nodes are numbered. The others are
    pure functions of (seed, epoch, layer, graph). In evaluation mode ``dynamic`` averages the output over
    ``eval_orders`` orders that training never uses; `orders` returns them singly. Natural order can carry information
    (of a file sorted by class, for example): report which one was used.

    Args:
        in_channels: width of the input, or -1 to read it off the first one.
        hidden_channels: D.
        num_layers: L.
        out_channels: width of the output; None returns embeddings of width D.
        dropout: on the embedded input, after each operator and in each FFN.
        act: activation of the FFNs, as in `GECOLayer`.
        norm: after each skip, as in `GECOLayer`.
        jk: how the layers' embeddings are put together, as in PyG's `BasicGNN`: None for the last layer's, or ``last``,
            ``cat``, ``max`` or ``lstm``, each with a linear map after it.
        order: K, convolutions per layer.
        adjacency: :math:`\hat A`, as in `LocalPropagation`.
        filter: of the convolutions, as in `GlobalContext`.
        permutation: ``natural``, ``static``, ``dynamic`` or ``structure``.
        seed: of the orders.
        eval_orders: S, orders averaged in evaluation mode under ``dynamic``.
        options: further ones of `GECOLayer` and `GlobalContext`.

    Shapes:
        ``x`` (N, in_channels), dense or sparse in CSR, ``edge_index`` (2, M), ``batch`` (N,), ``edge_weight`` (M,),
        ``graph_id`` (B,), ``place`` (N,) to (N, out_channels).

    Example:
        >>> model = GECO(8, 16, num_layers=2, out_channels=3)
        >>> model(torch.randn(4, 8), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])).shape
        torch.Size([4, 3])
    """

    supports_edge_weight, supports_edge_attr = True, False  # as PyG's `BasicGNN` says it

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_layers: int,
        out_channels: int | None = None,
        dropout: float = 0.0,
        act: str | Callable[..., Any] | None = "relu",
        norm: str | Callable[..., Any] | None = "layer_norm",
        jk: str | None = None,
        *,
        order: int = 2,
        adjacency: AdjacencyName = "sym",
        filter: FilterName = "windows",
        permutation: Permutation = "natural",
        seed: int = 0,
        eval_orders: int = 8,
        **options: Any,
    ) -> None:
        super().__init__(permutation, num_layers, seed, eval_orders)
        if hidden_channels < 1:
            raise ValueError(f"hidden_channels must be at least 1, got {hidden_channels}")
        check_name("jk", jk or "last", ("last", "cat", "max", "lstm"))
        if options.pop("act_first", False):
            raise ValueError("act_first has no meaning in GECO, whose FFNs have norms after them only; leave it out")
        if isinstance(norm, str) and norm in get_args(AdjacencyName):
            raise ValueError(f"norm={norm!r} is a normalisation of the adjacency; it is called adjacency={norm!r}")
        named = {"order": order, "adjacency": adjacency, "dropout": dropout, "act": act, "norm": norm, "filter": filter}
        layer: dict[str, Any] = {**named, **options}
        self.config: dict[str, Any] = {
            "in_channels": in_channels, "hidden_channels": hidden_channels, "num_layers": num_layers,
            "out_channels": out_channels, "jk": jk, "permutation": permutation, "seed": seed,
            "eval_orders": eval_orders, **layer,
        }  # fmt: skip
        self.hidden_channels = hidden_channels
        self.out_channels = hidden_channels if out_channels is None else out_channels
        self.dropout = dropout
        self.encoder = Linear(in_channels, hidden_channels)
        self.layers = nn.ModuleList(GECOLayer(hidden_channels, **layer) for _ in range(num_layers))
        self.jump = None if jk in (None, "last") else JumpingKnowledge(jk, hidden_channels, num_layers)
        width = hidden_channels * (num_layers if jk == "cat" else 1)
        self.head = None if out_channels is None and jk is None else nn.Linear(width, self.out_channels)

    @property
    def in_channels(self) -> int:
        """Width of the input, or -1 before the first one."""
        return self.encoder.in_channels  # type: ignore[no-any-return]

    @property
    def supports_norm_batch(self) -> bool:
        """Whether its norms tell the graphs of a batch apart."""
        norm = self.layers[0].norm1
        return isinstance(norm, nn.Module) and bool(accepted(norm.forward, {"batch": None}))

    def reset_parameters(self) -> None:
        """Reset all weights."""
        for module in (self.encoder, *self.layers, self.jump, self.head):
            if module is not None:
                module.reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | None = None,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        graph_id: Tensor | None = None,
        place: Tensor | None = None,
        *,
        graph: Graph | None = None,
        edge_attr: None = None,
        batch_size: int | None = None,
        num_sampled_nodes_per_hop: None = None,
        num_sampled_edges_per_hop: None = None,
    ) -> Tensor:
        """Return a row per node.

        ``graph_id`` numbers the graphs of a data set, so that each has orders of its own. ``place`` is where each node
        stands in its graph under ``structure``, from `geco.data.StructureOrder`; without it, it is worked out from the
        edges alone. A ``graph`` in the order that all layers have (`ordered`), such as a shard of one
        (`geco.distributed`), takes the place of all other arguments but x. Of what else PyG's `BasicGNN` takes,
        ``batch_size`` is the number of graphs, which ``batch`` tells anyway, and the others are refused with what to
        use.
        """
        self.check_whole(x)
        check_no_edge_features(self, {"edge_attr": edge_attr})
        _refuse_sampling(num_sampled_nodes_per_hop, num_sampled_edges_per_hop)
        if graph is not None:
            return self._run(x, [graph] * len(self.layers))
        if torch.compiler.is_exporting():
            if self.permutation != "natural":
                raise ValueError(f"torch.export traces natural order only, got permutation={self.permutation!r}")
            return self._run(x, [prepare(x, edge_index, None, edge_weight)] * len(self.layers))
        g = self._graph(x, edge_index, batch, edge_weight, place)
        return self.in_order(partial(self._run, x), g, graph_id)

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
        return self.in_orders(partial(self._run, x), self._graph(x, edge_index, batch, edge_weight), graph_id, count)

    @torch.no_grad()
    def attention(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        *,
        layer: int = 0,
        place: Tensor | None = None,
        graph_id: Tensor | None = None,
    ) -> SurrogateAttention:
        """Return a layer's surrogate attention on one graph; ``.top(i)`` names the nodes that act most on node i.

        ``place`` and ``graph_id`` decide the order of its nodes, as in `forward`.
        Under ``dynamic`` this is the first of the orders that evaluation averages over. Puts the model into evaluation
        mode.
        """
        self.eval()
        g = self._graph(x, edge_index, None, edge_weight, place)
        graphs = self.layer_graphs(g, graph_id, -1 if self.permutation == "dynamic" else 0)
        chosen = self.layers[layer]
        assert isinstance(chosen, GECOLayer)
        h = self.encoder(x)
        for before, ring in zip(self.layers[:layer], graphs, strict=False):
            h = before(h, graph=ring)
        return chosen.conv.attention(h, graph=graphs[layer])

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def _graph(
        self,
        x: Tensor,
        edge_index: Tensor | None,
        batch: Tensor | None,
        edge_weight: Tensor | None,
        place: Tensor | None = None,
    ) -> Graph:
        """Check the input and prepare its graphs, once for all layers."""
        first, width = self.layers[0], self.encoder.in_channels
        assert isinstance(first, GECOLayer)
        conv = first.conv
        check_features(x, width if width > 0 else None)
        g = prepare(x, edge_index, batch, edge_weight, normalisation=conv.local.normalisation)
        if x.device != conv.norm.weight.device:
            raise ValueError(f"x is on {x.device}, the model on {conv.norm.weight.device}; move both to one device")
        return self.ordered_by_structure(g, batch, place)

    def _run(self, x: Tensor, graphs: Sequence[Graph]) -> Tensor:
        x, each = dropout(self.encoder(x), self.dropout, self.training), []
        for layer, g in zip(self.layers, graphs, strict=True):
            x = layer(x, graph=g)
            each.append(x)
        x = x if self.jump is None else self.jump(each)
        return x if self.head is None else self.head(x)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json`` and ``model.safetensors`` into a folder, each in one piece or not at all."""
        save_pretrained(self, {**self.config, "in_channels": self.encoder.in_channels}, Path(folder))

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> GECO:
        """Read a model written by `save_pretrained`, in evaluation mode; runs no code from the folder."""
        return load_pretrained(cls, Path(folder)).eval()

    @staticmethod
    def upgraded(config: dict[str, Any], version: int) -> dict[str, Any]:
        """Return a stored configuration of any format as one of today."""
        return config if version > 2 else upgrade_layer(config, version)

    def __repr__(self) -> str:
        """Name the key arguments."""
        out = "" if self.config["out_channels"] is None else f", out_channels={self.out_channels}"
        width = f"{self.encoder.in_channels}, {self.config['hidden_channels']}, num_layers={len(self.layers)}{out}"
        return f"{type(self).__name__}({width}, order={self.config['order']}, permutation={self.permutation})"


def _refuse_sampling(*sampled: object) -> None:
    if any(each is not None for each in sampled):
        raise ValueError(
            "GECO mixes all nodes in each layer, so that none can be left out of a later one: leave "
            "num_sampled_nodes_per_hop and num_sampled_edges_per_hop out"
        )
