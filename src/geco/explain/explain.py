"""From a question to its explanation.

Shapes: N nodes, M edges, C copies of a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from torch import Tensor

from geco.explain.explanation import Explanation
from geco.explain.findings import Effect, Kind, Scene
from geco.explain.occlusion import FEW, MEASURED, Left, affordable, candidates, without_edges, without_nodes
from geco.explain.parts import without_parts
from geco.explain.question import Question

__all__ = ["explain", "hops_from"]

Thing = tuple[Any, ...]  # name, nodes, hops and layer of an effect, as far as it has them
EDGES = 300_000  # nodes of all copies together, above which edges are not left out one by one


def explain(
    question: Question, name: Callable[[int], str] = str, asked: str = "", molecule: bool = False
) -> Explanation:
    """Return what the prediction is without each node, each edge, and each part of the network.

    Args:
        question: what is asked.
        name: of a node, by its number in the graph.
        asked: the node or graph, for people; "node" and its name, or "the graph", if not given.
        molecule: whether nodes are atoms with OGB's features, to be drawn as such.
    """
    node, data = question.node, question.data
    hops = None if node is None else hops_from(data.edge_index, question.num_nodes, node)
    nodes, edges = _nodes(question, name, hops), _edges(question, name)
    parts = (*_distances(question, hops), *_parts(question))
    known = [name(i) for i in range(question.num_nodes)] if question.num_nodes <= 5000 else None
    scene = Scene(data, question.num_nodes, node, known or name, molecule)
    asked = asked or ("the graph" if node is None else f"node {name(node)}")
    value = float(question.value(question.base))
    return Explanation(asked, _quantity(question), value, nodes, edges, parts, scene, question.num_nodes)


def hops_from(edge_index: Tensor, num_nodes: int, node: int) -> np.ndarray:
    """Return the fewest edges from a node to each, in either direction, -1 where no path leads, ``(N,)``.

    Example:
        >>> hops_from(torch.tensor([[0, 1], [1, 2]]), 4, 2).tolist()
        [2, 1, 0, -1]
    """
    source, target = edge_index.cpu().numpy()
    graph = coo_array((np.ones(len(source), np.float32), (source, target)), shape=(num_nodes, num_nodes)).tocsr()
    far = shortest_path(graph, directed=False, unweighted=True, indices=node)
    return np.where(np.isfinite(far), far, -1).astype(np.int64)


def _quantity(question: Question) -> str:
    info = question.info
    named = bool(info.names)
    name = info.names[question.target] if named else str(question.target)
    return {
        "class": f"probability of class {name}",
        "labels": f"probability of {name}" if named else f"probability of label {name}",
        "values": f"value of {name}" if named else f"value {name}",
    }[info.target]


def _effects(kind: Kind, q: Question, left: Left, things: list[Thing]) -> tuple[Effect, ...]:
    value, rows = float(q.value(q.base)), zip(left.change.tolist(), left.evidence.tolist(), things, strict=True)
    return tuple(Effect(kind, name, value + change, change, abs(gone), *rest) for change, gone, (name, *rest) in rows)


def _sorted(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    return tuple(sorted(effects, key=lambda effect: (-effect.strength, effect.nodes)))


def _nodes(q: Question, name: Callable[[int], str], hops: np.ndarray | None) -> tuple[Effect, ...]:
    chosen = candidates(q)
    left = without_nodes(q, _each(chosen, q.num_nodes))
    strength = torch.where(chosen == (-1 if q.node is None else q.node), torch.inf, left.evidence.abs())
    first = strength.topk(min(MEASURED, len(chosen))).indices
    if (many := affordable(q)) > FEW:
        fine = without_nodes(q, _each(chosen[first], q.num_nodes), many)
        left = Left(left.change.index_copy(0, first, fine.change), left.evidence.index_copy(0, first, fine.evidence))
    things = [(name(i), (i,), None if hops is None else int(hops[i])) for i in chosen.tolist()]
    return _sorted(_effects("node", q, left, things))


def _each(nodes: Tensor, num_nodes: int) -> Tensor:
    """Return a row for each node in which it alone is lacking, ``(C, N)``."""
    return torch.zeros(len(nodes), num_nodes, dtype=torch.bool).scatter_(1, nodes[:, None], True)


def _edges(q: Question, name: Callable[[int], str]) -> tuple[Effect, ...]:
    """Return the effect of each edge of a small graph, both directions of it at once."""
    low, high = q.data.edge_index.amin(0), q.data.edge_index.amax(0)
    pairs, which = torch.stack([low, high]).unique(dim=1, return_inverse=True)
    if pairs.shape[1] * q.num_nodes > EDGES or not pairs.numel():
        return ()
    lacking = which[None] == torch.arange(pairs.shape[1])[:, None]
    things = [(f"{name(a)} - {name(b)}", (a, b)) for a, b in pairs.t().tolist()]
    return _sorted(_effects("edge", q, without_edges(q, lacking), things))


def _distances(q: Question, hops: np.ndarray | None) -> tuple[Effect, ...]:
    """Return what is left without the node's own features, its neighbourhood, or all farther nodes."""
    if hops is None:
        return ()
    reach, far = int(q.network.config["num_layers"]), torch.from_numpy(hops)
    near = (far >= 1) & (far <= reach)
    what = f"nodes 1 to {reach} edges away" if reach > 1 else "its neighbours"
    groups = {"its own features": far == 0, what: near, "all nodes farther away": (far < 0) | (far > reach)}
    groups = {name: mask for name, mask in groups.items() if bool(mask.any())}
    lacking = torch.stack(list(groups.values()))
    return _effects("nodes", q, without_nodes(q, lacking, affordable(q)), [(name,) for name in groups])


def _parts(q: Question) -> tuple[Effect, ...]:
    found = list(without_parts(q))
    left = Left.of(q, torch.tensor([[evidence] for *_, evidence in found]).view(-1, 1), torch.ones(1))
    return _effects("part", q, left, [(name, (), None, layer) for name, layer, _ in found])
