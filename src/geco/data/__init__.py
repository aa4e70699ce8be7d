"""Data sets by name, a user's own files, encodings and loaders. Importing this package does not import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers see; a name is imported when it is first asked for
    from geco.data.cache import Cache
    from geco.data.dataset import GraphDataset, Info, Split
    from geco.data.encodings import encode
    from geco.data.encodings.structure_order import StructureOrder, structure_order
    from geco.data.links import link_dataset
    from geco.data.load_dataset import load
    from geco.data.loaders import GraphLoader
else:
    import importlib

    _HOME = {
        "Cache": "cache",
        "GraphDataset": "dataset",
        "GraphLoader": "loaders",
        "Info": "dataset",
        "Split": "dataset",
        "StructureOrder": "encodings.structure_order",
        "encode": "encodings",
        "link_dataset": "links",
        "load": "load_dataset",
        "structure_order": "encodings.structure_order",
    }

    def __getattr__(name: str) -> object:
        if name in _HOME:
            return getattr(importlib.import_module(f"geco.data.{_HOME[name]}"), name)
        raise AttributeError(f"module 'geco.data' has no attribute {name!r}")


__all__ = [
    "Cache",
    "GraphDataset",
    "GraphLoader",
    "Info",
    "Split",
    "StructureOrder",
    "encode",
    "link_dataset",
    "load",
    "structure_order",
]
