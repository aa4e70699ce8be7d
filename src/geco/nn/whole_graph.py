"""What layers with global context cannot be: traced by `torch.fx`, scripted, given two kinds of nodes, or, without a
local GNN beside them, edge features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import fx, nn

__all__ = ["WholeGraph", "WithoutEdgeFeatures", "check_no_edge_features"]


class WholeGraph(nn.Module):
    """Base of layers that mix all nodes of a graph; it refuses, before any work, what would take the graph apart.

    Example:
        >>> WholeGraph()((1, 2))
        Traceback (most recent call last):
        ValueError: WholeGraph takes nodes of one kind, got x as a pair (sources, targets): its global block mixes ...
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the layer. `torch.fx` does not step in here, so that `to_hetero` cannot take it for a layer of edges."""
        self.check_whole(args[0] if args else kwargs.get("x"))
        return super().__call__(*args, **kwargs)

    def check_whole(self, x: object) -> None:
        """Refuse an x that stands for another kind of graph."""
        name = type(self).__name__
        if isinstance(x, fx.Proxy):
            raise ValueError(
                f"{name} cannot be traced by torch.fx, and so not by to_hetero: its global block mixes all nodes of a "
                f"graph. Put {name} into HeteroConv for edge types within one node type, or use data.to_homogeneous()"
            )
        if isinstance(x, tuple | list):
            raise ValueError(
                f"{name} takes nodes of one kind, got x as a pair (sources, targets): its global block mixes all nodes "
                "of one graph; use another layer, such as SAGEConv, for edge types between two node types"
            )

    def __prepare_scriptable__(self) -> nn.Module:  # what torch.jit.script asks for first
        raise ValueError(f"{type(self).__name__} cannot be compiled by torch.jit.script; use torch.export")


class WithoutEdgeFeatures(WholeGraph):
    """Base of those that use no edge features: ``edge_attr`` may be None, as code for PyG's layers may say, or is
    refused.

    Example:
        >>> WithoutEdgeFeatures()(None, edge_attr=1)
        Traceback (most recent call last):
        ValueError: WithoutEdgeFeatures uses no edge features (edge_attr): give one number an edge as ...
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run the layer."""
        check_no_edge_features(self, options)
        return super().__call__(*args, **{name: value for name, value in options.items() if name != "edge_attr"})


def check_no_edge_features(layer: nn.Module, given: Mapping[str, Any]) -> None:
    """Refuse ``edge_attr`` and ``edge_dim`` with what to use.

    Args:
        layer: that is given them.
        given: keywords of a call or of a constructor.
    """
    for name in ("edge_attr", "edge_dim"):
        if given.get(name) is not None:
            raise ValueError(
                f"{type(layer).__name__} uses no edge features ({name}): give one number an edge as edge_weight, or "
                "use a hybrid that uses them, geco.nn.GPSLayer(channels, local='gatedgcn' or 'gine', mixer='geco')"
            )
