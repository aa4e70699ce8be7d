"""Flickr and ogbn-arxiv without features: the fixtures of their layouts, less the features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

from geco.data.load_dataset import locate
from geco.data.registry import find
from geco.data.sources import structure
from geco.errors import DataError
from tests.data.sources.comparison import read
from tests.data.sources.layouts import ARXIV_NODES, SAINT_NODES, write_arxiv_labels, write_saint


def test_flickr_has_random_features_of_its_width(tmp_path: Path) -> None:
    write_saint(tmp_path / "flickr-structure")
    write_saint(tmp_path / "flickr")
    whole, bare = read("flickr", tmp_path), read("flickr-structure", tmp_path)
    assert torch.equal(whole[0].edge_index, bare[0].edge_index)
    assert torch.equal(whole[0].y, bare[0].y)
    assert torch.equal(whole.split().valid, bare.split().valid)
    assert bare[0].x.shape == (SAINT_NODES, 500)
    assert 0.95 < bare[0].x.std() < 1.05
    assert "no score is comparable" in bare.info.note


def test_arxiv_has_classes_years_and_split(tmp_path: Path) -> None:
    folder = tmp_path / "ogbn-arxiv-structure"
    found, parts = write_arxiv_labels(folder)
    nodes = ARXIV_NODES
    matrix = sparse.csr_matrix(sparse.random_array((nodes, nodes), density=0.2, rng=np.random.default_rng(0)))
    sparse.save_npz(folder / "adj_full.npz", matrix.astype(bool))
    dataset = read("ogbn-arxiv-structure", tmp_path)
    graph = dataset[0]
    assert graph.x.shape == (nodes, 128)
    assert torch.equal(graph.edge_index, torch.from_numpy(np.stack(matrix.nonzero())).long())
    assert torch.equal(graph.y, torch.from_numpy(found["y"]))
    assert torch.equal(graph.year, torch.from_numpy(found["year"]))
    assert dataset.split().test.tolist() == parts[2].tolist()


def test_features_are_the_same_at_every_reading(tmp_path: Path) -> None:
    write_saint(tmp_path / "flickr-structure")
    first = structure.read(tmp_path / "flickr-structure", find("flickr-structure"))
    torch.manual_seed(5)
    second = structure.read(tmp_path / "flickr-structure", find("flickr-structure"))
    assert first.fingerprint == second.fingerprint


def test_it_is_never_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "elsewhere"))
    with pytest.raises(DataError, match="no address to download from"):
        locate(find("flickr-structure"), tmp_path)
