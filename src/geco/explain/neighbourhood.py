"""The picture of a node's neighbourhood with the far nodes that matter, or of a graph's strongest nodes."""

from __future__ import annotations

import math

import numpy as np

from geco.explain.drawing import FAINT, Dot, Drawing, Line, Words, shade
from geco.explain.findings import Effect, Findings
from geco.explain.tree_layout import Branch, grown, placed

__all__ = ["neighbourhood"]

MOST, FAR, NEAR = 44, 8, 2  # nodes of a picture, far ones that matter among them, edges to what is near
NAMED = 24  # nodes up to which all have their names; of more, the strongest
PALE = "#d9dee6"  # edges besides those of the shortest paths
HELD = 0.02  # share of the strongest effect below which a far node is not drawn


def neighbourhood(found: Findings) -> Drawing:
    """Return the picture: the node in the middle, others on circles by the shortest path to it, orange those that
    speak for the prediction, blue those against it; dashed lines skip nodes.
    """
    scene = found.scene
    ends = scene.data.edge_index.cpu().numpy()
    by_node = {effect.nodes[0]: effect for effect in found.nodes}
    root = scene.node if scene.node is not None else found.nodes[0].nodes[0]
    shown, hidden = _shown(found, ends, root)
    tree = grown(ends, scene.num_nodes, root, shown)
    at = placed(tree)
    drawing = Drawing(f"{found.asked}, {found.quantity}: {found.value:.4g}")
    _lines(drawing, ends, tree, at)
    _dots(drawing, found, at, by_node)
    more = f"; {hidden:,} more neighbours are not drawn" if hidden else ""
    middle = f"in the middle {scene.name(root)}" if scene.node is not None else f"around node {scene.name(root)}"
    drawing.caption = [
        f"{found.quantity}: {found.value:.3g}, {middle}{more}",
        "orange: it falls without the node, blue: it rises; dashed lines leave out nodes",
    ]
    return drawing


def _shown(found: Findings, ends: np.ndarray, root: int) -> tuple[set[int], int]:
    """Return the nodes to draw, and how many near ones there is no room for."""
    strongest = found.nodes[0].strength if found.nodes else 0.0
    matter = [e for e in found.nodes if e.strength > HELD * strongest]
    far = {e.nodes[0] for e in matter[: FAR if found.scene.node is not None else MOST // 2]}
    rank = {e.nodes[0]: i for i, e in enumerate(found.nodes)}
    near, edge = {root}, {root}
    for _ in range(NEAR):
        reached = np.concatenate([ends[1][np.isin(ends[0], list(edge))], ends[0][np.isin(ends[1], list(edge))]])
        edge = set(reached.tolist()) - near
        near |= edge
        if len(near) > MOST:
            break
    whole = near | far
    if len(whole) > MOST:  # of many, those that were left out one by one
        near = {node for node in near if node in rank} | {root}
    order = sorted(near - far, key=lambda node: (node != root, rank.get(node, len(rank)), node))
    kept = order[: (MOST if len(whole) <= MOST else NAMED) - len(far)]
    return {*far, *kept, root}, len(whole) - len({*far, *kept, root})


def _lines(drawing: Drawing, ends: np.ndarray, tree: Branch, at: dict[int, tuple[float, float]]) -> None:
    on_tree = _pairs(tree)
    inside = np.isin(ends, list(at)).all(0)
    for a, b in sorted({(min(p), max(p)) for p in ends[:, inside].T.tolist()}):
        if a != b:
            drawing.lines.append(Line(at[a], at[b], FAINT if (a, b) in on_tree else PALE))
    waiting = [tree]
    while waiting:
        branch = waiting.pop()
        for below in branch.below:
            if below.steps != 1:
                start, end = at[branch.node], at[below.node]
                drawing.lines.append(Line(start, end, dashed=True))
                middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - 4)
                said = f"{below.steps} edges" if below.steps else "no path"
                drawing.words.append(Words(middle, said, 9.0, "#5a6373"))
        waiting += branch.below


def _pairs(tree: Branch) -> set[tuple[int, int]]:
    """Return the ends of every edge of the tree, the lower number first."""
    mine = {(min(tree.node, below.node), max(tree.node, below.node)) for below in tree.below}
    return mine.union(*map(_pairs, tree.below))


def _dots(drawing: Drawing, found: Findings, at: dict[int, tuple[float, float]], by_node: dict[int, Effect]) -> None:
    strongest = max((e.strength for e in found.nodes), default=0.0) or 1.0
    first = [e.nodes[0] for e in found.nodes[:3] if e.strength > HELD * strongest]
    named = set(at) if len(at) <= NAMED else {*first, *(e.nodes[0] for e in found.nodes[:12]), found.scene.node}
    for node, place in at.items():
        effect, name = by_node.get(node), found.scene.name(node)
        share = effect.strength / strongest if effect else 0.0
        radius = 7 + 9 * math.sqrt(share)
        said = f"{name}: left without it {effect.without:.4g} ({effect.change:+.3g})" if effect else name
        colour = shade(effect.change, share) if effect else FAINT
        drawing.dots.append(Dot(place, radius, colour, said, node == found.scene.node))
        below = (place[0], place[1] + radius + 12)
        if node in named:
            short = name if len(name) <= 14 else name[:13] + "…"
            drawing.words.append(Words(below, short, bold=node in first or node == found.scene.node))
        if node in first and effect and effect.strength > HELD * strongest:
            drawing.words.append(Words((below[0], below[1] + 12), effect.arrow(found.value), 10.0))
