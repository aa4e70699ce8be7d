"""GECO: graph learning with global context at any scale."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geco.nn.model import GECO

__all__ = ["GECO", "__version__"]
__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # quiet, unless a program wants to see what is logged


def __getattr__(name: str) -> Any:
    """Import the model only when it is asked for: `import geco` alone does not load torch."""
    if name == "GECO":
        from geco.nn.model import GECO

        return GECO
    raise AttributeError(f"module 'geco' has no attribute {name!r}")
