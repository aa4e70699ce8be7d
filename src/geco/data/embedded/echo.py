"""Paths on which every node must name a colour from far away: what a convolution that sees distance can do.

The answer at a node is the colour of the node a fixed number of steps towards the marked end. Colours are random, so
nothing nearer says anything about it: message passing of fewer layers than the distance is right with probability
1/colours, whatever it has learned. Neither a mean over all nodes nor attention without positions can do better, though
they reach every node: they do not know which of them is that far away, and each colour is as frequent as the others in
every path. Nodes are numbered at random, so their order in the file tells nothing; the mark gives the path its
direction.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info
from geco.data.splits import random_split
from geco.errors import UsageError

__all__ = ["echo"]

SHORTEST, LONGEST = 80, 200  # nodes of a path, unless the distance needs more


def echo(distance: int, graphs: int = 1000, colours: int = 8, seed: int = 0) -> GraphDataset:
    """Return paths on which the answer at a node is the colour of the node `distance` steps towards the marked end.

    Paths have 80 to 200 nodes, or as many more as it takes that at least half of them have an answer.

    Args:
        distance: steps from a node to the one whose colour it must name, 1 or more.
        graphs: how many, split 80/10/10.
        colours: number of colours: chance is 1/colours. A path has equally many nodes of each, to within one.
        seed: of everything.

    Shapes:
        x: ``(N, 2)``, categories: the mark, 0 at one end and 1 elsewhere, and the colour.
        edge_index: ``(2, 2(N - 1))``, both directions of every edge.
        y: ``(N,)``: the colour `distance` steps back, -1 at the first `distance` nodes, which have none.

    Example:
        >>> dataset = echo(16, graphs=20)
        >>> dataset.info.categories, int((dataset[0].y < 0).sum()), int((dataset[0].x[:, 0] == 0).sum())
        ((2, 8), 16, 1)
    """
    if distance < 1 or colours < 2 or graphs < 10:
        got = f"got {distance}, {colours} and {graphs}"
        raise UsageError(f"echo needs a distance of 1 or more, 2 or more colours and 10 or more graphs, {got}")
    note = f"{distance} steps, {colours} colours; the first {distance} nodes of a path have no label"
    info = Info("echo", "node", "class", colours, "accuracy", categories=(2, colours), note=note)
    made = (_path(distance, colours, np.random.default_rng([seed, number])) for number in range(graphs))
    return collect(info, made, [random_split(graphs, (0.8, 0.1, 0.1), seed)])


def _path(distance: int, colours: int, rng: np.random.Generator) -> dict[str, Tensor]:
    size = int(rng.integers(max(SHORTEST, 2 * distance), max(LONGEST, 3 * distance) + 1))
    colour = rng.permutation(np.arange(size) % colours)  # of the places from the marked end on
    answer = np.full(size, -1)
    answer[distance:] = colour[:-distance]
    mark = (np.arange(size) > 0).astype(np.int64)
    place = rng.permutation(size)  # of each node
    number = np.argsort(place)  # of the node at each place
    once = np.stack([number[:-1], number[1:]])
    edges = np.concatenate([once, once[::-1]], 1)
    edges = edges[:, np.lexsort(edges[::-1])]  # by source, then target
    x = np.stack([mark, colour], 1)[place]
    return {"x": torch.from_numpy(x), "edge_index": torch.from_numpy(edges), "y": torch.from_numpy(answer[place])}
