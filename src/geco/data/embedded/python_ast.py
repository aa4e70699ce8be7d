"""Name a function from its syntax tree: the task of ogbg-code2 on the functions of the running Python's own library.

Nothing is downloaded and nothing is imported or run: the sources are parsed. The same Python version gives the same
data set.

What is kept: every function, method and nested function once (copies that differ in constants only are dropped), but
not those called as the language wants it, such as ``__init__``, nor those without a word in the name, such as ``_``.
The name, and each mention of it inside the function, is replaced by a mask.
"""

from __future__ import annotations

import hashlib
import platform
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from geco.data.code_graphs import UNKNOWN, encode, tree_edges, vocabulary
from geco.data.collate import check, narrowed, with_splits
from geco.data.dataset import GraphDataset, Info, Split
from geco.data.embedded.python_source import Module, read_modules, subtokens
from geco.errors import DataError

__all__ = ["python_ast"]

PLACES = 5  # sub-tokens to predict
MAX_NODES = 1_000  # of a graph; the rest of a longer function is cut off
MAX_DEPTH = 20
MAX_ATTRIBUTES, MAX_TARGETS = 10_030, 5_000
NONE, MASK = "__NONE__", "__MASK__"
Array = NDArray[np.int64]
Mask = NDArray[np.bool_]


def python_ast(folder: Path | None = None) -> GraphDataset:
    """Return the functions below a folder as graphs, their names' sub-tokens as targets.

    A node is a node of the syntax tree, in depth-first order under a root; ``x`` holds its type, its attribute
    (identifier or constant; 0 is none) and its depth (at most 20). Edges go from parent to child and from each node
    with an attribute to the next one, then all of them backwards: ``edge_attr`` is (0 tree or 1 next token, 0 forwards
    or 1 backwards). ``y`` holds five places of the vocabulary ``info.names``, whose last two words are unknown and end;
    ``y_words`` whole names, to be scored against. Modules go to training, validation and test (about 80/10/10) by a
    hash of their names; types, attributes and words that training lacks are unknown.

    Args:
        folder: of Python sources; the running Python's standard library if not given.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "shapes.py").write_text("def boxArea(a, b): return a * b")
        >>> dataset = python_ast(folder)
        >>> [dataset.info.names[i] for i in dataset[0].y[0]]
        ['box', 'area', '__EOS__', '__EOS__', '__EOS__']
    """
    title = (
        f"Python {platform.python_version()}'s standard library" if folder is None else f"functions below {folder.name}"
    )
    folder = folder or Path(sysconfig.get_paths()["stdlib"])
    functions = _Functions()
    for module in read_modules(folder):
        functions.add(module)
    parts = np.array([_part(module) for module in functions.modules], dtype=np.int64)
    if not (parts == 0).any():
        raise DataError(f"{folder} holds no Python functions to train on; give a folder of .py files")
    words = [subtokens(name) for name in functions.names]
    names = vocabulary((row for row, part in zip(words, parts, strict=True) if part == 0), MAX_TARGETS)
    y, whole = encode(words, names, PLACES)
    categories, arrays = _columns(functions, parts == 0)
    info = Info("python-ast", "graph", "tokens", PLACES, "token-f1", categories, (2, 2), names, f"from {title}")
    found = {key: torch.from_numpy(array) for key, array in {**arrays, "graph/y": y, "graph/y_words": whole}.items()}
    found = {key: array if key.startswith("ptr/") else narrowed(array) for key, array in found.items()}
    split = Split(*(torch.from_numpy(np.flatnonzero(parts == part)) for part in range(3)))
    return check(with_splits(GraphDataset(info, found), [split]))


@dataclass
class _Functions:
    """Functions one after another; types and texts as numbers in the order they were met, their names as dictionary
    keys.
    """

    modules: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    type: list[Array] = field(default_factory=list)
    text: list[Array] = field(default_factory=list)
    depth: list[Array] = field(default_factory=list)
    parent: list[Array] = field(default_factory=list)
    types: dict[str, int] = field(default_factory=lambda: {"Module": 0})
    texts: dict[str, int] = field(default_factory=lambda: {NONE: 0, MASK: 1})
    seen: set[bytes] = field(default_factory=set)

    def add(self, module: Module) -> None:
        types = _numbered(self.types, module.types)
        texts = _numbered(self.texts, (NONE if text is None else f"={text}" for text in module.texts))
        depth, parent = np.array(module.depth), np.array(module.parent)
        for start, end in module.functions:
            name = str(module.texts[start])
            rows = slice(start, min(end, start + MAX_NODES - 1))
            text = np.where(texts[rows] == texts[start], 1, texts[rows])  # the name is masked wherever it is mentioned
            shape = types[rows], np.where(types[rows] == self.types.get("Constant"), 0, text)
            digest = hashlib.sha256(b" ".join([name.encode(), *(column.tobytes() for column in shape)])).digest()
            if (name.startswith("__") and name.endswith("__")) or not subtokens(name) or digest in self.seen:
                continue
            self.seen.add(digest)
            self.modules.append(module.name)
            self.names.append(name)
            self.type.append(np.append(0, types[rows]))  # under a root as code2's functions are
            self.text.append(np.append(0, text))
            self.depth.append(np.append(0, depth[rows] - depth[start] + 1))
            self.parent.append(np.append([-1, 0], parent[rows][1:] - start + 1))


def _numbered(known: dict[str, int], words: Iterable[str]) -> Array:
    return np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int64)


def _part(module: str) -> int:
    """Return 0 for training (8 of 10 modules), 1 for validation, 2 for test."""
    digit = int.from_bytes(hashlib.sha256(f"module {module}".encode()).digest()[:8], "big") % 10
    return max(0, digit - 7)


def _columns(functions: _Functions, train: Mask) -> tuple[tuple[int, int, int], dict[str, Array]]:
    """Return the number of categories of each column of x, and the arrays of nodes and edges."""
    sizes = np.array([len(column) for column in functions.depth])
    graph = np.repeat(np.arange(len(sizes)), sizes)
    types, num_types = _encode(functions.types, functions.type, train[graph], [UNKNOWN])
    texts, num_texts = _encode(functions.texts, functions.text, train[graph], [NONE, UNKNOWN, MASK], MAX_ATTRIBUTES)
    depth = np.concatenate(functions.depth).clip(max=MAX_DEPTH)
    parent = np.concatenate(functions.parent)
    place = np.arange(len(graph)) - (sizes.cumsum() - sizes)[graph]
    child = np.flatnonzero(parent >= 0)
    tree = np.stack([parent[child], place[child]], 1)
    ends, kinds, edges = tree_edges(sizes, graph[child], tree, np.flatnonzero(texts != 0))
    return (num_types, num_texts, MAX_DEPTH + 1), {
        "node/x": np.stack([types, texts, depth], 1),
        "edge/edge_index": ends,
        "edge/edge_attr": kinds,
        "ptr/node": np.append(0, sizes.cumsum()),
        "ptr/edge": np.append(0, edges.cumsum()),
    }


def _encode(
    known: dict[str, int], columns: Sequence[Array], train: Mask, first: list[str], limit: int | None = None
) -> tuple[Array, int]:
    """Number words by how often training has them, after those of `first`, at most `limit` in all; the others are
    unknown.
    """
    column = np.concatenate(columns)
    words = list(known)
    counts = np.bincount(column[train], minlength=len(words))
    ranked = sorted(np.flatnonzero(counts).tolist(), key=lambda i: (-counts[i], words[i]))
    kept = [i for i in ranked if words[i] not in first][: limit and limit - len(first)]
    code = np.full(len(words), first.index(UNKNOWN))
    code[kept] = np.arange(len(kept)) + len(first)
    for special in set(first) & set(words):
        code[known[special]] = first.index(special)
    return code[column], len(first) + len(kept)
