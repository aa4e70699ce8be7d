"""Planetoid's raw files: written here as its authors wrote them, read by us and by PyG."""

from __future__ import annotations

import os
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.datasets import Planetoid

from geco.data.registry import find
from geco.data.sources import planetoid
from geco.data.sources._one_graph import dense
from geco.errors import DataError
from tests.data.sources.comparison import assert_same, read

FIRST, TEST, FEATURES = 640, 40, 9


def dump(path: Path, value: Any) -> None:
    """Write a pickle as Python 2 with the NumPy and SciPy of 2016 did."""
    text = pickle.dumps(value, protocol=2)
    for new, old in (
        (b"scipy.sparse._csr", b"scipy.sparse.csr"),
        (b"numpy._core.multiarray", b"numpy.core.multiarray"),
    ):
        text = text.replace(new, old)
    path.write_bytes(text)


def write(folder: Path, name: str, left_out: int = 0) -> None:
    """Write a data set whose test nodes are shuffled; ``left_out`` of them are missing from the index, as in
    Citeseer.
    """
    classes = find(name).num_targets
    rng = np.random.default_rng(0)
    nodes = FIRST + TEST
    x = sparse.random_array((nodes, FEATURES), density=0.3, rng=rng, dtype=np.float32)
    y = np.eye(classes, dtype=np.int32)[rng.integers(0, classes, nodes)]
    middle = rng.permutation(np.arange(FIRST + 1, nodes - 1))[left_out:]
    test = rng.permutation(np.append(middle, [FIRST, nodes - 1]))
    edges = rng.integers(0, nodes, (2, 4 * nodes))
    edges = np.concatenate([edges, edges[::-1], edges[:, :5], [[3, 4], [3, 4]]], 1)  # repeats and self loops
    graph = defaultdict(list)
    for a, b in edges.T.tolist():
        graph[a].append(b)
    rows = sparse.csr_matrix(x)
    parts = {
        "x": rows[: 20 * classes],
        "allx": rows[:FIRST],
        "tx": rows[test],
        "y": y[: 20 * classes],
        "ally": y[:FIRST],
    }
    parts |= {"ty": y[test], "graph": graph}
    folder.mkdir(parents=True)
    for part, value in parts.items():
        dump(folder / f"ind.{name}.{part}", value)
    (folder / f"ind.{name}.test.index").write_text("".join(f"{i}\n" for i in test))


@pytest.mark.parametrize(("name", "title", "left_out"), [("pubmed", "PubMed", 0), ("citeseer", "CiteSeer", 7)])
def test_equals_pyg(tmp_path: Path, name: str, title: str, left_out: int) -> None:
    write(tmp_path / "planetoid", name, left_out)
    write(tmp_path / title / "raw", name, left_out)
    ours = read(name, tmp_path)
    theirs = Planetoid(str(tmp_path), title)[0]
    assert_same(ours, theirs)
    assert ours.num_nodes == FIRST + TEST
    assert len(ours.split().test) == TEST - left_out
    assert int((ours[0].x.sum(1) == 0).sum()) >= left_out


def test_node_left_out_has_no_features_and_no_part(tmp_path: Path) -> None:
    write(tmp_path / "citeseer", "citeseer", 3)
    ours = read("citeseer", tmp_path)
    split = ours.split()
    rest = set(range(FIRST, FIRST + TEST)) - set(split.test.tolist())
    assert len(rest) == 3
    assert all(ours[0].x[i].sum() == 0 and ours[0].y[i] == 0 for i in rest)


@pytest.mark.parametrize("part", ["allx", "ty", "graph", "test.index"])
def test_damaged_files_are_named(tmp_path: Path, part: str) -> None:
    write(tmp_path / "pubmed", "pubmed")
    path = tmp_path / "pubmed" / f"ind.pubmed.{part}"
    path.write_bytes(path.read_bytes()[:40] if part != "test.index" else b"12 13\n5 a\n")
    with pytest.raises(DataError, match=rf"ind\.pubmed\.{part}"):
        read("pubmed", tmp_path)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("graph", [1, 2], "ind.pubmed.graph should map"),
        ("graph", {0: ["a"]}, "ind.pubmed.graph should map"),
        ("graph", {0: [10**6]}, "do not fit together"),
        ("allx", {"a": 1}, "ind.pubmed.allx should hold a matrix"),
        ("allx", np.zeros((70, FEATURES), np.float32), "allx has 70 rows, the public split needs 560"),
        ("tx", np.zeros((3, FEATURES), np.float32), "ind.pubmed.tx has 3 rows for 40 nodes"),
        ("tx", np.zeros((TEST, 2), np.float32), "ind.pubmed.tx has 2 columns"),
        ("ally", np.zeros((7, 3), np.int32), "ind.pubmed.ally has 7 rows"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path: Path, part: str, value: Any, message: str) -> None:
    write(tmp_path / "pubmed", "pubmed")
    dump(tmp_path / "pubmed" / f"ind.pubmed.{part}", value)
    with pytest.raises(DataError, match=message.replace(".", r"\.")):
        planetoid.read(tmp_path / "pubmed", find("pubmed"))


def test_test_nodes_that_do_not_follow_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "pubmed", "pubmed")
    (tmp_path / "pubmed" / "ind.pubmed.test.index").write_text("3\n4\n")
    with pytest.raises(DataError, match="node numbers from 640 on"):
        read("pubmed", tmp_path)


def test_matrix_that_points_outside_is_refused() -> None:
    bad = sparse.csr_matrix(np.eye(3, dtype=np.float32))
    bad.indices[1] = 10**6
    with pytest.raises(DataError, match="does not hold a sparse matrix"):
        dense(bad, Path("ind.cora.x"))


def test_missing_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "pubmed", "pubmed")
    (tmp_path / "pubmed" / "ind.pubmed.ty").unlink()
    with pytest.raises(DataError, match=r"pubmed is not on disk.*ind\.pubmed\.ty"):
        read("pubmed", tmp_path)


@pytest.mark.real
@pytest.mark.parametrize(("name", "title"), [("cora", "Cora"), ("pubmed", "PubMed")])
def test_real_files_equal_pyg(tmp_path: Path, name: str, title: str) -> None:
    raw = tmp_path / title / "raw"
    raw.mkdir(parents=True)
    for file in find(name).layouts[0].files:
        (raw / file).symlink_to(Path(os.environ["GECO_DATA"]).absolute() / "planetoid" / file)
    ours = planetoid.read(raw, find(name))
    assert_same(ours, Planetoid(str(tmp_path), title)[0])
    assert torch.equal(ours.split().train.sort().values, torch.arange(20 * ours.info.num_targets))
