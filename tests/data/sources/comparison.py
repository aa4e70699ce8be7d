"""Comparisons that the tests of several readers share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from geco.data.dataset import GraphDataset
from geco.data.molecules import graph_from_smiles


def assert_graphs(dataset: GraphDataset, smiles: list[str]) -> None:
    assert len(dataset) == len(smiles)
    for i, line in enumerate(smiles):
        graph = dataset[i]
        for name, wanted in graph_from_smiles(line).items():
            np.testing.assert_array_equal(graph[name], wanted)


def assert_equals_bonds(dataset: GraphDataset, path: Path, parts: tuple[str, str, str]) -> None:
    """Compare with a file that holds each bond once: all graphs, labels and the split."""
    wanted = np.load(path)
    arrays = {key: array.numpy() for key, array in dataset.arrays.items()}
    np.testing.assert_array_equal(np.diff(arrays["ptr/node"]), wanted["num_nodes"])
    np.testing.assert_array_equal(np.diff(arrays["ptr/edge"]), 2 * wanted["num_bonds"])
    np.testing.assert_array_equal(arrays["node/x"], wanted["x"])
    np.testing.assert_array_equal(arrays["edge/edge_index"][:, ::2].T, wanted["bond_index"])
    np.testing.assert_array_equal(arrays["edge/edge_index"][::-1, 1::2].T, wanted["bond_index"])
    for half in (0, 1):
        np.testing.assert_array_equal(arrays["edge/edge_attr"][half::2], wanted["bond_attr"])
    np.testing.assert_array_equal(arrays["graph/y"], wanted["y"].reshape(len(dataset), -1))
    split = dataset.split()
    for found, part in zip((split.train, split.valid, split.test), parts, strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted[part])


def write_ogb(folder: Path, tables: Mapping[str, np.ndarray], kind: str, parts: Mapping[str, list[int]]) -> None:
    """Write OGB's layout: tables without header below ``raw``, the split below ``split``."""
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    (folder / "split" / kind).mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        pd.DataFrame(table).to_csv(folder / "raw" / f"{name}.csv.gz", index=False, header=False)
    for part, rows in parts.items():
        pd.DataFrame(rows).to_csv(folder / "split" / kind / f"{part}.csv.gz", index=False, header=False)
