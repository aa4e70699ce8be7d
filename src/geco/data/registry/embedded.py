"""Data sets that need no files; their sizes depend on the versions of scikit-learn and Python."""

from __future__ import annotations

from geco.data.registry.spec import Embedded

__all__ = ["NO_FILES"]

NO_FILES = (
    Embedded("digits", "node", "class", "accuracy", "digits:digits", depends="scikit-learn"),
    Embedded("ring-copy", "node", "class", "accuracy", "synthetic:ring_copy", (50,)),
    Embedded("tree-copy", "node", "class", "accuracy", "synthetic:tree_copy", (6,)),
    Embedded("echo", "node", "class", "accuracy", "echo:echo", (16,)),
    Embedded("echo-64", "node", "class", "accuracy", "echo:echo", (64,)),
    Embedded("python-ast", "graph", "tokens", "token-f1", "python_ast:python_ast", depends="Python"),
)
