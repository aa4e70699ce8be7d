"""Graphs, prepared once for a whole stack of layers: checked, their rings laid out, their adjacency normalised.

Shapes: N nodes, M edges, C channels.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from geco.nn.graph.adjacency import Adjacency, Normalisation, adjacency, traced_adjacency
from geco.nn.graph.permutation import arranged
from geco.nn.graph.rings import Rings, one_ring, rings_of

__all__ = ["Graph", "check_edges", "check_features", "check_not_single", "input_rings", "plain_edges", "prepare"]


@dataclass(frozen=True)
class Graph:
    """Checked graphs: whose ring each node stands on and where, and their edges.

    Args:
        rings: the rings.
        edge_index: ``(2, M)``, or a sparse adjacency.
        edge_weight: ``(M,)`` or None.
    """

    rings: Rings
    edge_index: Tensor
    edge_weight: Tensor | None = None
    _built: dict[object, Adjacency] = field(default_factory=dict, repr=False, compare=False)

    def checked_for(self, x: Tensor, channels: int) -> Graph:
        """Return the graphs themselves, or refuse features of other nodes or another width."""
        wanted = (self.rings.num_rows, channels)
        if not torch.compiler.is_exporting() and x.shape != wanted:
            raise ValueError(f"x has shape {tuple(x.shape)}, layer and graph were made for {wanted}")
        return self

    def batch(self) -> Tensor | None:
        """Return the graph of each node, ``(N,)``, counting those that have nodes; None for a single one."""
        return None if len(self.rings.sizes) == 1 else self.rings.restore(self.rings.number())

    def norm(self, norm: nn.BatchNorm1d) -> nn.BatchNorm1d:
        """Return a BatchNorm over all nodes; some of which are elsewhere, if the graph is a shard of one."""
        return norm

    def adjacency(self, normalisation: Normalisation, dtype: torch.dtype) -> Adjacency:
        r"""Return :math:`\hat A`, built at the first call and shared by all layers."""
        if (normalisation, dtype) not in self._built:
            traced = torch.compiler.is_exporting() or self.edge_index.is_meta
            build = traced_adjacency if traced else adjacency
            found = build(self.edge_index, self.rings.num_nodes, self.edge_weight, normalisation, dtype)
            self._built[normalisation, dtype] = found
        return self._built[normalisation, dtype]


def prepare(
    x: Tensor,
    edge_index: Tensor | None,
    batch: Tensor | None = None,
    edge_weight: Tensor | None = None,
    permutation: Tensor | None = None,
    normalisation: Normalisation | None = "sym",
) -> Graph:
    """Check what a stack of layers is given and prepare its graphs; raises ValueError, before any work, with what to
    change.

    Args:
        x: ``(N, C)``.
        edge_index: ``(2, M)``, torch sparse (N, N) or ``EdgeIndex``.
        batch: graph of each node, ``(N,)``, or None for one graph.
        edge_weight: ``(M,)`` or None.
        permutation: node at each place of the rings, ``(N,)``; None for nodes as they come.
        normalisation: of the adjacency that layers will ask for; None if they ask for none.

    Example:
        >>> prepare(torch.ones(3, 1), torch.tensor([[0, 1], [1, 0]])).rings.sizes
        (3,)
    """
    if edge_index is None:
        raise ValueError("edge_index is missing; a graph without edges has one of shape (2, 0)")
    if torch.compiler.is_exporting():  # one graph, its edges as they come, no checks
        return Graph(one_ring(x.shape[0], x.device), edge_index, edge_weight)
    found: Graph = _prepared(x, edge_index, batch, edge_weight, permutation, normalisation)
    return found


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _prepared(
    x: Tensor,
    edge_index: Tensor,
    batch: Tensor | None,
    edge_weight: Tensor | None,
    permutation: Tensor | None,
    normalisation: Normalisation | None,
) -> Graph:
    _check_shape(x)
    if not isinstance(edge_index, Tensor):
        raise ValueError(f"edge_index must be a tensor, got {type(edge_index).__name__}")
    if edge_index.device != x.device:
        raise ValueError(f"edge_index is on {edge_index.device}, x on {x.device}; move both to one device")
    check_features(x)
    rings = rings_of(len(x), batch, x.device)
    g = Graph(rings if permutation is None else arranged(rings, batch, permutation), edge_index, edge_weight)
    if normalisation is not None:
        g.adjacency(normalisation, torch.promote_types(x.dtype, torch.float32))  # which checks the edges
    return g


def input_rings(
    x: Tensor, channels: int, batch: Tensor | None, permutation: Tensor | None = None, graph: Graph | None = None
) -> Rings:
    """Return the rings of what a layer is given: those of a prepared graph, or checked here."""
    if graph is None:
        check_features(x, channels)
        rings = rings_of(x.shape[0], batch, x.device)
        return rings if permutation is None else arranged(rings, batch, permutation)
    return graph.checked_for(x, channels).rings


def check_features(x: Tensor, channels: int | None = None) -> None:
    """Refuse features that are not finite floats of shape ``(N, C)``."""
    if torch.compiler.is_exporting():
        return
    _check_shape(x)
    if channels is not None and x.shape[1] != channels:
        raise ValueError(f"x has {x.shape[1]} channels, the layer was made for {channels}")
    # One sum finds nearly every bad value at the speed of memory; only if it is not finite are values looked at singly.
    if not x.is_meta and not bool(torch.isfinite(x.detach().sum())):
        bad = (~torch.isfinite(x.detach().to_dense())).any(1).nonzero().squeeze(1)
        if bad.numel():
            raise ValueError(
                f"x has NaN or infinite values at {bad.numel()} nodes, the first at node {int(bad[0])}; "
                "one such node would spoil the output of every node"
            )


def check_edges(x: Tensor, edge_index: Tensor, edge_attr: Tensor | None, channels: int, edge_dim: int | None) -> None:
    """Refuse nodes, edges or edge features that a layer cannot work with, before any work.

    Args:
        x: ``(N, channels)``.
        edge_index: ``(2, M)``.
        edge_attr: ``(M, edge_dim)`` or None.
        channels: the layer's width.
        edge_dim: width of edge features.
    """
    if torch.compiler.is_exporting():
        return
    check_features(x, channels)
    if not isinstance(edge_index, Tensor) or edge_index.layout != torch.strided:
        raise ValueError("message-passing layers take edge_index as a (2, M) tensor, got another kind of adjacency")
    if edge_index.device != x.device:
        raise ValueError(f"edge_index is on {edge_index.device}, x on {x.device}; move both to one device")
    adjacency(edge_index, len(x), None, "none")
    if edge_attr is None:
        return
    wanted = (edge_index.shape[1], edge_dim)
    if tuple(edge_attr.shape) != wanted or not edge_attr.is_floating_point():
        raise ValueError(
            f"edge_attr must be a float tensor of shape {wanted}, a row per edge, got {edge_attr.dtype} "
            f"{tuple(edge_attr.shape)}; encode edge features first"
        )


def plain_edges(edge_index: Tensor) -> Tensor:
    """Return the edges as int64 in a plain tensor, without what PyG's ``EdgeIndex`` knows about them.

    Example:
        >>> plain_edges(torch.tensor([[0], [1]], dtype=torch.int32)).dtype
        torch.int64
    """
    plain = type(edge_index) is Tensor or torch.compiler.is_exporting()
    return (edge_index if plain else edge_index.as_subclass(Tensor)).long()


def check_not_single(num_nodes: int, norm: nn.Module | None) -> None:
    """Refuse a training step of BatchNorm on a single node; other norms, and one whose other nodes are elsewhere, take
    it.
    """
    if type(norm) is nn.BatchNorm1d and norm.training and not torch.compiler.is_exporting() and num_nodes == 1:
        raise ValueError(
            "BatchNorm cannot train on a single node (its variance is zero); call .eval(), or batch this graph "
            "with others"
        )


def _check_shape(x: Tensor) -> None:
    if not isinstance(x, Tensor) or x.dim() != 2 or not x.is_floating_point():
        got = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x must be a float tensor of shape (N, C), one row per node, got {got}")
    if x.shape[0] == 0:
        raise ValueError("x has no nodes; a graph needs at least one")
