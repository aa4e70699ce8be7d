"""One graph as a data set of links: whether two nodes are linked, asked of links that the network has not seen.

Nothing that is asked for can be read off the input. Links are split by pairs of nodes, so that both directions and all
repeats of an edge are in one part. The data set's own edges are those of the training part alone: every network, every
encoding and every statistic of validation and test is made of them. Self loops are left out.

Pairs without a link are never an edge of any part. Validation and test have as many of them as links, drawn once;
training draws as many for every epoch (`geco.train.batches`).

Shapes: N nodes, M edges, L links.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Split
from geco.data.nonlinks import DIRECTED, TWO_SIDED, UNDIRECTED, NonLinks
from geco.data.splits import random_split, time_split
from geco.data.user.edges import both_ways
from geco.errors import DataError, UsageError

__all__ = ["LINK_METRICS", "link_dataset"]

LINK_METRICS = ("auroc", "ap", "mrr", "hits@10", "hits@50", "hits@100")
PARTS = ("train", "valid", "test")
NOTE = "edges are those of the training links; messages and encodings never see the links of validation and test"


def link_dataset(
    data: Data,
    name: str = "links",
    *,
    directed: bool = False,
    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1),
    seed: int = 0,
    metric: str = "auroc",
    parts: Tensor | np.ndarray | None = None,
    times: Tensor | np.ndarray | None = None,
) -> GraphDataset:
    """Return a graph as a data set of links to predict.

    Args:
        data: with x and ``edge_index``, maybe ``edge_attr`` and ``edge_weight``; an edge may be there in one direction
            or both.
        name: of the data set.
        directed: whether u to v is another link than v to u; both are in the same part of the split anyway.
        fractions: of the pairs of nodes with an edge that are for training, validation and test.
        seed: of the split and of the pairs without a link in validation and test.
        metric: one of `LINK_METRICS`.
        parts: 0, 1 or 2 of each edge, ``(M,)``, in place of a split made from the seed.
        times: of each edge, ``(M,)``: the oldest are for training. A pair is as old as its first edge.

    Example:
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> links = link_dataset(erdos_renyi(50, degree=6)[0])
        >>> split = links.split()
        >>> links.num_edges == 2 * len(split.train), len(split.valid) % 2  # with as many pairs without a link
        (True, 0)
    """
    if parts is not None and times is not None:
        raise UsageError("links are split by parts or by times, not by both")
    every, nodes = data.edge_index.numpy().astype(np.int64), int(data.num_nodes)
    rows = np.flatnonzero(every[0] != every[1])
    ends = every[:, rows]
    pairs, pair = np.unique(np.minimum(*ends) * nodes + np.maximum(*ends), return_inverse=True)
    if parts is not None:
        part = _given(np.asarray(parts)[rows], pair, ends, name)
    elif times is not None:
        part = _numbered(time_split(_first(np.asarray(times)[rows], pair), fractions), len(pairs))
    else:
        part = _numbered(random_split(len(pairs), fractions, seed), len(pairs))
    kind = _kind(ends, directed)
    kept = rows[part[pair] == 0]
    if kind != UNDIRECTED:  # u to v is another link than v to u
        pairs, first = np.unique(ends[0] * nodes + ends[1], return_index=True)
        part = part[pair[first]]
    links = np.stack([pairs // nodes, pairs % nodes])
    none = NonLinks(links, nodes, kind)
    _check(name, np.bincount(part, minlength=len(PARTS)).tolist(), none.count, metric)
    asked, split = _asked(links, part, none, seed)
    info = Info(name, "link", "labels", 1, metric, names=(kind,), note=NOTE, directed=directed)
    return collect(info, [_messages(data, kept, directed) | asked], [split])


def _kind(ends: np.ndarray, directed: bool) -> str:
    """Return what links are: between two sides where no node is both a source and a target, as users and items."""
    if ends.size and not np.intersect1d(ends[0], ends[1]).size:
        return TWO_SIDED
    return DIRECTED if directed else UNDIRECTED


def _given(parts: np.ndarray, pair: np.ndarray, ends: np.ndarray, name: str) -> np.ndarray:
    """Return the part of each pair, from those of its edges, which must be the same."""
    found = np.zeros(int(pair.max(initial=-1)) + 1, np.int64)
    found[pair] = parts
    apart = np.flatnonzero((found[pair] != parts) | ~np.isin(parts, range(len(PARTS))))
    if len(apart):
        u, v = ends[:, apart[0]]
        raise DataError(
            f"{name}: the edges between nodes {u} and {v} are not all in one part of the split ({len(apart):,} such "
            "edges); both directions and all repeats of an edge must be in the same one of train, valid and test"
        )
    return found


def _first(times: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Return the smallest time of each pair."""
    found = np.full(int(pair.max(initial=-1)) + 1, np.inf)
    np.minimum.at(found, pair, times)
    return found


def _numbered(split: Split, count: int) -> np.ndarray:
    """Return the part of each of so many things."""
    part = np.zeros(count, np.int64)
    part[split.valid.numpy()], part[split.test.numpy()] = 1, 2
    return part


def _asked(links: np.ndarray, part: np.ndarray, none: NonLinks, seed: int) -> tuple[dict[str, Tensor], Split]:
    """Return the links and as many pairs without one for validation and test, and the split over them."""
    where = [torch.from_numpy(np.flatnonzero(part == number)) for number in range(len(PARTS))]
    drawn = [none.draw(len(where[number]), seed, number) for number in (1, 2)]
    ends = torch.cat([torch.from_numpy(links), *drawn], 1)
    label = (torch.arange(ends.shape[1]) < links.shape[1]).to(torch.uint8)
    rest = torch.arange(links.shape[1], ends.shape[1]).split([len(rows) for rows in where[1:]])
    split = Split(where[0], *(torch.cat(both) for both in zip(where[1:], rest, strict=True)))
    return {"edge_label_index": ends, "edge_label": label}, split


def _check(name: str, sizes: list[int], unlinked: int, metric: str) -> None:
    if metric not in LINK_METRICS:
        raise UsageError(f"links are scored by one of {', '.join(LINK_METRICS)}; got {metric!r}")
    if unlinked == 0:
        raise DataError(f"{name}: every pair of nodes that may be linked is; there is nothing to tell links from")
    counted = ", ".join(f"{size:,} {part}" for size, part in zip(sizes, PARTS, strict=True))
    if min(sizes) == 0:
        raise DataError(
            f"{name}: a part of the split has no link ({counted}); choose other fractions, or another split"
        )
    least = int(metric.partition("@")[2] or 0)
    if min(sizes[1:]) < least:
        raise UsageError(f"{metric} needs at least {least} links in validation and in test, there are {counted}")


def _messages(data: Data, rows: np.ndarray, directed: bool) -> dict[str, Tensor]:
    """Return features and the edges of some rows, in both directions unless they are directed."""
    nodes = int(data.num_nodes)
    ends = data.edge_index.numpy().astype(np.int64)[:, rows]
    if not directed:
        ends, own, _ = both_ways(ends, nodes)
        rows = rows[own]
    edges = {name: data[name][torch.from_numpy(rows)] for name in ("edge_attr", "edge_weight") if name in data}
    return {"x": data.x, "edge_index": torch.from_numpy(ends), **edges}
