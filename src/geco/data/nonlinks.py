"""The pairs of nodes without a link, numbered, so that any of them is found at once and none is drawn by trial.

Shapes: N nodes, L links, A nodes that links may leave, B that they may enter.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

__all__ = ["DIRECTED", "TWO_SIDED", "UNDIRECTED", "NonLinks"]

UNDIRECTED, DIRECTED = "undirected link", "directed link"
TWO_SIDED = "two-sided link"  # from one set of nodes to another one, as of users and items


class NonLinks:
    """Pairs without a link, and never of a node with itself.

    Pairs are numbered in order of source and target, those with a link left out: number r is the pair at place r plus
    the number of links before it, which a search among the links finds.

    Args:
        links: all there are, of every part of a split, sources over targets, ``(2, L)``.
        nodes: N.
        kind: `UNDIRECTED` links stand for both directions; `TWO_SIDED` ones ask for pairs of a node that links leave
            and one that they enter, which are different nodes.

    Example:
        >>> none = NonLinks(np.array([[0, 1], [1, 2]]), 4, UNDIRECTED)
        >>> none.count, none.pairs(np.arange(none.count)).tolist()
        (8, [[0, 0, 1, 2, 2, 3, 3, 3], [2, 3, 3, 0, 3, 0, 1, 2]])
    """

    def __init__(self, links: np.ndarray, nodes: int, kind: str) -> None:
        every = np.arange(nodes)
        two = kind == TWO_SIDED
        self.sources: np.ndarray = np.unique(links[0]) if two else every
        self.targets: np.ndarray = np.unique(links[1]) if two else every
        one, other = np.searchsorted(self.sources, links[0]), np.searchsorted(self.targets, links[1])
        taken = [one * len(self.targets) + other]
        if not two:
            taken.append(every * (nodes + 1))  # of a node with itself
        if kind == UNDIRECTED:
            taken.append(other * nodes + one)
        self.taken = np.unique(np.concatenate(taken))
        self.before = self.taken - np.arange(len(self.taken))  # pairs without a link that come before
        self.count = len(self.sources) * len(self.targets) - len(self.taken)

    def pairs(self, numbers: np.ndarray) -> np.ndarray:
        """Return the pairs of some numbers from 0 to ``count`` - 1, sources over targets, ``(2, n)``."""
        place = numbers + np.searchsorted(self.before, numbers, side="right")
        return np.stack([self.sources[place // len(self.targets)], self.targets[place % len(self.targets)]])

    def draw(self, count: int, *seed: int) -> Tensor:
        """Return pairs drawn with repetition, ``(2, count)``, by a pure function of the seed."""
        return torch.from_numpy(self.pairs(np.random.default_rng(seed).integers(0, self.count, count)))

    def rivals(self, sources: np.ndarray, count: int, *seed: int) -> tuple[Tensor, Tensor]:
        """Return for each source nodes it has no link with, drawn with repetition, ``(S, count)``, and whether there
        are any, ``(S,)``.
        """
        first = np.searchsorted(self.sources, sources) * len(self.targets)
        low, high = (place - np.searchsorted(self.taken, place) for place in (first, first + len(self.targets)))
        any_there = high > low
        low = np.minimum(low, self.count - 1)
        size = (len(sources), count)
        numbers = np.random.default_rng(seed).integers(low[:, None], np.maximum(high, low + 1)[:, None], size)
        found = self.pairs(numbers.ravel())[1].reshape(size)
        return torch.from_numpy(found), torch.from_numpy(any_there)
