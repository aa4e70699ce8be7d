r"""A whole network for a task: encoder, body (GECO, a hybrid or a baseline), head.

Shapes: N nodes, B graphs, M edges, C input channels, D channels, T targets, P places of a token sequence, V tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

from torch import Tensor, nn
from torch_geometric.data import Data

from geco.names import BASELINES, LOCALS, MIXERS
from geco.nn.functional import dropout
from geco.nn.gps.local import EDGE_LAYERS
from geco.nn.gps.stack import HybridStack
from geco.nn.graph.prepare import Graph
from geco.nn.model import GECO
from geco.nn.network.diffusion import Diffusion
from geco.nn.network.heads import GraphHead, NodeHead, Pooling, TokenHead
from geco.nn.network.inputs import EdgeEncoder, NodeEncoder
from geco.nn.network.link_heads import DotHead, LinkHead, PairHead
from geco.nn.network.units import Units
from geco.nn.pretrained import load_pretrained, save_pretrained, upgrade_conv, upgrade_layer
from geco.nn.resolve import accepted, call, check_name, keywords

__all__ = ["Network"]

RENAMED = {"hidden": "hidden_channels", "layers": "num_layers"}  # arguments of `Network` until format 3


class Network(nn.Module):
    r"""Encoder, body and head in one, called with a PyG `Data` or `Batch`.

    Real features go straight to the body, which begins with a linear map. Categories, encodings and features that are
    standardised go through a `NodeEncoder`. Values of standardised targets come out in their own units (`Units`).

    Args:
        body: ``geco``, ``hybrid`` or a name of `geco.names.BASELINES`.
        in_channels: C, columns of x; 0 where nodes have no features.
        level: what is predicted: ``node``, ``graph`` or ``link``.
        num_targets: T; for tokens P.
        categories: number of categories per column where x holds categories, else empty.
        encodings: options of `make_position` for each encoding, by name.
        edge_columns: columns of ``edge_attr``; 0 where there is none.
        edge_categories: number of categories of each, where it holds categories.
        vocabulary: V for tokens, else 0.
        hidden_channels: D.
        num_layers: depth.
        dropout: of the body.
        input_dropout: of the features.
        diffusion: S, steps over which features are averaged along the edges before the body, see `Diffusion`; 0 for
            none.
        heads: of layers with attention.
        edge_data: whether all layers that can use weights and features of the edges are given them; else only GECO has
            weights, and GatedGCN and GINE features, as all networks had that were saved without this argument.
        standardise_targets: whether what the head gives is values of deviation 1, to be brought to the units of the
            targets.
        options: further options of `GECO`, `HybridStack` or the baseline.
        inputs: further options of `NodeEncoder`, such as ``join`` or ``standardise``.
        head: options of `NodeHead` or `GraphHead`, such as ``pool`` or ``layers``; for links one layer is a dot
            product, more are those of a `PairHead`.

    Shapes:
        to (N, T) for nodes, (B, T) for graphs, (B, P, V) for tokens, (N, D) for links, which the head scores in pairs.

    Example:
        >>> import torch
        >>> data = Data(x=torch.randn(3, 5), edge_index=torch.tensor([[0, 1], [1, 2]]))
        >>> Network("gcn", 5, "node", 2, hidden_channels=8)(data).shape
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
        encodings: dict[str, dict[str, Any]] | None = None,
        edge_columns: int = 0,
        edge_categories: tuple[int, ...] | list[int] = (),
        vocabulary: int = 0,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        diffusion: int = 0,
        heads: int = 4,
        edge_data: bool = True,
        standardise_targets: bool = False,
        options: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        head: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        check_name("network", body, ("geco", "hybrid", *BASELINES))
        options = _with_hyena(body, options or {}, length=None, interleaved=True)  # so that what is saved names them
        self.config: dict[str, Any] = {
            "body": body, "in_channels": in_channels, "level": level, "num_targets": num_targets,
            "categories": list(categories), "encodings": encodings or {}, "edge_columns": edge_columns,
            "edge_categories": list(edge_categories), "vocabulary": vocabulary, "hidden_channels": hidden_channels,
            "num_layers": num_layers, "dropout": dropout, "input_dropout": input_dropout, "diffusion": diffusion,
            "heads": heads, "edge_data": edge_data, "standardise_targets": standardise_targets, "options": options,
            "inputs": inputs or {}, "head": head or {},
        }  # fmt: skip
        inputs = inputs or {}
        self.level, self.input_dropout, self.edge_data = level, input_dropout, edge_data
        scaled = inputs.get("standardise") or inputs.get("robust")
        plain = in_channels > 0 and not (categories or encodings or scaled)
        self.nodes = None if plain else NodeEncoder(hidden_channels, in_channels, categories, encodings, **inputs)
        self.edges: EdgeEncoder | None = None
        edged = edge_data and edge_columns > 0 and _takes_edges(body, options)
        options = _with_edges(body, options, hidden_channels) if edged else options
        if edged or (body == "hybrid" and options.get("local", "gatedgcn") in EDGE_LAYERS):
            self.edges = _edge_encoder(hidden_channels, edge_columns, edge_categories, inputs)
        width = in_channels if plain else hidden_channels
        self.diffusion = Diffusion(width, hidden_channels, diffusion) if diffusion else None
        width = hidden_channels if diffusion else width
        self.body = make_body(body, width, hidden_channels, num_layers, dropout, heads, options)
        self.head = make_head(level, hidden_channels, num_targets, vocabulary, **(head or {}))
        self.units = Units(num_targets) if standardise_targets else None

    def set_epoch(self, epoch: int, epochs: int) -> None:
        """Tell encoder and body which epoch of how many they train in, if they depend on it."""
        if self.nodes is not None:
            self.nodes.set_epoch(epoch)
        set_epoch = getattr(self.body, "set_epoch", None)
        if set_epoch is not None:
            set_epoch(**accepted(set_epoch, {"epoch": epoch, "epochs": epochs}))

    def features(self, data: Data) -> Tensor:
        """Return the vectors of the nodes, each of what the node itself brings along, ``(N, .)``."""
        x: Tensor = data.x.float() if self.nodes is None else self.nodes(data)
        return x

    def embed(self, data: Data, features: Tensor | None = None) -> Tensor:
        """Return the features as the body sees them, ``(N, .)``; of those given in place of `features` of the data."""
        x = self.features(data) if features is None else features
        x = dropout(x, self.input_dropout, self.training)
        weight = data.get("edge_weight", None) if self.edge_data else None
        return x if self.diffusion is None else self.diffusion(x, data.edge_index, weight)

    @property
    def edge_fields(self) -> tuple[str, ...]:
        """Which of ``edge_weight`` and ``edge_attr`` change what comes out, if the data has them."""
        known = accepted(self.body.forward, {"edge_weight": None, "edge_attr": None})
        own: tuple[str, ...] = getattr(self.body, "edge_fields", tuple(known))
        weighted = self._weighs and ("edge_weight" in own or (self.diffusion is not None and self.edge_data))
        featured = self.edges is not None and "edge_attr" in own
        return ("edge_weight",) * weighted + ("edge_attr",) * featured

    @property
    def _weighs(self) -> bool:
        return self.edge_data or isinstance(self.body, GECO)

    def forward(self, data: Data, features: Tensor | None = None) -> Tensor:
        """Return the scores of every node or graph; for links, embeddings of the nodes.

        ``features`` are vectors of the nodes in place of those that `features` makes of the data. A prepared graph that
        the data brings as ``prepared``, such as a shard of one (`geco.distributed`), takes the place of its edges.
        """
        x = self.embed(data, features)
        batch = data.batch if "batch" in data else None
        known = {name: data.get(name, None) for name in ("graph_id", "place")}
        known["edge_weight"] = data.get("edge_weight", None) if self._weighs else None
        known["graph"] = self._prepared(data)
        edges = None if self.edges is None else self.edges(data)
        h = call(self.body, x, edge_index=data.edge_index, batch=batch, edge_attr=edges, **known)
        graphs = (batch, data.num_graphs if batch is not None else 1) if self.level == "graph" else ()
        out: Tensor = self.head(h, *graphs)
        return out if self.units is None else self.units(out)

    def _prepared(self, data: Data) -> Graph | None:
        """Return the prepared graph that the data brings, if any; refuse it where more than the body sees edges."""
        graph: Graph | None = data.get("prepared", None)
        if graph is not None and not (isinstance(self.body, GECO) and self.level == "node" and self.diffusion is None):
            raise ValueError(
                "data.prepared, such as a shard of a graph, suits body='geco' with level='node' and no diffusion, got "
                f"{type(self.body).__name__} with level={self.level!r}; give the whole graph"
            )
        return graph

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json`` and ``model.safetensors``."""
        save_pretrained(self, self.config, Path(folder))

    @staticmethod
    def upgraded(config: dict[str, Any], version: int) -> dict[str, Any]:
        """Return a stored configuration of any format as one of today."""
        config = {"edge_data": False, **{RENAMED.get(key, key): value for key, value in config.items()}}
        if version > 2:
            return config
        body = str(config.get("body"))
        options = config.get("options") or {}
        if body == "geco":
            options = upgrade_layer(options, version)
        elif body == "hybrid":
            options = _upgraded_mixer(options, version)
        if version == 1:
            options = _with_hyena(body, options, length=1024, interleaved=False)
        return {**config, "options": options}

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Network:
        """Read a network written by `save_pretrained`, in evaluation mode; runs no code from the folder."""
        return load_pretrained(cls, Path(folder)).eval()


def _upgraded_mixer(options: dict[str, Any], version: int) -> dict[str, Any]:
    mixer = options.get("mixer", "geco")
    kwargs = options.get("mixer_kwargs") or {}
    if mixer == "geco":
        return {**options, "mixer_kwargs": upgrade_conv(kwargs, version)}
    if mixer == "cascade":
        local = upgrade_conv(kwargs.get("local_kwargs") or {}, 2)
        first = version if kwargs.get("context", "gcb") == "gcb" else 2
        context = upgrade_conv(kwargs.get("context_kwargs") or {}, first)
        return {**options, "mixer_kwargs": {**kwargs, "local_kwargs": local, "context_kwargs": context}}
    return options


def _takes_edges(body: str, options: dict[str, Any]) -> bool:
    """Tell whether edge features are used by a body if it is told their width, and not always.

    >>> [_takes_edges(*body) for body in (("gat", {}), ("gcn", {}), ("hybrid", {"local": "pna"}), ("hybrid", {}))]
    [True, False, True, False]
    >>> _takes_edges("hybrid", {"local": "gcn", "mixer": "exphormer"})
    True
    """
    local, mixer = options.get("local", "gatedgcn"), options.get("mixer", "geco")
    parts = ["" if local in EDGE_LAYERS else LOCALS.get(str(local), ""), MIXERS.get(str(mixer), "")]
    makes = parts if body == "hybrid" else [BASELINES.get(body, "")]
    return any(make and keywords(resolve_name(make), {"edge_dim": None}) for make in makes)


def _with_edges(body: str, options: dict[str, Any], width: int) -> dict[str, Any]:
    """Return a body's options with the width of edge features."""
    return _filled(options, ["local_kwargs"] if body == "hybrid" else [], {"edge_dim": width})


def _with_hyena(body: str, options: dict[str, Any], **filter: Any) -> dict[str, Any]:
    """Return a body's options with these of Hyena's filter wherever it has one and they are not given.

    Example:
        >>> _with_hyena("hybrid", {"mixer": "hyena"}, length=5)
        {'mixer': 'hyena', 'mixer_kwargs': {'filter_kwargs': {'length': 5}}}
    """
    mixer = options.get("mixer")
    more = options.get("mixer_kwargs") or {}
    if body == "hyena":
        return _filled(options, ["filter_kwargs"], filter)
    if body == "hybrid" and mixer == "hyena":
        return _filled(options, ["mixer_kwargs", "filter_kwargs"], filter)
    if body == "hybrid" and mixer == "cascade" and more.get("context") == "hyena":
        return _filled(options, ["mixer_kwargs", "context_kwargs", "filter_kwargs"], filter)
    return options


def _filled(table: dict[str, Any], path: list[str], values: dict[str, Any]) -> dict[str, Any]:
    return {**values, **table} if not path else {**table, path[0]: _filled(table.get(path[0]) or {}, path[1:], values)}


def _edge_encoder(channels: int, columns: int, categories: Sequence[int], inputs: dict[str, Any]) -> EdgeEncoder:
    """Return the encoder of the edges, with those options of the nodes' encoder that suit it."""
    standardise = bool(inputs.get("standardise")) and columns > 0 and not categories
    robust, init = bool(inputs.get("robust")), inputs.get("init", "xavier")
    return EdgeEncoder(channels, columns, categories, standardise=standardise, robust=robust, init=init)


def make_body(
    name: str, in_channels: int, channels: int, num_layers: int, dropout: float, heads: int, options: dict[str, Any]
) -> nn.Module:
    """Return the layers of a network, ``(N, in_channels)`` to ``(N, channels)``; see `Network`.

    Example:
        >>> make_body("geco", 5, 8, 2, 0.0, 4, {"filter": "mean"})
        GECO(5, 8, num_layers=2, order=2, permutation=natural)
    """
    if name == "geco":
        return GECO(in_channels, channels, num_layers, None, dropout, **options)
    if name == "hybrid":
        return HybridStack(in_channels, channels, num_layers, dropout, heads=heads, **options)
    body: nn.Module = resolve_name(BASELINES[name])(in_channels, channels, num_layers, dropout, heads, **options)
    return body


def make_head(
    level: str, channels: int, num_targets: int, vocabulary: int = 0, *, pool: Pooling = "mean", **options: Any
) -> NodeHead | LinkHead:
    """Return the head of a task; see `Network`.

    Example:
        >>> type(make_head("graph", 8, 2, pool="sum")).__name__
        'GraphHead'
    """
    rest = {key: value for key, value in options.items() if key in ("layers", "dropout", "act")}
    if level == "link":
        return PairHead(channels, **rest) if rest.get("layers", 1) > 1 else DotHead(channels, **rest)
    if level == "node":
        return NodeHead(channels, num_targets, **options)
    if vocabulary:
        return TokenHead(channels, num_targets, vocabulary, pool=pool, dropout=options.get("dropout", 0.0))
    return GraphHead(channels, num_targets, pool=pool, **options)
