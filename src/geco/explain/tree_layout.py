"""Where nodes stand in a picture: their neighbourhood tree on circles around the middle, always the same way.

Shapes: N nodes, M edges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

__all__ = ["Branch", "grown", "placed"]


@dataclass
class Branch:
    """A node of the tree.

    Args:
        node: its number, -1 for a point that only holds others together.
        steps: edges to the node above it; 0 where no path leads there.
        below: nodes that are reached through it.
    """

    node: int
    steps: int = 1
    below: list[Branch] = field(default_factory=list)

    @property
    def width(self) -> float:
        """How much room it takes on its circle."""
        return max(1.0, sum(branch.width for branch in self.below))


def grown(ends: np.ndarray, num_nodes: int, root: int, shown: Iterable[int]) -> Branch:
    """Return the tree of shortest paths from a node to those that are shown, without the nodes between.

    Args:
        ends: of the edges, ``(2, M)``.
        num_nodes: N.
        root: node in the middle.
        shown: other nodes.

    Example:
        >>> tree = grown(np.array([[0, 1, 2], [1, 2, 3]]), 5, 0, [1, 3, 4])
        >>> [(branch.node, branch.steps, [(b.node, b.steps) for b in branch.below]) for branch in tree.below]
        [(1, 1, [(3, 2)]), (4, 0, [])]
    """
    graph = coo_array((np.ones(ends.shape[1], np.int8), (ends[0], ends[1])), shape=(num_nodes, num_nodes)).tocsr()
    _, above = breadth_first_order(graph, root, directed=False)
    tree = {root: Branch(root, 0)}
    tree |= {node: Branch(node) for node in sorted(set(shown) - {root})}
    for node, branch in list(tree.items())[1:]:
        steps, at = 0, node
        while steps == 0 or at not in tree:
            at, steps = int(above[at]), steps + 1
            if at < 0:  # no path
                at, steps = root, 0
                break
        branch.steps = steps
        tree[at].below.append(branch)
    return tree[root]


def placed(tree: Branch, gap: float = 74.0) -> dict[int, tuple[float, float]]:
    """Return where each node stands: on circles around the root, each branch in a sector as wide as it needs.

    Example:
        >>> {node: (round(x), round(y)) for node, (x, y) in placed(Branch(0, 0, [Branch(1), Branch(2)]), 10).items()}
        {0: (0, 0), 1: (-10, 0), 2: (10, 0)}
    """
    levels = _levels(tree)
    radii, radius = [0.0], 0.0
    for level in levels[1:]:
        widest = sum(branch.width for branch in level)
        radius = max(radius + gap, 0.55 * gap * widest / (2 * math.pi) if len(level) > 1 else 0.0)
        radii.append(radius)
    found: dict[int, tuple[float, float]] = {}
    half = math.pi * tree.below[0].width / tree.width if tree.below else 0.0
    first = math.pi - half  # the middle of the first branch is on the left
    _spread(tree, first, first + 2 * math.pi, 0, radii, found)
    return found


def _spread(
    branch: Branch, low: float, high: float, depth: int, radii: list[float], found: dict[int, tuple[float, float]]
) -> None:
    angle = (low + high) / 2
    found[branch.node] = (radii[depth] * math.cos(angle), radii[depth] * math.sin(angle))
    share = (high - low) / branch.width
    for below in branch.below:
        _spread(below, low, low + share * below.width, depth + 1, radii, found)
        low += share * below.width


def _levels(tree: Branch) -> list[list[Branch]]:
    levels = [[tree]]
    while levels[-1]:
        levels.append([below for branch in levels[-1] for below in branch.below])
    return levels[:-1]
