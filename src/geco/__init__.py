"""GECO: graph learning with global context at any scale."""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geco.nn.model import GECO
    from geco.train.fit import fit
    from geco.train.trained_run import load_run

__all__ = ["GECO", "__version__", "fit", "load_run"]
__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # quiet, unless a program wants to see what is logged

_HOME = {"GECO": "nn.model", "fit": "train.fit", "load_run": "train.trained_run"}


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for: `import geco` alone does not load it."""
    if name in _HOME:
        return getattr(importlib.import_module(f"geco.{_HOME[name]}"), name)
    raise AttributeError(f"module 'geco' has no attribute {name!r}")
