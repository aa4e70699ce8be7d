"""Data sets by name, a user's own files, encodings and loaders. Importing this package does not import torch."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Cache", "GraphDataset", "GraphLoader", "Info", "Split", "StructureOrder", "encode", "load", "structure_order"]

_HOME = {
    "Cache": "cache",
    "GraphDataset": "dataset",
    "GraphLoader": "loaders",
    "Info": "dataset",
    "Split": "dataset",
    "StructureOrder": "encodings.structure_order",
    "encode": "encodings",
    "load": "load_dataset",
    "structure_order": "encodings.structure_order",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"geco.data.{_HOME[name]}"), name)
    raise AttributeError(f"module 'geco.data' has no attribute {name!r}")
