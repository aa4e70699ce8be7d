"""Syntax trees of Python source files, read but never run: `ast` parses them, nothing is imported.

Node columns are in depth-first order, so a function is a run of them: its definition and all that is below it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Module", "parse", "read_modules", "subtokens"]

SKIPPED = frozenset({"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")


@dataclass(frozen=True)
class Module:
    """The syntax tree of one file, a row for each node in depth-first order.

    Args:
        name: dotted, as it would be imported.
        types: name of each node's class, such as ``Name``.
        texts: identifier or constant of each node, or None.
        depth: distance to the root, which is row 0.
        parent: row of the parent, -1 for the root.
        functions: first row, and row after the last, of every function and method, also of nested ones.
    """

    name: str
    types: list[str]
    texts: list[str | None]
    depth: list[int]
    parent: list[int]
    functions: list[tuple[int, int]]


def read_modules(folder: Path) -> Iterator[Module]:
    """Parse every ``.py`` file below a folder, in the order of their names.

    Left out: installed packages and tests (`SKIPPED` folders), and files that this Python cannot parse.
    """
    for path in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).parts):
        parts = path.relative_to(folder).with_suffix("").parts
        if SKIPPED.isdisjoint(parts):
            try:
                yield parse(path.read_bytes(), ".".join(parts[:-1] if parts[-1] == "__init__" else parts))
            except (SyntaxError, ValueError, RecursionError):  # other Pythons' files, templates
                continue


def parse(source: bytes | str, name: str) -> Module:
    """Parse one file.

    Example:
        >>> module = parse("def twice(x): return 2 * x", "numbers")
        >>> module.types[:3], module.texts[:3], module.functions
        (['Module', 'FunctionDef', 'arguments'], [None, 'twice', None], [(1, 10)])
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old escape sequences in the files
        tree = ast.parse(source)
    module = Module(name, [], [], [], [], [])
    starts = []
    stack: list[tuple[ast.AST, int]] = [(tree, -1)]
    while stack:  # not recursive: trees can be deep
        node, parent = stack.pop()
        row = len(module.types)
        if isinstance(node, FUNCTIONS):
            starts.append(row)
        module.types.append(type(node).__name__)
        module.texts.append(_text(node))
        module.parent.append(parent)
        module.depth.append(module.depth[parent] + 1 if row else 0)
        stack += [(child, row) for child in reversed(list(ast.iter_child_nodes(node)))]
    ends = _ends(module.parent)
    module.functions.extend((row, ends[row]) for row in starts)
    return module


def subtokens(name: str) -> list[str]:
    """Split a name at underscores and capitals, in lower case; digits stay with the letters before them.

    Example:
        >>> subtokens("_parseHTTPHeader_v2")
        ['parse', 'http', 'header', 'v2']
    """
    return [word.lower() for word in _WORD.findall(name)]


def _text(node: ast.AST) -> str | None:
    """Return a node's identifier (a definition's, argument's, name's or attribute's) or constant, if it has one."""
    if isinstance(node, ast.Constant):
        return None if node.value is None else str(node.value)
    for field in ("name", "arg", "id", "attr"):
        if isinstance(value := getattr(node, field, None), str):
            return value
    return None


def _ends(parent: list[int]) -> list[int]:
    """Return the row after the last one below each row."""
    ends = list(range(1, len(parent) + 1))
    for row in range(len(parent) - 1, 0, -1):
        ends[parent[row]] = max(ends[parent[row]], ends[row])
    return ends
