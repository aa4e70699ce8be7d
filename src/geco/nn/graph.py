"""What a layer needs to know about its graphs, checked once and shared by all layers of a model.

Shapes: N nodes, M edges, C channels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from geco.nn.adjacency import Adjacency, Norm, adjacency
from geco.nn.segments import Segments, segments

__all__ = ["Graph", "check_features", "graph"]


@dataclass(frozen=True)
class Graph:
    """Checked graphs: their normalised adjacency and their rings."""

    adj: Adjacency
    rings: Segments


def graph(x: Tensor, edge_index: Tensor, batch: Tensor | None, edge_weight: Tensor | None, norm: Norm) -> Graph:
    """Check a layer's input and return its graphs; raises ValueError, before any work, saying what to change."""
    _check_shape(x)
    if not isinstance(edge_index, Tensor):
        raise ValueError(f"edge_index must be a tensor, got {type(edge_index).__name__}")
    if edge_index.device != x.device:
        raise ValueError(f"edge_index is on {edge_index.device}, x on {x.device}; move both to one device")
    check_features(x)
    rings = segments(len(x), batch, x.device)
    return Graph(adjacency(edge_index, len(x), edge_weight, norm, x.dtype), rings)


def check_features(x: Tensor, channels: int | None = None) -> None:
    """Refuse features that are not finite floats of shape ``(N, C)``."""
    _check_shape(x)
    if channels is not None and x.shape[1] != channels:
        raise ValueError(f"x has {x.shape[1]} channels, the layer was made for {channels}")
    # One sum finds nearly every bad value at the speed of memory; only if it is not finite are values looked at singly.
    if not bool(torch.isfinite(x.detach().sum())):
        bad = (~torch.isfinite(x.detach().to_dense())).any(1).nonzero().squeeze(1)
        if bad.numel():
            raise ValueError(
                f"x has NaN or infinite values at {bad.numel()} nodes, the first at node {int(bad[0])}; "
                "one such node would spoil the output of every node"
            )


def _check_shape(x: Tensor) -> None:
    if not isinstance(x, Tensor) or x.dim() != 2 or not x.is_floating_point():
        got = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x must be a float tensor of shape (N, C), one row per node, got {got}")
    if x.shape[0] == 0:
        raise ValueError("x has no nodes; a graph needs at least one")
