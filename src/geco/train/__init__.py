"""Settings, the one loop, checkpoints, scores. Importing this package does not import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what editors and type checkers see; a name is imported when it is first asked for
    from geco.train.config import Config
    from geco.train.engine import Trainer
    from geco.train.trained_run import Run, load_run
else:
    import importlib

    _HOME = {"Config": "config", "Run": "trained_run", "Trainer": "engine", "load_run": "trained_run"}

    def __getattr__(name: str) -> object:
        if name in _HOME:
            return getattr(importlib.import_module(f"geco.train.{_HOME[name]}"), name)
        raise AttributeError(f"module 'geco.train' has no attribute {name!r}")


__all__ = ["Config", "Run", "Trainer", "load_run"]
