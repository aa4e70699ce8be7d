"""Checks of the edges and edge features that a message-passing layer is given."""

from __future__ import annotations

import torch
from torch import Tensor

from geco.nn.graph.adjacency import adjacency
from geco.nn.graph.prepare import check_features

__all__ = ["check_edges", "plain_edges"]


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
