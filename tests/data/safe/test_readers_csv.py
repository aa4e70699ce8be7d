"""Tables: plain or compressed, and every bad one told by file and line."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from geco.data.safe import limits, readers
from geco.data.safe.limits import LimitedStream
from geco.errors import DataError


def write(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("inside.csv", data)
    else:
        path.write_bytes(data)
    return path


NAMES = pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zip"])


@NAMES
def test_tables_are_read(tmp_path: Path, name: str) -> None:
    plain = readers.read_csv(write(tmp_path / name, "1,2\n3,4\n"), dtype=np.int64)
    np.testing.assert_array_equal(plain.to_numpy(), [[1, 2], [3, 4]])
    assert plain.to_numpy().dtype == np.int64
    path = write(tmp_path / name, '\ufeffid,smiles,y\n1,"C,C",0.5\n\n2,"O\nH",\n')
    table = readers.read_csv(path, header=0)
    assert list(table) == ["id", "smiles", "y"]
    assert table["smiles"].tolist() == ["C,C", "O\nH"]
    assert list(readers.read_csv(path, header=0, columns=["y", "id"])) == ["y", "id"]
    assert readers.read_csv(path, header=0, columns=["id"], dtype=str)["id"].tolist() == ["1", "2"]
    assert readers.read_csv(write(tmp_path / name, "7\n8\n"), columns=[0])[0].tolist() == [7, 8]
    assert len(readers.read_csv(write(tmp_path / name, "a,b\n"), header=0)) == 0


def test_long_tables_of_mixed_types_are_read_alike(tmp_path: Path) -> None:
    rows = 2**18  # pandas reads this many at a time
    path = write(tmp_path / "a.csv", "a,b,y\n" + "1,2,3\n" * rows + "x,2,3\n")
    for dtype in (None, {"b": str}, str):
        assert set(readers.read_csv(path, header=0, dtype=dtype)["a"]) == {"1", "x"}


@NAMES
def test_an_empty_table_is_told(tmp_path: Path, name: str) -> None:
    for text in ("", "\n\n"):
        with pytest.raises(DataError, match=r"a\.csv.*, line 1: the file is empty"):
            readers.read_csv(write(tmp_path / name, text))


@NAMES
@pytest.mark.parametrize("header", [None, 0])
@pytest.mark.parametrize("dtype", [None, np.int64, str])
@pytest.mark.parametrize(("row", "fields"), [("5", 1), ("5,6,7", 3), ("5,6,7,8", 4)])
def test_ragged_rows_are_told(
    tmp_path: Path, name: str, header: int | None, dtype: type | None, row: str, fields: int
) -> None:
    for text, line in (
        (f"1,2\n3,4\n{row}\n6,7\n", 3),
        (f"1,2\n\n3,4\n5,6\n{row}\n", 5),
        (f"1,2\n{row}\n", 2),
        (f"1,2\n{row}\n{row}\n", 2),
    ):
        with pytest.raises(DataError, match=rf"a\.csv.*, line {line}: {fields} fields where the first line has 2"):
            readers.read_csv(write(tmp_path / name, text), header=header, dtype=dtype)


def test_wrong_types_and_columns_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b\n1,x\n")
    with pytest.raises(DataError, match=r"a\.csv .*'x'"):
        readers.read_csv(path, header=0, dtype=np.float32)
    with pytest.raises(DataError, match=r"a\.csv .*nothere"):
        readers.read_csv(path, header=0, columns=["nothere"])
    with pytest.raises(DataError, match=r"a\.csv .*utf-8"):
        readers.read_csv(write(path, b"a,b\n1,\xe9\n"), header=0)


def test_damaged_compression_is_told(tmp_path: Path) -> None:
    text = "".join(f"{n},{n * n}\n" for n in range(5000))
    for name in ("a.csv.gz", "a.csv.zip"):
        whole = write(tmp_path / name, text).read_bytes()
        for data in (whole[:-300], b"", b"1,2\n", whole[:200] + b"\0" * 50 + whole[250:]):
            (tmp_path / name).write_bytes(data)
            with pytest.raises(DataError, match=r"a\.csv"):
                readers.read_csv(tmp_path / name)


def test_an_archive_of_several_tables_is_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("x.csv", "1\n")
        file.writestr("y.csv", "1\n")
    with pytest.raises(DataError, match="holds 2 files"):
        readers.read_csv(tmp_path / "a.zip")


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zip"])
def test_bombs_are_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / name, "0,0\n" * 10**6)
    assert len(readers.read_csv(path)) == 10**6
    monkeypatch.setattr(readers, "expanded_limit", lambda size: 2 * 10**6)
    with pytest.raises(DataError, match=r"a\.csv\..* holds more than 2,000,000 bytes"):
        readers.read_csv(path)


def test_the_limit_counts_bytes_and_grows_with_the_file() -> None:
    assert limits.expanded_limit(10**9) == 2**30 + 200 * 10**9
    stream = LimitedStream(io.BytesIO(bytes(10)), 10, Path("a"))
    assert len(stream.read()) == 10
    with pytest.raises(DataError, match="a holds more than 9 bytes"):
        LimitedStream(io.BytesIO(bytes(10)), 9, Path("a")).read()
