"""WordNet's file: written here in its layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.utils import to_undirected

from geco.errors import DataError
from tests.data.sources.comparison import read

NODES = 25


def write(folder: Path, **changes: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    words = sparse.csr_matrix(rng.random((NODES, 8)) < 0.2)
    upper = np.argwhere(np.triu(rng.random((NODES, NODES)) < 0.1, 1)).astype(np.int32)
    arrays = {
        "edges": upper,
        "labels": np.sort(rng.integers(0, 45, NODES)),
        "feat_indptr": words.indptr,
        "feat_indices": words.indices,
        "feat_shape": np.array([NODES, 8]),
        "split": rng.permutation(np.repeat([0, 1, 2], [13, 6, 6])).astype(np.int8),
    }
    np.savez(folder / "wordnet30.npz", **{**arrays, **changes})
    return {**arrays, "x": words.toarray()}


def test_values_are_those_of_the_file(tmp_path: Path) -> None:
    wanted = write(tmp_path / "wordnet")
    dataset = read("wordnet", tmp_path)
    graph = dataset[0]
    assert torch.equal(graph.x, torch.from_numpy(wanted["x"]).float())
    assert torch.equal(graph.edge_index, to_undirected(torch.from_numpy(wanted["edges"].T).long()))
    assert torch.equal(graph.y, torch.from_numpy(wanted["labels"]))
    split = dataset.split()
    for number, part in enumerate((split.train, split.valid, split.test)):
        assert part.tolist() == np.flatnonzero(wanted["split"] == number).tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feat_indices": np.array([9])}, "wordnet30.npz does not hold a sparse matrix"),
        ({"split": np.zeros(3, np.int8)}, "wordnet30.npz has 3 rows for 25 nodes"),
        ({"edges": np.array([[-1, 2]])}, "name nodes outside their graph"),
        ({"labels": np.full(NODES, -1)}, "classes from -1 to -1"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, changes: dict[str, np.ndarray], message: str) -> None:
    write(tmp_path / "wordnet", **changes)
    with pytest.raises(DataError, match=message):
        read("wordnet", tmp_path)
