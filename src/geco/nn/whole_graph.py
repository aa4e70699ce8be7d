"""What layers with global context cannot be: traced by `torch.fx`, scripted, or given two kinds of nodes."""

from __future__ import annotations

from typing import Any

from torch import fx, nn

__all__ = ["WholeGraph"]


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
