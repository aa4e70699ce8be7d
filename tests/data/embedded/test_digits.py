"""The digits graph: exact neighbours, fixed split."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from geco.data import load_dataset
from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.embedded.digits import digits
from geco.errors import DataError, UsageError


@pytest.fixture(scope="module")
def dataset() -> GraphDataset:
    return digits()


def test_nodes_are_the_images(dataset: GraphDataset) -> None:
    graph, wanted = dataset[0], load_digits()
    assert torch.equal(graph.x * 16, torch.from_numpy(wanted.data).float())
    assert graph.x.dtype == torch.float32
    assert torch.equal(graph.y, torch.from_numpy(wanted.target))
    info = dataset.info
    assert (info.level, info.target, info.num_targets, info.metric) == ("node", "class", 10, "accuracy")


@pytest.mark.parametrize("k", [1, 10])
def test_neighbours_are_the_nearest(k: int) -> None:
    graph = digits(k)[0]
    assert graph.is_undirected()
    assert graph.is_coalesced()
    assert not graph.has_self_loops()
    pixels = load_digits().data.astype(np.int64)
    distance = ((pixels[:, None] - pixels[None, :40]) ** 2).sum(2).T  # of the first 40 images to all
    for node in range(40):
        order = sorted((d, i) for i, d in enumerate(distance[node]) if i != node)
        nearest = {i for _, i in order[:k]}
        linked = set(graph.edge_index[1][graph.edge_index[0] == node].tolist())
        assert nearest <= linked
        for other in linked - nearest:  # they have this node among their nearest
            nearer = (((pixels - pixels[other]) ** 2).sum(1) < distance[node][other]).sum() - 1  # but for itself
            assert nearer < k


def test_split_is_fixed_and_even(dataset: GraphDataset) -> None:
    split, y = dataset.split(), dataset.arrays["node/y"].long()
    parts = (split.train, split.valid, split.test)
    assert torch.cat(parts).sort().values.equal(torch.arange(1797))
    for part, share in zip(parts, (0.6, 0.2, 0.2), strict=True):
        wanted = share * torch.bincount(y)
        assert (torch.bincount(y[part]) - wanted).abs().max() <= 2
    assert digits().fingerprint == dataset.fingerprint


def test_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(DataError, match=r'pip install "geco-graph\[demo\]"'):
        digits()
    monkeypatch.undo()
    with pytest.raises(UsageError, match="neighbours must be from 1 to 1796, got 0"):
        digits(0)


def test_by_name_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    monkeypatch.setattr(load_dataset, "version", missing)
    with pytest.raises(DataError, match=r'pip install "geco-graph\[demo\]"'):
        load_dataset.load("digits", cache=Cache(tmp_path))
