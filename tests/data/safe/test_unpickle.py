"""Pickles of data are read as Python reads them, those that lie are refused."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from geco.data.safe import readers
from geco.errors import DataError
from tests.data.safe import files
from tests.data.safe.files import SOUND, put, same


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_of_data_are_read(tmp_path: Path, protocol: int) -> None:
    found = readers.read_pickle(put(tmp_path / "a", pickle.dumps(SOUND, protocol)))
    same(found, SOUND)
    found[1]["x"][0] = 7  # it is ours to write to
    found[3]["new"].append(1)
    shared = np.arange(3)
    one, other = readers.read_pickle(put(tmp_path / "a", pickle.dumps([shared, shared], protocol)))
    assert one is other


@pytest.mark.parametrize("module", ["", "_"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_matrices_of_old_and_new_scipy_are_read(tmp_path: Path, module: str, form: str, kind: str) -> None:
    matrix = getattr(sp, f"{form}_{kind}")(np.array([[0, 1.5, 0], [2, 0, 3]]))
    data = pickle.dumps(matrix, 2).replace(f"scipy.sparse._{form}".encode(), f"scipy.sparse.{module}{form}".encode())
    same(readers.read_pickle(put(tmp_path / "a", data)), matrix)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_that_lie_are_refused(tmp_path: Path, form: str) -> None:
    for change in (
        {"_shape": (2, 1)},
        {"indices": np.array([-1, 0, 5])},
        {"indptr": np.array([0, 9, 3])},
        {"data": np.ones(2)},
    ):
        matrix = getattr(sp, f"{form}_matrix")(np.array([[0, 1.5, 0], [2, 0, 3]]))
        state = {**change, "coords": (np.array([0, -1, 9]), np.zeros(3, int))} if form == "coo" else change
        matrix.__dict__.update(state)
        with pytest.raises(DataError):
            readers.read_pickle(put(tmp_path / "a", pickle.dumps(matrix)))


def test_names_of_numpy_1_are_known(tmp_path: Path) -> None:
    data = pickle.dumps([np.arange(3), np.float64(2)], 2).replace(b"numpy._core", b"numpy.core")
    same(readers.read_pickle(put(tmp_path / "a", data)), [np.arange(3), np.float64(2)])


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (5,), (1,)),
        (2, (3,), (1,)),
        (-1, (2,), (1,)),
        (0, (2,), (4,)),
        (0, (2,), (-1,)),
        (0, (10**12,), (0,)),
        (0, (2**62, 4), (1, 1)),
    ],
)
def test_tensors_outside_their_memory_are_refused(
    tmp_path: Path, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    memory = torch.arange(4.0).__reduce_ex__(2)[1][0]
    call = files.Call(torch._utils._rebuild_tensor_v2, memory, offset, size, stride, False, OrderedDict())
    with pytest.raises(DataError):
        readers.read_pickle(put(tmp_path / "a", pickle.dumps(call)))
    valid = files.Call(torch._utils._rebuild_tensor_v2, memory, 1, (3,), (1,), False, OrderedDict())
    same(readers.read_pickle(put(tmp_path / "a", pickle.dumps(valid))), torch.tensor([1.0, 2.0, 3.0]))


def test_loops_depth_and_trailing_bytes_are_refused(tmp_path: Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep = b"]" * 100_000 + b"a" * 99_999 + b"."
    for data in (pickle.dumps(loop), deep, pickle.dumps(1) + b"x", b"", b"."):
        with pytest.raises(DataError, match="is damaged"):
            readers.read_pickle(put(tmp_path / "a", data))


@pytest.fixture
def data_dir() -> Path:
    if "GECO_DATA" not in os.environ:
        pytest.skip("GECO_DATA is not set")
    return Path(os.environ["GECO_DATA"])


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "nodes", "features", "classes", "edges"),
    [("cora", 2708, 1433, 7, 10858), ("pubmed", 19717, 500, 3, 88676)],
)
def test_planetoid(data_dir: Path, name: str, nodes: int, features: int, classes: int, edges: int) -> None:
    part = {
        kind: readers.read_pickle(data_dir / "planetoid" / f"ind.{name}.{kind}")
        for kind in ("x", "y", "tx", "ty", "allx", "ally", "graph")
    }
    assert {kind: part[kind].shape[1] for kind in ("x", "tx", "allx", "y", "ty", "ally")} == {
        **dict.fromkeys(("x", "tx", "allx"), features),
        **dict.fromkeys(("y", "ty", "ally"), classes),
    }
    assert isinstance(part["allx"], sp.csr_matrix)
    assert part["allx"].shape[0] + part["tx"].shape[0] == nodes == len(part["graph"])
    assert sum(map(len, part["graph"].values())) == edges
    careless = pickle.loads((data_dir / "planetoid" / f"ind.{name}.ally").read_bytes(), encoding="latin1")
    same(part["ally"], careless)


@pytest.mark.real
def test_peptides_split(data_dir: Path) -> None:
    split = readers.read_pickle(data_dir / "peptides-func" / "splits_random_stratified_peptide.pickle")
    assert {name: len(ids) for name, ids in split.items()} == {"train": 10873, "val": 2331, "test": 2331}
    assert len(np.unique(np.concatenate(list(split.values())))) == 15535


@pytest.mark.real
def test_real_arrays_tables_and_json(data_dir: Path) -> None:
    arrays = [path for path in data_dir.rglob("*.npz")]
    assert len(arrays) >= 8
    for path in arrays:
        found = readers.read_npz(path)
        with np.load(path) as wanted:
            same(found, dict(wanted))
    for path in data_dir.rglob("*.csv.*"):
        assert len(readers.read_csv(path)) > 1000, path
    assert len(readers.read_json(data_dir / "flickr-structure" / "class_map.json")) == 89250
