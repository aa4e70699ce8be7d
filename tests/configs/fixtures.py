"""Small data in the raw layout and the exact schema of each of the paper's data sets, written for the real readers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES
from geco.data.registry import find
from geco.data.sources import pcqm4mv2
from geco.data.sources.ogb_code2 import CATEGORIES
from tests.data.sources.layouts import (
    ARXIV_NODES,
    LRGB,
    REDDIT_NODES,
    SAINT_NODES,
    write_arxiv,
    write_lrgb,
    write_ogb,
    write_pcqm4mv2,
    write_reddit,
    write_saint,
    write_table,
)

GRAPHS = 16
PARTS = {"train": list(range(8)), "valid": [8, 9, 10, 11], "test": [12, 13, 14, 15]}


def write(name: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Write a data set; ``patch`` stays in force while it is read."""
    if name in LRGB:
        write_lrgb(folder, name, counts={"train": 8, "val": 4, "test": 4})
    elif find(name).level == "node":
        _node_graph(name, folder)
    elif name == "pcqm4mv2":
        patch.setattr(pcqm4mv2, "VALID", 3)  # molecules for validation in place of 150,000
        write_pcqm4mv2(folder)
    else:
        {"ogbg-ppa": _proteins, "ogbg-code2": _trees}.get(name, _molecules)(name, folder)


def _node_graph(name: str, folder: Path) -> None:
    columns, rng = find(name).sizes.features, np.random.default_rng(0)
    if name == "ogbn-arxiv":
        write_arxiv(folder)
        write_table(folder / "raw" / "node-feat.csv.gz", rng.standard_normal((ARXIV_NODES, columns)), "%.9g")
    elif name == "reddit":
        write_reddit(folder, feature=rng.standard_normal((REDDIT_NODES, columns)))
    else:
        write_saint(folder, labels=100 if name == "yelp" else 0)
        np.save(folder / "feats.npy", rng.standard_normal((SAINT_NODES, columns)))


def _rings(nodes: int) -> dict[str, np.ndarray]:
    """Return graphs that are rings, each edge once."""
    ends = np.stack([np.arange(nodes), np.roll(np.arange(nodes), -1)], 1)
    sizes = np.full(GRAPHS, nodes)
    return {"edge": np.tile(ends, (GRAPHS, 1)), "num-node-list": sizes, "num-edge-list": sizes}


def _molecules(name: str, folder: Path) -> None:
    rng, tasks = np.random.default_rng(0), find(name).num_targets
    labels = (np.arange(GRAPHS)[:, None] + np.arange(tasks)) % 2  # both labels in every part
    if tasks > 1:
        labels = np.where(rng.random(labels.shape) < 0.3, np.nan, labels)
    features = {
        "node-feat": rng.integers(0, ATOM_CATEGORIES, (5 * GRAPHS, 9)),
        "edge-feat": rng.integers(0, BOND_CATEGORIES, (5 * GRAPHS, 3)),
        "graph-label": labels,
    }
    write_ogb(folder, {**_rings(5), **features}, "scaffold", PARTS)


def _proteins(name: str, folder: Path) -> None:
    rng = np.random.default_rng(0)
    features = {"edge-feat": rng.random((5 * GRAPHS, 7)), "graph-label": rng.integers(0, 37, GRAPHS)}
    write_ogb(folder, {**_rings(5), **features}, "species", PARTS)


def _trees(name: str, folder: Path) -> None:
    """Write trees that are paths, the first of 1,005 nodes, and names of 650 words each, so that training has 5,200."""
    rng, sizes = np.random.default_rng(0), np.array([1_005, *[4] * (GRAPHS - 1)])
    total, place = int(sizes.sum()), np.concatenate([np.arange(n) for n in sizes])
    tables = {
        "edge": np.concatenate([np.stack([np.arange(n - 1), np.arange(1, n)], 1) for n in sizes]),
        "num-node-list": sizes,
        "num-edge-list": sizes - 1,
        "node-feat": rng.integers(0, CATEGORIES[:2], (total, 2)),
        "node_is_attributed": rng.integers(0, 2, total),
        "node_dfs_order": place,
        "node_depth": place,
        "graph-label": np.array([" ".join(f"w{650 * graph + i}" for i in range(650)) for graph in range(GRAPHS)]),
    }
    write_ogb(folder, tables, "project", PARTS)
