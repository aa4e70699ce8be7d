"""Functions as graphs, the task of ogbg-code2: edges of syntax trees and of their tokens, names as words of a
vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["END", "UNKNOWN", "encode", "tree_edges", "vocabulary"]

UNKNOWN, END = "__UNK__", "__EOS__"


def tree_edges(
    nodes: np.ndarray, owner: np.ndarray, tree: np.ndarray, tokens: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all edges of syntax trees: those of the tree, the same backwards, from each token to the next, and
    backwards.

    Args:
        nodes: number of nodes of each graph, ``(B,)``.
        owner: graph of each edge of the trees, ``(T,)``.
        tree: ends of the edges of the trees, parent and child, ``(T, 2)``, counted within their graph.
        tokens: nodes with an attribute in the order of the text, counted through all graphs.

    Returns:
        ``edge_index (2, M)``, graph after graph; ``edge_attr (M, 2)``: 0 tree or 1 token, 0 forwards or 1 backwards;
        and the number of edges of each graph ``(B,)``.

    Example:
        >>> tree = np.array([[0, 1], [0, 2]])
        >>> edge_index, edge_attr, edges = tree_edges(np.array([3]), np.array([0, 0]), tree, np.array([1, 2]))
        >>> edge_index.tolist(), edges.tolist()
        ([[0, 0, 1, 2, 1, 2], [1, 2, 0, 0, 2, 1]], [6])
    """
    graph = np.repeat(np.arange(len(nodes), dtype=np.int32), nodes)[tokens]
    place = (tokens - (nodes.cumsum() - nodes)[graph]).astype(tree.dtype)
    same = graph[:-1] == graph[1:]
    following = np.stack([place[:-1], place[1:]], 1)[same]
    ends = np.concatenate([tree, tree[:, ::-1], following, following[:, ::-1]])
    owners = np.concatenate([owner, owner, graph[:-1][same], graph[:-1][same]])
    kinds = np.repeat(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.uint8), [len(tree)] * 2 + [len(following)] * 2, 0)
    order = np.argsort(owners, kind="stable")
    return ends[order].T, kinds[order], np.bincount(owners, minlength=len(nodes))


def vocabulary(names: Iterable[Sequence[str]], size: int) -> tuple[str, ...]:
    """Return the most frequent words, the first met first where they are equally frequent, and then `UNKNOWN` and
    `END`.

    Args:
        names: words of each name of the training part.
        size: number of words at most, the two marks not counted.

    Example:
        >>> vocabulary([["get", "name"], ["set", "name"]], 2)
        ('name', 'get', '__UNK__', '__EOS__')
    """
    counts = Counter(word for name in names for word in name)
    return (*(word for word, _ in counts.most_common(size)), UNKNOWN, END)


def encode(names: Sequence[Sequence[str]], words: Sequence[str], places: int) -> tuple[np.ndarray, np.ndarray]:
    """Return names as numbers of words.

    Args:
        names: words of each name.
        words: from `vocabulary`.
        places: length of a target.

    Returns:
        The targets ``(B, places)``, cut off or filled up with `END`; and the whole names ``(B, longest)`` to score
        against, where words outside the vocabulary have numbers of their own after those of ``words``, and -1 fills up.

    Example:
        >>> y, whole = encode([["name", "tag"], ["name"]], ("name", "__UNK__", "__EOS__"), 2)
        >>> y.tolist(), whole.tolist()
        ([[0, 1], [0, 2]], [[0, 3], [0, -1]])
    """
    unknown, end = len(words) - 2, len(words) - 1
    number = {word: i for i, word in enumerate(words[:unknown])}
    whole = np.full((len(names), max(map(len, names), default=0)), -1, np.int32)
    for row, name in zip(whole, names, strict=True):
        row[: len(name)] = [number.setdefault(word, len(number) + 2) for word in name]
    y = np.full((len(names), places), end, np.int32)
    width = min(places, whole.shape[1])
    y[:, :width] = np.where(whole < 0, end, np.where(whole > end, unknown, whole))[:, :width]
    return y, whole
