r"""The hybrid layer: a local GNN beside a global mixer, as in GraphGPS.

Shapes: N nodes, M edges, D channels, E width of the edge features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from geco.nn.blocks import FeedForward
from geco.nn.filters import FilterName
from geco.nn.functional import dropout
from geco.nn.gps.local import make_local
from geco.nn.gps.mixers import make_mixer
from geco.nn.graph.prepare import Graph, check_features, check_not_single
from geco.nn.resolve import accepted, build, call, norm_layer, normed, reset
from geco.nn.whole_graph import WholeGraph

__all__ = ["EDGE_FIELDS", "GPSLayer"]

EDGE_FIELDS = ("edge_weight", "edge_attr")
NORMS = {"batch": nn.BatchNorm1d, "batch_norm": nn.BatchNorm1d, "layer": nn.LayerNorm, "layer_norm": nn.LayerNorm}


class GPSLayer(WholeGraph):
    r"""A local GNN and a global mixer side by side, then an FFN, each with dropout, skip and norm:

    .. math::
        L = \mathrm{norm}(X + \mathrm{local}(X)), \quad G = \mathrm{norm}(X + \mathrm{mixer}(X)), \quad
        Y = \mathrm{norm}(L + G + \mathrm{FFN}(L + G)).

    Called like PyG's `GPSConv`. GatedGCN also has new edge features for the next layer: `with_edges` returns them
    beside the node features. With ``local="none", mixer="geco", norm="layer", ffn_ratio=1`` it is `GECOLayer`, and with
    ``mixer="cascade"`` that layer with one of its blocks replaced.

    Mixers that multiply node features with one another (``geco``, ``hyena``, ``cascade``) have a norm over a node's
    channels under ``norm="batch"`` too: running statistics hand on a graph unlike those of training as far off as it
    is, and products of it would grow from layer to layer until they overflow.

    Args:
        channels: D.
        local: ``gatedgcn``, ``gine``, ``gcn``, ``gat``, ``pna``, ``none`` (see `make_local`), or a module called with
            ``x``, ``edge_index`` and, if its ``forward`` names them, ``edge_attr`` and ``edge_weight``.
        mixer: ``geco``, ``attention``, ``performer``, ``hyena``, ``exphormer``, ``virtual-node``, ``conv``,
            ``cascade``, ``none`` (see `make_mixer`), or a module called with ``x`` and those of ``edge_index``,
            ``batch``, ``edge_attr``, ``permutation`` and ``graph`` that its ``forward`` names.
        heads: of attention, Performer, Exphormer and GAT.
        dropout: after the local layer, after the mixer and in the FFN.
        act: of the FFN and the local layer: a name PyG's resolver knows, a callable, a module or None.
        norm: ``batch``, ``layer`` (over a node's channels), None, another name that PyG's resolver knows, a class, or a
            module, which is copied.
        filter: of a ``geco`` mixer, as in `GlobalContext`; None is its default.
        ffn_ratio: width of the FFN in multiples of D.
        local_kwargs: further options of `make_local`, such as ``edge_dim`` or ``degrees``.
        mixer_kwargs: further options of the mixer, such as ``dropout`` of the attention weights.

    Shapes:
        ``x`` (N, D), ``edge_index`` (2, M), ``batch`` (N,), ``edge_attr`` (M, E), ``permutation`` (N,),
        ``edge_weight`` (M,) to (N, D).

    Example:
        >>> import torch
        >>> layer, edges = GPSLayer(8, "gatedgcn", "geco"), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
        >>> x, edge_attr = layer.with_edges(torch.randn(4, 8), edges, edge_attr=torch.randn(4, 8))
        >>> layer(x, edges, torch.tensor([0, 0, 1, 1]), edge_attr).shape
        torch.Size([4, 8])
    """

    def __init__(
        self,
        channels: int,
        local: str | nn.Module | None = "gatedgcn",
        mixer: str | nn.Module | None = "geco",
        heads: int = 4,
        dropout: float = 0.0,
        act: str | Callable[..., Any] | None = "relu",
        norm: str | Callable[..., Any] | None = "batch",
        *,
        filter: FilterName | None = None,
        ffn_ratio: float = 2.0,
        local_kwargs: dict[str, Any] | None = None,
        mixer_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if channels < 1 or ffn_ratio <= 0:
            raise ValueError(f"channels must be at least 1 and ffn_ratio above 0, got {channels} and {ffn_ratio}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
        for given, kind in ((local, "local"), (mixer, "mixer")):
            if not isinstance(given, str | nn.Module | None):
                raise ValueError(
                    f"{kind} must be a name or a module, got {given!r}; a GPSLayer has one width, in and out: "
                    f"GPSLayer({channels})"
                )
        self.channels, self.dropout, self.names = channels, dropout, (_name(local), _name(mixer), _name(norm))
        if isinstance(local, str):
            options = {"heads": heads, "dropout": dropout, "act": act, **(local_kwargs or {})}
            local = build(local, make_local, local, channels, options=options)
        if filter is not None and mixer != "geco":
            raise ValueError(f"filter={filter!r} is for mixer='geco', got mixer={_name(mixer)!r}; leave it out")
        if isinstance(mixer, str):
            chosen = {} if filter is None else {"filter": filter}
            mixer = make_mixer(mixer, channels, **{"heads": heads, **chosen, **(mixer_kwargs or {})})
        if local is None and mixer is None:
            raise ValueError("a layer needs a local GNN or a mixer, got none of both")
        self.local, self.mixer = local, mixer
        self.local_norm = norm_layer(norm, channels, NORMS) if local is not None else None
        multiplies = getattr(mixer, "multiplies", False) and NORMS.get(str(norm)) is nn.BatchNorm1d
        mixer_norm = "layer" if multiplies else norm
        self.mixer_norm = norm_layer(mixer_norm, channels, NORMS) if mixer is not None else None
        self.ffn = FeedForward(channels, max(1, round(ffn_ratio * channels)), dropout, act)
        self.ffn_norm = norm_layer(norm, channels, NORMS)

    @property
    def edge_fields(self) -> tuple[str, ...]:
        """Which of ``edge_weight`` and ``edge_attr`` the local GNN or the mixer uses."""
        return tuple(name for name in EDGE_FIELDS if any(_uses(part, name) for part in (self.local, self.mixer)))

    def reset_parameters(self) -> None:
        """Reset all weights and statistics."""
        for module in self.children():
            reset(module)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        permutation: Tensor | None = None,
        *,
        edge_weight: Tensor | None = None,
        graph: Graph | None = None,
    ) -> Tensor:
        """Return the new node features.

        ``permutation`` is the node at each place of a mixer's order (default: as they come). A ``graph`` from
        `prepare`, which a stack of layers shares, stands for ``batch`` and ``permutation``, and for the mixer also for
        ``edge_weight``.
        """
        self._check(x)
        local = None
        if self.local is not None:
            local = call(self.local, x, edge_index=edge_index, **_given(edge_attr=edge_attr, edge_weight=edge_weight))
        given = {"edge_index": edge_index, "edge_attr": edge_attr, "permutation": permutation, "graph": graph}
        return self._join(x, local, batch, **given, **_given(edge_weight=edge_weight))

    def with_edges(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        permutation: Tensor | None = None,
        *,
        edge_weight: Tensor | None = None,
        graph: Graph | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return new node and edge features; the latter as given where the local layer does not update them."""
        if not hasattr(self.local, "with_edges"):
            given = _given(edge_weight=edge_weight)
            return self(x, edge_index, batch, edge_attr, permutation, graph=graph, **given), edge_attr
        self._check(x)
        assert self.local is not None
        local, edges = self.local.with_edges(x, edge_index, edge_attr)  # type: ignore[operator]
        given = {"edge_index": edge_index, "edge_attr": edge_attr, "permutation": permutation, "graph": graph}
        return self._join(x, local, batch, **given, **_given(edge_weight=edge_weight)), edges

    def _check(self, x: Tensor) -> None:
        check_features(x, self.channels)
        check_not_single(x.shape[0], self.ffn_norm)

    def _join(self, x: Tensor, local: Tensor | None, batch: Tensor | None, **given: Any) -> Tensor:
        branches = []
        if local is not None:
            skipped = local if getattr(self.local, "own_skip", False) else x + self._drop(local)
            branches.append(normed(self.local_norm, skipped, batch))
        if self.mixer is not None:
            mixed = call(self.mixer, x, batch=batch, **given)
            branches.append(normed(self.mixer_norm, x + self._drop(mixed), batch))
        h = branches[0] if len(branches) == 1 else branches[0] + branches[1]
        return normed(self.ffn_norm, h + self.ffn(h), batch)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.dropout, self.training)

    def __repr__(self) -> str:
        """Name the key arguments."""
        local, mixer, norm = self.names
        return (
            f"{type(self).__name__}({self.channels}, local={local}, mixer={mixer}, norm={norm}, dropout={self.dropout})"
        )


def _uses(part: nn.Module | None, name: str) -> bool:
    if part is None:
        return False
    own: tuple[str, ...] = getattr(part, "edge_fields", tuple(accepted(part.forward, {name: None})))
    return name in own


def _given(**things: Tensor | None) -> dict[str, Any]:
    """Return what is there."""
    return {name: thing for name, thing in things.items() if thing is not None}


def _name(given: object) -> str:
    return type(given).__name__ if isinstance(given, nn.Module) else str(given).lower()
