"""What layers that hear no edge features say to those who give them some, as PyG's layers take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

__all__ = ["check_no_edge_features", "without_edge_features"]


def check_no_edge_features(layer: nn.Module, given: Mapping[str, Any]) -> None:
    """Refuse ``edge_attr`` and ``edge_dim`` with what to use.

    Args:
        layer: that is given them.
        given: keywords of a call or of a constructor.

    Example:
        >>> from geco.nn import GECOConv
        >>> GECOConv(8)(None, edge_attr=1)
        Traceback (most recent call last):
        TypeError: GECOConv hears no edge features (edge_attr): give one number an edge as edge_weight, or use ...
    """
    for name in ("edge_attr", "edge_dim"):
        if given.get(name) is not None:
            raise TypeError(
                f"{type(layer).__name__} hears no edge features ({name}): give one number an edge as edge_weight, or "
                "use a hybrid that hears them, geco.nn.GPSLayer(channels, local='gatedgcn' or 'gine', mixer='geco')"
            )


def without_edge_features(layer: nn.Module, *args: Any, **options: Any) -> Tensor:
    """Call a layer, as its ``__call__``, without ``edge_attr``: given None it is left out, else refused."""
    if "edge_attr" in options:
        check_no_edge_features(layer, options)
        options = {name: value for name, value in options.items() if name != "edge_attr"}
    out: Tensor = nn.Module.__call__(layer, *args, **options)
    return out
