"""Nothing in a file runs, no file takes more memory than it may, and every failure is a DataError."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from geco.data.safe import readers
from geco.errors import DataError
from tests.data.safe import files
from tests.data.safe.files import SOUND, put, same

READERS: list[Callable[[Path], Any]] = [
    readers.read_pickle,
    readers.read_torch,
    readers.read_npy,
    readers.read_npz,
    readers.read_json,
]


def rejects(path: Path, marker: Path) -> None:
    """No reader runs it or returns anything; a table of its lines would be harmless."""
    for read in READERS:
        with pytest.raises(DataError, match=path.name):
            read(path)
    with contextlib.suppress(DataError):
        readers.read_csv(path)
    assert not marker.exists()


@pytest.mark.parametrize("name", files.objects(Path("marker")))
def test_payloads_do_not_run(tmp_path: Path, name: str) -> None:
    marker, path = tmp_path / "marker", tmp_path / "file.bin"
    written = False
    for protocol in range(6):
        try:
            data = pickle.dumps(files.objects(marker)[name], protocol)
        except (pickle.PicklingError, TypeError):  # this one cannot be written so
            continue
        written = True
        path.write_bytes(data)
        rejects(path, marker)
    assert written


@pytest.mark.parametrize("name", files.raw(Path("marker")))
def test_payloads_by_hand_do_not_run(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(files.raw(tmp_path / "marker")[name])
    rejects(path, tmp_path / "marker")
    same(readers.read_pickle(put(path, pickle.dumps(SOUND))), SOUND)  # the reader itself is as it was


def test_the_payloads_are_real(tmp_path: Path) -> None:
    """A careless reader would run them."""
    marker = tmp_path / "marker"
    for name in (
        "system",
        "subprocess",
        "eval",
        "exec",
        "map",
        "nested in containers",
        "object array",
        "tensor memory",
    ):
        with contextlib.suppress(Exception):
            pickle.loads(pickle.dumps(files.objects(marker)[name]))
        assert marker.exists(), name
        marker.unlink()


@pytest.mark.parametrize("name", ["system", "subprocess", "eval", "nested in containers", "object array"])
@pytest.mark.parametrize("zipped", [True, False])
def test_torch_files_with_payloads_do_not_run(tmp_path: Path, name: str, zipped: bool) -> None:
    path, marker = tmp_path / "file.pt", tmp_path / "marker"
    path.write_bytes(files.torch_file({"x": torch.ones(2), "y": files.objects(marker)[name]}, zipped))
    rejects(path, marker)


def test_object_arrays_with_payloads_do_not_run(tmp_path: Path) -> None:
    array, marker = files.objects(tmp_path / "marker")["object array"], tmp_path / "marker"
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    np.savez(tmp_path / "a.npz", x=np.ones(3), y=array)
    with pytest.raises(DataError, match=r"a\.npy .*Python objects"):
        readers.read_npy(tmp_path / "a.npy")
    with pytest.raises(DataError, match=r"a\.npz .*array y holds Python objects"):
        readers.read_npz(tmp_path / "a.npz")
    rejects(tmp_path / "a.npy", marker)
    assert readers.read_npz(tmp_path / "a.npz", only=["x", "z"]).keys() == {"x"}
    assert not marker.exists()


def test_a_refusal_names_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "split.pkl"
    path.write_bytes(pickle.dumps(files.objects(tmp_path / "marker")["subprocess"]))
    with pytest.raises(DataError, match=r"split\.pkl is refused: it wants to call subprocess\.check_call"):
        readers.read_pickle(path)
    path.write_bytes(files.torch_file(files.objects(tmp_path / "marker")["system"], True))
    with pytest.raises(DataError, match=r"split\.pkl is refused: it wants to call posix\.system") as found:
        readers.read_torch(path)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("zipped", [True, False])
def test_torch_files_of_data_are_read(tmp_path: Path, zipped: bool) -> None:
    value = {
        "train": np.arange(5),
        "valid": np.arange(3, dtype=np.int32),
        "n": np.float64(2.5),
        "graphs": [(torch.ones(2, 3), torch.arange(2))],
    }
    before = set(torch.serialization.get_safe_globals())
    same(readers.read_torch(put(tmp_path / "a.pt", files.torch_file(value, zipped))), value)
    data = files.torch_file(value, False).replace(b"numpy._core", b"numpy.core")
    same(readers.read_torch(put(tmp_path / "a.pt", data)), value)
    assert set(torch.serialization.get_safe_globals()) == before


def test_npy_and_npz_are_read(tmp_path: Path) -> None:
    arrays = {
        "x": np.arange(6.0).reshape(2, 3),
        "f": np.asfortranarray(np.ones((3, 2), np.uint8)),
        "e": np.ones((0, 4)),
        "p": np.array(3),
    }
    arrays |= {"s": np.array(["a", "bc"]), "t": np.array([b"csr"]), "b": np.arange(3, dtype=">i8")}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        same(readers.read_npz(tmp_path / "a.npz"), arrays)
    for array in arrays.values():
        np.save(tmp_path / "a.npy", array)
        found = readers.read_npy(tmp_path / "a.npy")
        same(found, array)
        assert found.flags.writeable


def npy(shape: tuple[int, ...], data: bytes, dtype: str = "<f8") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"shape": shape, "fortran_order": False, "descr": dtype})
    return file.getvalue() + data


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (2**62, 8), (-1,), (3,)])
def test_shapes_that_lie_are_refused_before_memory_is_taken(tmp_path: Path, shape: tuple[int, ...]) -> None:
    data = npy(shape, bytes(16))
    with pytest.raises(DataError, match=r"a\.npy"):
        readers.read_npy(put(tmp_path / "a.npy", data))
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as file:
            file.writestr("x.npy", data)
        with pytest.raises(DataError, match=r"a\.npz .*array x"):
            readers.read_npz(tmp_path / "a.npz")


def test_npz_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(10**5), y=np.zeros(10**5))
    assert len(readers.read_npz(tmp_path / "a.npz")) == 2
    monkeypatch.setattr(readers, "expanded_limit", lambda size: 10**6)
    with pytest.raises(DataError, match=r"array y claims the shape \(100000,\)"):
        readers.read_npz(tmp_path / "a.npz")


def test_arrays_with_other_bytes_than_their_shape_needs_are_refused(tmp_path: Path) -> None:
    for size in (23, 25):
        with pytest.raises(DataError, match=r"(fewer|more) bytes than its shape"):
            readers.read_npy(put(tmp_path / "a.npy", npy((3,), bytes(size))))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("x.npy", npy((1,), bytes(8)))
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("x.npy", npy((1,), bytes(8)))
    with pytest.raises(DataError, match="two arrays x"):
        readers.read_npz(tmp_path / "a.npz")


def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    assert readers.read_json(put(path, json.dumps({"0": [1, 2.5, "é"]}).encode())) == {"0": [1, 2.5, "é"]}
    for data in (b"", b"{", b"[" * 100_000, b"\xff\xfe\xff", b"<html>"):
        with pytest.raises(DataError, match=r"a\.json is damaged"):
            readers.read_json(put(path, data))
    monkeypatch.setattr(readers, "JSON_LIMIT", 3)
    with pytest.raises(DataError, match="4 bytes, over the limit of 3"):
        readers.read_json(put(path, b"1234"))


def test_missing_files_and_folders_are_told(tmp_path: Path) -> None:
    for read in (*READERS, readers.read_csv):
        with pytest.raises(DataError, match="does not exist"):
            read(tmp_path / "none")
        with pytest.raises(DataError, match="is not a file"):
            read(tmp_path)
