"""Small data in the raw layouts of known data sets, written as their publishers write it."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import sparse

from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES
from geco.data.sources import lrgb

LRGB = ["pascalvoc-sp", "coco-sp", "peptides-func", "peptides-struct", "pcqm-contact"]
LRGB_COUNTS = {"train": 3, "val": 1, "test": 2}  # graphs of each part
ARXIV_NODES, ARXIV_EDGES = 20, 55
REDDIT_NODES = 40
SAINT_NODES = 30
PCQM_SMILES = ["C" * n + "O" for n in range(1, 13)]
PCQM_GAPS = np.linspace(2, 8, 12)
PCQM_GAPS[10:] = np.nan  # OGB's test sets have no public values
PCQM_SPLIT = {
    "train": np.arange(8),
    "valid": np.array([9, 8]),
    "test-dev": np.array([10]),
    "test-challenge": np.array([11]),
}
CODE2_NODES, CODE2_EDGES = [4, 1, 5, 2], [3, 0, 4, 1]
CODE2_ENDS = [[0, 1], [1, 2], [0, 3], [0, 1], [0, 2], [2, 3], [3, 4], [0, 1]]
CODE2_PARTS = {"train": [2, 0], "valid": [1], "test": [3]}
CODE2_NAMES = ["get name", "a b c d name f g", "get null id", "name"]
CODE2_TABLES = {
    "edge": np.array(CODE2_ENDS),
    "num-node-list": np.array(CODE2_NODES),
    "num-edge-list": np.array(CODE2_EDGES),
    "node-feat": np.random.default_rng(0).integers(0, (98, 10_030), (12, 2)),
    "node_is_attributed": np.array([0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1]),
    "node_dfs_order": np.concatenate([np.arange(n) for n in CODE2_NODES]),
    "node_depth": np.array([0, 1, 2, 1, 0, 0, 19, 20, 21, 60, 0, 1]),
    "graph-label": np.array(CODE2_NAMES),
}
OGB_NODES, OGB_EDGES = [3, 1, 4], [2, 0, 3]
OGB_ENDS = [[0, 1], [2, 1], [0, 3], [1, 3], [2, 0]]
OGB_PARTS = {"train": [2], "valid": [0], "test": [1]}

Parts = dict[str, list[tuple[Any, ...]]]


def _pixels(rng: np.random.Generator, name: str) -> tuple[Any, ...]:
    n, m = rng.integers(1, 6), rng.integers(0, 9)
    used = np.delete(np.arange(91), lrgb.COCO_UNUSED) if name == "coco-sp" else np.arange(21)
    y = rng.choice(used, n)
    x, edge_attr = torch.from_numpy(rng.normal(size=(n, 14))), torch.from_numpy(rng.normal(size=(m, 2)))
    return (
        x,
        edge_attr,
        torch.from_numpy(rng.integers(0, n, (2, m))),
        y.tolist() if rng.random() < 0.5 else torch.from_numpy(y),
    )


def _molecule(rng: np.random.Generator, name: str) -> tuple[Any, ...]:
    n, m, links = rng.integers(1, 6), rng.integers(0, 9), rng.integers(0, 4)
    graph = (
        rng.integers(0, ATOM_CATEGORIES, (n, 9)),
        rng.integers(0, BOND_CATEGORIES, (m, 3)),
        rng.integers(0, n, (2, m)),
    )
    targets: dict[str, tuple[np.ndarray, ...]] = {
        "peptides-func": (rng.integers(0, 2, (1, 10)).astype(np.float32),),
        "peptides-struct": (rng.normal(size=(1, 11)).astype(np.float32),),
        "pcqm-contact": (rng.integers(0, n, (2, links)), rng.integers(0, 2, links)),
    }
    return tuple(torch.from_numpy(array) for array in (*graph, *targets[name]))


def write_lrgb(
    folder: Path, name: str, change: Callable[[Parts], None] | None = None, counts: Mapping[str, int] = LRGB_COUNTS
) -> Parts:
    """Write one of the data sets of LRGB, changed before it is written; return its graphs."""
    rng = np.random.default_rng(LRGB.index(name))
    make = _pixels if name.endswith("sp") else _molecule
    parts = {part: [make(rng, name) for _ in range(count)] for part, count in counts.items()}
    if change:
        change(parts)
    folder.mkdir(parents=True, exist_ok=True)
    for part, graphs in parts.items():
        if name.endswith("sp"):
            (folder / f"{part}.pickle").write_bytes(pickle.dumps(graphs))
        else:
            torch.save(graphs, folder / f"{part}.pt")
    return parts


def write_ogb(folder: Path, tables: Mapping[str, np.ndarray], kind: str, parts: Mapping[str, list[int]]) -> None:
    """Write OGB's layout: tables without header below ``raw``, the split below ``split``."""
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    (folder / "split" / kind).mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        pd.DataFrame(table).to_csv(folder / "raw" / f"{name}.csv.gz", index=False, header=False)
    for part, rows in parts.items():
        pd.DataFrame(rows).to_csv(folder / "split" / kind / f"{part}.csv.gz", index=False, header=False)


def write_ogb_molecules(folder: Path, tasks: int) -> dict[str, np.ndarray]:
    """Write three molecules with so many labels each, some of several missing."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (3, tasks)).astype(float)
    if tasks > 1:
        labels[0, 1] = labels[2, tasks - 1] = np.nan
    tables = {
        "edge": np.array(OGB_ENDS),
        "num-node-list": np.array(OGB_NODES),
        "num-edge-list": np.array(OGB_EDGES),
        "node-feat": rng.integers(0, ATOM_CATEGORIES, (8, 9)),
        "edge-feat": rng.integers(0, BOND_CATEGORIES, (5, 3)),
        "graph-label": labels if tasks > 1 else labels.astype(int),
    }
    write_ogb(folder, tables, "scaffold", OGB_PARTS)
    return tables


def write_ogb_proteins(folder: Path) -> dict[str, np.ndarray]:
    """Write three graphs of ogbg-ppa."""
    tables = {
        "edge": np.array(OGB_ENDS),
        "num-node-list": np.array(OGB_NODES),
        "num-edge-list": np.array(OGB_EDGES),
        "edge-feat": np.random.default_rng(0).integers(0, 1000, (5, 7)) / 1000,
        "graph-label": np.array([36, 0, 5]),
    }
    write_ogb(folder, tables, "species", OGB_PARTS)
    return tables


def write_code2(folder: Path, **changes: np.ndarray) -> None:
    """Write four functions of ogbg-code2, with other tables where they are given."""
    write_ogb(folder, {**CODE2_TABLES, **changes}, "project", CODE2_PARTS)


def write_table(path: Path, array: np.ndarray, style: str = "%d") -> None:
    """Write an array as OGB does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        np.savetxt(file, array, style, delimiter=",")


def write_arxiv_labels(folder: Path) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Write classes, years and the split by time."""
    rng = np.random.default_rng(1)
    found = {"y": rng.integers(0, 40, ARXIV_NODES), "year": rng.integers(1990, 2021, ARXIV_NODES)}
    write_table(folder / "raw" / "node-label.csv.gz", found["y"])
    write_table(folder / "raw" / "node_year.csv.gz", found["year"])
    parts = np.split(rng.permutation(ARXIV_NODES), [12, 15])
    for name, part in zip(("train", "valid", "test"), parts, strict=True):
        write_table(folder / "split" / "time" / f"{name}.csv.gz", part)
    return found, parts


def write_arxiv(folder: Path) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Write ogbn-arxiv; return its arrays and the parts of its split."""
    rng = np.random.default_rng(0)
    found, parts = write_arxiv_labels(folder)
    found |= {
        "x": rng.standard_normal((ARXIV_NODES, 3)).astype(np.float32),
        "edges": rng.integers(0, ARXIV_NODES, (ARXIV_EDGES, 2)),
    }
    write_table(folder / "raw" / "edge.csv.gz", found["edges"])
    write_table(folder / "raw" / "node-feat.csv.gz", found["x"], "%.9g")
    write_table(folder / "raw" / "num-node-list.csv.gz", np.array([ARXIV_NODES]))
    write_table(folder / "raw" / "num-edge-list.csv.gz", np.array([ARXIV_EDGES]))
    return found, parts


def write_reddit(folder: Path, **changes: np.ndarray) -> None:
    """Write Reddit, with other arrays where they are given."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    ends = rng.integers(0, REDDIT_NODES, (2, 300))
    ends = np.concatenate([ends, ends[:, :50], ends[::-1]], 1)  # unsorted, with repeats
    matrix = sparse.coo_matrix((np.ones(ends.shape[1], np.int64), (ends[0], ends[1])), (REDDIT_NODES, REDDIT_NODES))
    sparse.save_npz(folder / "reddit_graph.npz", matrix)
    arrays = {
        "feature": rng.standard_normal((REDDIT_NODES, 6)),
        "label": rng.integers(0, 41, REDDIT_NODES).astype(np.int32),
        "node_types": rng.permutation(np.repeat([1, 2, 3], [20, 8, 12])).astype(np.int32),
        "node_ids": np.arange(REDDIT_NODES),
    }
    np.savez(folder / "reddit_data.npz", **{**arrays, **changes})


def write_saint(folder: Path, labels: int = 0, classes: int = 7, seed: int = 0) -> None:
    """Write a graph; ``labels`` makes lists of so many 0 and 1 instead of classes."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    adjacency = sparse.random_array((SAINT_NODES, SAINT_NODES), density=0.1, rng=rng, dtype=np.float64).tocsr()
    adjacency = sparse.csr_matrix(adjacency)
    np.savez(
        folder / "adj_full.npz",
        indices=adjacency.indices.astype(np.int32),
        indptr=adjacency.indptr.astype(np.int32),
        format=np.array(b"csr"),
        shape=np.array([SAINT_NODES, SAINT_NODES]),
        data=np.ones(adjacency.nnz, np.int32),
    )
    np.save(folder / "feats.npy", rng.random((SAINT_NODES, 5)))
    order = rng.permutation(SAINT_NODES)
    y = rng.integers(0, 2, (SAINT_NODES, labels)).tolist() if labels else rng.integers(0, classes, SAINT_NODES).tolist()
    (folder / "class_map.json").write_text(json.dumps({str(i): y[i] for i in order}))
    parts = np.split(rng.permutation(SAINT_NODES), [15, 22])
    (folder / "role.json").write_text(
        json.dumps({k: p.tolist() for k, p in zip(("tr", "va", "te"), parts, strict=True)})
    )


def write_pcqm4mv2(folder: Path) -> None:
    """Write PCQM4Mv2; its reader takes 150,000 molecules for validation, `geco.data.sources.pcqm4mv2.VALID`."""
    (folder / "raw").mkdir(parents=True)
    table = pd.DataFrame({"idx": range(12), "smiles": PCQM_SMILES, "homolumogap": PCQM_GAPS})
    table.to_csv(folder / "raw" / "data.csv.gz", index=False)
    torch.save(PCQM_SPLIT, folder / "split_dict.pt")
