"""What the tests of the readers share: loading from a folder, and comparing with a graph that PyG made of the same files."""

from __future__ import annotations

from pathlib import Path

import torch
from torch_geometric.data import Data

from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.load_dataset import load, locate
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
        for part, mask in ((split.train, wanted.train_mask), (split.valid, wanted.val_mask), (split.test, wanted.test_mask)):
            mask = mask if mask.dim() == 1 else mask[:, number]
            assert torch.equal(part.sort().values, mask.nonzero().view(-1))
