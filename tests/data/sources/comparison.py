"""What the tests of the readers share: loading from a folder, and comparing with what others made of the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.load_dataset import load, locate
from geco.data.molecules import graph_from_smiles
from geco.data.registry import find


def read(name: str, data: Path) -> GraphDataset:
    """Load through the registry, from ``data/NAME`` or what else it may be called, with a cache of its own."""
    folder, layout = locate(find(name), data, offline=True)
    assert folder.is_relative_to(data)
    assert layout in find(name).layouts
    return load(name, data_dir=data, cache=Cache(data / "cache"), offline=True)


def assert_same(dataset: GraphDataset, wanted: Data) -> None:
    """Compare features, edges in their order, labels and the split(s) with PyG's masks."""
    found = dataset[0]
    assert found.x.dtype == torch.float32
    assert torch.equal(found.x, wanted.x.float())
    assert torch.equal(found.edge_index, wanted.edge_index)
    assert torch.equal(found.y.view(-1), wanted.y.long().view(-1))
    for number in range(dataset.num_splits):
        split = dataset.split(number)
        for part, mask in (
            (split.train, wanted.train_mask),
            (split.valid, wanted.val_mask),
            (split.test, wanted.test_mask),
        ):
            mask = mask if mask.dim() == 1 else mask[:, number]
            assert torch.equal(part.sort().values, mask.nonzero().view(-1))


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
