r"""Global mixers by name: modules that pass information between all nodes of each graph, ``(N, D)`` to ``(N, D)``.

All keep the batch contract: in evaluation mode a graph's output is the same alone, in any batch and at any place in it;
nodes need not be sorted by graph, and graphs without nodes do no harm. A mixer is called with ``x`` and, by name, with
what else it takes: ``batch`` (all), ``edge_index`` (`GECOConv`, `Exphormer`, `Cascade`), ``edge_attr`` (`Exphormer`,
`Cascade`), ``permutation`` (those for which the node order matters) and ``graph`` (all), a prepared one that stands for
these.
"""

from __future__ import annotations

import inspect
from pkgutil import resolve_name
from typing import Any

from torch import nn

from geco import names
from geco.nn.gps.ablation import Cascade
from geco.nn.gps.attention import Performer, SelfAttention
from geco.nn.gps.hyena import Hyena, ShortConv
from geco.nn.resolve import build, check_name

__all__ = ["MIXERS", "Cascade", "Hyena", "Performer", "SelfAttention", "ShortConv", "make_mixer"]

# Nothing without options that have no flags, so for Python only: a short convolution.
_PARTS: dict[str, type[nn.Module]] = {"conv": ShortConv}
MIXERS = (*names.MIXERS, *_PARTS, "none")


def make_mixer(name: str, channels: int, *, heads: int = 4, **options: Any) -> nn.Module | None:
    """Return a mixer of D channels, or None for ``none``.

    Args:
        name: one of `geco.names.MIXERS`, ``conv`` (`ShortConv`) or ``none``.
        channels: D.
        heads: H of those that have heads.
        options: further options of the mixer.

    Example:
        >>> import torch
        >>> make_mixer("performer", 8, heads=2)(torch.randn(5, 8)).shape
        torch.Size([5, 8])
    """
    check_name("mixer", name, MIXERS)
    if name == "none":
        return None
    make = _PARTS[name] if name in _PARTS else resolve_name(names.MIXERS[name])
    if "heads" in inspect.signature(make).parameters:
        options["heads"] = heads
    mixer: nn.Module = build(name, make, channels, options=options)
    return mixer
