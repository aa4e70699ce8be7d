r"""A whole network for a task: encoder, body (GECO, a hybrid or a baseline), head.

Shapes: N nodes, B graphs, M edges, C input channels, D channels, T targets, P places of a token sequence, V tokens.
"""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

from torch import Tensor, nn
from torch_geometric.data import Data

from geco.names import BASELINES
from geco.nn.functional import dropout
from geco.nn.gps.local import EDGE_LAYERS
from geco.nn.gps.stack import HybridStack
from geco.nn.model import GECO
from geco.nn.network.diffusion import Diffusion
from geco.nn.network.heads import GraphHead, NodeHead, Pooling, TokenHead
from geco.nn.network.inputs import EdgeEncoder, NodeEncoder
from geco.nn.network.link_heads import DotHead, LinkHead, PairHead
from geco.nn.network.units import Units
from geco.nn.pretrained import load_pretrained, save_pretrained, upgrade_conv, upgrade_layer
from geco.nn.resolve import accepted, call, check_name

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
            "heads": heads, "standardise_targets": standardise_targets, "options": options, "inputs": inputs or {},
            "head": head or {},
        }  # fmt: skip
        inputs = inputs or {}
        self.level, self.input_dropout = level, input_dropout
        robust = bool(inputs.get("robust"))
        plain = in_channels > 0 and not (categories or encodings or inputs.get("standardise") or robust)
        self.nodes = None if plain else NodeEncoder(hidden_channels, in_channels, categories, encodings, **inputs)
        self.edges: EdgeEncoder | None = None
        if body == "hybrid" and options.get("local", "gatedgcn") in EDGE_LAYERS:
            standardise = bool(inputs.get("standardise")) and edge_columns > 0 and not edge_categories
            kind = inputs.get("init", "xavier")
            self.edges = EdgeEncoder(
                hidden_channels, edge_columns, edge_categories, standardise=standardise, robust=robust, init=kind
            )
        width = in_channels if plain else hidden_channels
        self.diffusion = Diffusion(width, hidden_channels, diffusion) if diffusion else None
        width = hidden_channels if diffusion else width
        if body == "geco":
            self.body: nn.Module = GECO(width, hidden_channels, num_layers, None, dropout, **options)
        elif body == "hybrid":
            self.body = HybridStack(width, hidden_channels, num_layers, dropout, heads=heads, **options)
        else:
            self.body = resolve_name(BASELINES[body])(width, hidden_channels, num_layers, dropout, heads, **options)
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
        return x if self.diffusion is None else self.diffusion(x, data.edge_index)

    def forward(self, data: Data, features: Tensor | None = None) -> Tensor:
        """Return the scores of every node or graph; for links, embeddings of the nodes.

        ``features`` are vectors of the nodes in place of those that `features` makes of the data.
        """
        x, batch = self.embed(data, features), data.batch if "batch" in data else None
        known = {name: data.get(name, None) for name in ("edge_weight", "graph_id", "place")}
        edges = None if self.edges is None else self.edges(data)
        h = call(self.body, x, edge_index=data.edge_index, batch=batch, edge_attr=edges, **known)
        graphs = (batch, data.num_graphs if batch is not None else 1) if self.level == "graph" else ()
        out: Tensor = self.head(h, *graphs)
        return out if self.units is None else self.units(out)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json`` and ``model.safetensors``."""
        save_pretrained(self, self.config, Path(folder))

    @staticmethod
    def upgraded(config: dict[str, Any], version: int) -> dict[str, Any]:
        """Return a stored configuration of any format as one of today."""
        config = {RENAMED.get(key, key): value for key, value in config.items()}
        if version > 2:
            return config
        body, options = str(config.get("body")), config.get("options") or {}
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
    mixer, kwargs = options.get("mixer", "geco"), options.get("mixer_kwargs") or {}
    if mixer == "geco":
        return {**options, "mixer_kwargs": upgrade_conv(kwargs, version)}
    if mixer == "cascade":
        local = upgrade_conv(kwargs.get("local_kwargs") or {}, 2)
        first = version if kwargs.get("context", "gcb") == "gcb" else 2
        context = upgrade_conv(kwargs.get("context_kwargs") or {}, first)
        return {**options, "mixer_kwargs": {**kwargs, "local_kwargs": local, "context_kwargs": context}}
    return options


def _with_hyena(body: str, options: dict[str, Any], **filter: Any) -> dict[str, Any]:
    """Return a body's options with these of Hyena's filter wherever it has one and they are not given.

    Example:
        >>> _with_hyena("hybrid", {"mixer": "hyena"}, length=5)
        {'mixer': 'hyena', 'mixer_kwargs': {'filter_kwargs': {'length': 5}}}
    """
    mixer, more = options.get("mixer"), options.get("mixer_kwargs") or {}
    if body == "hyena":
        return _filled(options, ["filter_kwargs"], filter)
    if body == "hybrid" and mixer == "hyena":
        return _filled(options, ["mixer_kwargs", "filter_kwargs"], filter)
    if body == "hybrid" and mixer == "cascade" and more.get("context") == "hyena":
        return _filled(options, ["mixer_kwargs", "context_kwargs", "filter_kwargs"], filter)
    return options


def _filled(table: dict[str, Any], path: list[str], values: dict[str, Any]) -> dict[str, Any]:
    return {**values, **table} if not path else {**table, path[0]: _filled(table.get(path[0]) or {}, path[1:], values)}


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
