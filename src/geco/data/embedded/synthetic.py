"""Graphs made from a seed: random graphs of any size, and two tasks that need information from far away.

In the copy tasks one node carries a key and is marked as the source, another one, `length` or `depth` edges away, is
marked as the target, and the target must name the source's key. That key is independent of everything else, so message
passing of fewer layers than the distance, which cannot see it from the target, is right with probability 1/keys,
whatever it has learned and whatever else it sees. With distractors every node carries a key: then a bag of all features
does not tell the answer, the key must be read together with the mark, which is much harder. Nodes are numbered at
random, so their order tells nothing.

Only the target has a label. All others have -1, which is no class: losses and scores leave these nodes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Level
from geco.data.splits import random_split, stratified_split
from geco.errors import UsageError

__all__ = ["erdos_renyi", "ring_copy", "tree_copy"]

Shape = tuple[np.ndarray, int, int, int]  # edges (2, M) in one direction, number of nodes, source, target
Draw = Callable[[np.random.Generator], Shape]


def erdos_renyi(
    nodes: int,
    degree: float | None = None,
    density: float | None = None,
    graphs: int = 1,
    features: int = 8,
    classes: int = 2,
    seed: int = 0,
) -> GraphDataset:
    """Return random graphs: each pair of nodes is joined with the same probability, exactly; time is linear in the
    edges.

    Edges are in both directions, sorted, without repeats and self loops. Features and classes are noise: this is for
    speed and memory, not for scores. One graph has classes of nodes, several have classes of graphs; split 60/20/20.

    Args:
        nodes: of each graph.
        degree: mean degree to expect; give this or `density`.
        density: probability of each pair.
        graphs: how many.
        features: of each node, standard normal.
        classes: number of classes.
        seed: of everything.

    Example:
        >>> erdos_renyi(1000, degree=10)
        GraphDataset(info=Info(name='erdos-renyi', level='node', ...
    """
    if (degree is None) == (density is None) or nodes < 1 or graphs < 1 or classes < 1 or features < 1:
        raise UsageError(
            "erdos_renyi needs positive nodes, graphs, features and classes, and one of degree and density"
        )
    p = density if density is not None else (degree or 0) / max(1, nodes - 1)
    if not 0 <= p <= 1:
        raise UsageError(
            f"{nodes} nodes allow a density from 0 to 1 or a degree up to {nodes - 1}, got {p:g} and "
            f"{p * (nodes - 1):g}"
        )
    level: Level = "node" if graphs == 1 else "graph"
    note = f"{nodes} nodes, density {p:.3g}; features and classes are noise"
    info = Info("erdos-renyi", level, "class", classes, "accuracy", note=note)

    def make() -> Iterator[dict[str, Tensor]]:
        for number in range(graphs):
            rng = np.random.default_rng([seed, number])
            ends = _both_ways(_pairs(nodes, p, rng), nodes)
            x = rng.standard_normal((nodes, features), dtype=np.float32)
            y = rng.integers(0, classes, nodes if level == "node" else 1)
            yield {"x": torch.from_numpy(x), "edge_index": torch.from_numpy(ends), "y": torch.from_numpy(y)}

    return collect(info, make(), [random_split(nodes if graphs == 1 else graphs, (0.6, 0.2, 0.2), seed)])


def ring_copy(length: int, graphs: int = 1000, keys: int = 4, seed: int = 0, distractors: bool = False) -> GraphDataset:
    """Return rings on which a key must travel `length` edges, to the opposite side.

    Rings have 2 `length` to 2 `length` + 3 nodes, and the target is exactly `length` edges from the source.

    Args:
        length: distance from source to target, 2 or more.
        graphs: how many, split 80/10/10 within each key.
        keys: number of keys: chance is 1/keys.
        seed: of everything.
        distractors: give every node a key, not only the source.

    Shapes:
        x: ``(N, keys + 2)``: the key as one of `keys` ones, the marks of source and target.
        y: ``(N,)``: the source's key at the target, -1 elsewhere.

    Example:
        >>> dataset = ring_copy(5, graphs=20)
        >>> dataset[0].x.shape[1], int((dataset[0].y >= 0).sum())
        (6, 1)
    """
    if length < 2:
        raise UsageError(f"length must be 2 or more, got {length}")

    def ring(rng: np.random.Generator) -> Shape:
        size = 2 * length + int(rng.integers(0, 4))
        start = np.arange(size)
        return np.stack([start, (start + 1) % size]), size, 0, length

    return _copies("ring-copy", f"length {length}", ring, graphs, keys, seed, distractors)


def tree_copy(depth: int, graphs: int = 1000, keys: int = 4, seed: int = 0, distractors: bool = False) -> GraphDataset:
    """Return binary trees in which a key must travel from the root to one leaf, `depth` edges away.

    The trees are full but for up to `depth` leaves, so they differ in size.

    Args:
        depth: of the tree, 1 or more.
        graphs: how many, split 80/10/10 within each key.
        keys: number of keys: chance is 1/keys.
        seed: of everything.
        distractors: give every node a key, not only the source.

    Shapes: as those of `ring_copy`.

    Example:
        >>> tree_copy(3, graphs=20).sizes.max() <= 15
        tensor(True)
    """
    if depth < 1:
        raise UsageError(f"depth must be 1 or more, got {depth}")
    leaves = 2**depth

    def tree(rng: np.random.Generator) -> Shape:
        size = 2 * leaves - 1 - int(rng.integers(0, min(depth, leaves - 1) + 1))  # the last leaves are missing
        child = np.arange(1, size)
        return np.stack([(child - 1) // 2, child]), size, 0, int(rng.integers(leaves - 1, size))

    return _copies("tree-copy", f"depth {depth}", tree, graphs, keys, seed, distractors)


def _copies(name: str, what: str, shape: Draw, graphs: int, keys: int, seed: int, distractors: bool) -> GraphDataset:
    if keys < 2 or graphs < 10:
        raise UsageError(f"{name} needs 2 or more keys and 10 or more graphs, got {keys} and {graphs}")
    answers = np.random.default_rng([seed, graphs]).permutation(np.arange(graphs) % keys)  # each key equally often

    def make() -> Iterator[dict[str, Tensor]]:
        for number, answer in enumerate(answers):
            rng = np.random.default_rng([seed, number])
            edges, size, source, target = shape(rng)
            key = rng.integers(0, keys, size)
            key[source] = answer
            x, y = np.zeros((size, keys + 2), dtype=np.float32), np.full(size, -1)
            carriers = np.arange(size) if distractors else np.array([source])
            x[carriers, key[carriers]] = x[source, keys] = x[target, keys + 1] = 1
            y[target] = answer
            new = rng.permutation(size)  # number of each node
            old = np.argsort(new)
            ends = _both_ways(new[edges], size)
            yield {"x": torch.from_numpy(x[old]), "edge_index": torch.from_numpy(ends), "y": torch.from_numpy(y[old])}

    info = Info(name, "node", "class", keys, "accuracy", note=f"{what}, {keys} keys; only the target node has a label")
    return collect(info, make(), [stratified_split(answers, (0.8, 0.1, 0.1), seed)])


def _pairs(nodes: int, p: float, rng: np.random.Generator) -> np.ndarray:
    """Return each pair i < j with probability p, ``(2, M)``: the steps from one chosen pair to the next are
    geometric.
    """
    total = nodes * (nodes - 1) // 2
    chosen = [np.zeros(0, dtype=np.int64)]
    last = -1
    while p > 0 and last < total - 1:
        expected = (total - 1 - last) * p
        steps = rng.geometric(p, int(expected + 5 * expected**0.5) + 16)
        chosen.append(np.minimum(steps, total + 1, out=steps).cumsum(out=steps))
        steps += last
        last = int(steps[-1])
    pair = np.concatenate(chosen)
    pair = pair[: np.searchsorted(pair, total)]  # number j(j-1)/2 + i
    high = ((1 + np.sqrt(8.0 * pair + 1)) / 2).astype(np.int64)
    high -= high * (high - 1) // 2 > pair  # where the root was rounded up
    high += high * (high + 1) // 2 <= pair  # or down
    edges = np.empty((2, len(pair)), dtype=np.int32 if nodes < 2**31 else np.int64)
    edges[0] = pair - high * (high - 1) // 2
    edges[1] = high
    return edges


def _both_ways(edges: np.ndarray, nodes: int) -> np.ndarray:
    """Return distinct edges in both directions, ``(2, 2M)``, sorted by source, then target, in linear time."""
    from scipy.sparse import coo_array

    row, column = np.concatenate([edges, edges[::-1]], 1)
    matrix = coo_array((np.ones(len(row), dtype=np.int8), (row, column)), shape=(nodes, nodes)).tocsr()
    matrix.sort_indices()
    ends = np.empty((2, len(row)), dtype=edges.dtype)
    ends[0] = np.repeat(np.arange(nodes, dtype=edges.dtype), np.diff(matrix.indptr))
    ends[1] = matrix.indices
    return ends
