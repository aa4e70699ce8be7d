"""The npz files of Amazon and Coauthor: written here, read by us and by PyG."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.datasets import Amazon, Coauthor

from geco.data.registry import find
from geco.data.sources import npz_graph
from geco.data.splits import stratified_split
from geco.errors import DataError
from tests.data.sources.comparison import assert_same, read

NODES = 50


def write(path: Path, classes: int, **changes: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    adjacency = sparse.csr_matrix(sparse.random_array((NODES, NODES), density=0.08, rng=rng, dtype=np.float32))
    adjacency = sparse.csr_matrix(adjacency + sparse.diags_array(np.arange(NODES) % 2, dtype=np.float32))  # self loops
    counts = sparse.csr_matrix(rng.poisson(0.3, (NODES, 12)).astype(np.float32))
    arrays = {f"adj_{k}": getattr(adjacency, k) for k in ("data", "indices", "indptr", "shape")}
    arrays |= {f"attr_{k}": getattr(counts, k) for k in ("data", "indices", "indptr", "shape")}
    arrays |= {"labels": rng.integers(0, classes, NODES), "class_names": np.array(["a", None], object)}  # never read
    np.savez(path, **{**{k: np.asarray(v) for k, v in arrays.items()}, **changes})


def with_masks(data: object, dataset: object) -> object:
    for number, part in enumerate((dataset.split().train, dataset.split().valid, dataset.split().test)):
        mask = torch.zeros(NODES, dtype=torch.bool)
        mask[part] = True
        data[("train_mask", "val_mask", "test_mask")[number]] = mask
    return data


@pytest.mark.parametrize(
    ("name", "kind", "title", "file"),
    [
        ("amazon-photo", Amazon, "Photo", "amazon_electronics_photo.npz"),
        ("amazon-computers", Amazon, "Computers", "amazon_electronics_computers.npz"),
        ("coauthor-cs", Coauthor, "CS", "ms_academic_cs.npz"),
        ("coauthor-physics", Coauthor, "Physics", "ms_academic_phy.npz"),
    ],
)
def test_public_file_equals_pyg(tmp_path: Path, name: str, kind: type, title: str, file: str) -> None:
    write(tmp_path / title / "raw" / file, find(name).num_targets)
    ours = read(name, tmp_path)
    theirs = kind(str(tmp_path), title)[0]
    assert theirs.x.max() == 1
    assert_same(ours, with_masks(theirs, ours))


def test_split_is_made_from_the_classes_and_seed_0(tmp_path: Path) -> None:
    write(tmp_path / "coauthor-cs" / "ms_academic_cs.npz", 3)
    ours = read("coauthor-cs", tmp_path)
    wanted = stratified_split(ours[0].y, (0.6, 0.2, 0.2), seed=0)
    assert all(torch.equal(getattr(ours.split(), part), getattr(wanted, part)) for part in ("train", "valid", "test"))


@pytest.mark.parametrize("file", ["graph.npz", "amazon_electronics_photo.npz"])
def test_split_beside_the_graph_is_taken(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "amazon-photo"
    write(folder / file, 8)
    train, valid, test = np.split(np.random.default_rng(1).permutation(NODES), [30, 40])
    np.savez(folder / "split.npz", train=train, valid=valid, test=test)
    split = read("amazon-photo", tmp_path).split()
    assert [split.train.tolist(), split.valid.tolist(), split.test.tolist()] == [
        p.tolist() for p in (train, valid, test)
    ]


def test_graph_without_its_split_is_not_taken_for_the_public_file(tmp_path: Path) -> None:
    write(tmp_path / "amazon-photo" / "graph.npz", 8, labels=np.zeros(NODES, np.int64))
    write(tmp_path / "amazon-photo" / "amazon_electronics_photo.npz", 8)
    assert read("amazon-photo", tmp_path)[0].y.max() > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.zeros(3, np.int64)}, "amazon_electronics_photo.npz has 3 rows for 50 nodes"),
        ({"labels": np.full(NODES, 8)}, "classes from 8 to 8"),
        ({"attr_shape": np.array([NODES, 2])}, "amazon_electronics_photo.npz does not hold a sparse matrix"),
        (
            {"attr_shape": np.array([NODES, 10**12])},
            "amazon_electronics_photo.npz should hold a matrix of numbers with at most",
        ),
        ({"adj_indices": np.array([0.5, 1.5])}, "amazon_electronics_photo.npz does not hold a sparse matrix"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, changes: dict[str, np.ndarray], message: str) -> None:
    write(tmp_path / "amazon-photo" / "amazon_electronics_photo.npz", 8, **changes)
    with pytest.raises(DataError, match=message):
        read("amazon-photo", tmp_path)


def test_wrong_split_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "amazon-photo" / "graph.npz", 8)
    path = tmp_path / "amazon-photo" / "split.npz"
    np.savez(path, train=np.arange(3), valid=np.arange(3), test=np.array([50]))
    with pytest.raises(DataError, match="split 0 names nodes outside 0 to 49"):
        read("amazon-photo", tmp_path)
    np.savez(path, train=np.arange(3))
    with pytest.raises(DataError, match=r"split\.npz lacks the arrays valid, test"):
        read("amazon-photo", tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"neither of graph\.npz or amazon"):
        npz_graph.read(tmp_path / "amazon-photo", find("amazon-photo"))
