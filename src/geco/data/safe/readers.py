"""The only place that reads formats which could carry code or lie about their size. Nothing read here runs, ever.

Every failure is a `DataError` that names the file, the reason and what to do. How much a compressed file may hold is
limited, see `geco.data.safe.limits`.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import gzip
import io
import json
import math
import re
import stat
import warnings
import zipfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geco.console import progress_reading
from geco.data.safe.limits import LimitedStream, expanded_limit
from geco.errors import DataError, DataErrors

if TYPE_CHECKING:
    import pandas

__all__ = ["read_csv", "read_json", "read_npy", "read_npz", "read_pickle", "read_torch"]

RAGGED = 5  # rows of a wrong length that are named
JSON_LIMIT = 4 * 2**30  # bytes; the largest of the known data sets has a tenth of it


def read_pickle(path: Path) -> Any:
    """Return what a pickle holds, see `geco.data.safe.unpickle`; text of Python 2 is taken as Latin-1.

    Args:
        path: of plain containers, numbers, text, NumPy arrays, SciPy CSR, CSC or COO matrices and torch tensors.
    """
    with _reading(path), path.open("rb") as file:
        from geco.data.safe import unpickle

        return unpickle.load(file)


def read_torch(path: Path) -> Any:
    """Return what ``torch.save`` wrote: plain containers, numbers, text, tensors and NumPy arrays.

    Args:
        path: of the file, in today's or in the old format.
    """
    with _reading(path):
        import torch

        from geco.data.safe import placeholders, unpickle

        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(
                path
            ) as archive:  # torch writes its members as they are, so they cannot hold more than the file
                if sum(member.file_size for member in archive.infolist()) > path.stat().st_size:
                    raise ValueError("its members are larger than the file")
        names: list[Any] = [(kind, name) for name, kind in unpickle.NUMPY.items()]
        with torch.serialization.safe_globals(names), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, about old formats
            return placeholders.build(torch.load(path, map_location="cpu", weights_only=True))


def read_npy(path: Path) -> np.ndarray[Any, Any]:
    """Return the array of an ``.npy`` file; arrays of Python objects are refused."""
    with _reading(path), path.open("rb") as file:
        return _read_array(file, path.stat().st_size)


def read_npz(path: Path, only: Collection[str] | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of an ``.npz`` file by name; arrays of Python objects are refused.

    Args:
        path: of the file.
        only: the names to read if they are there, all if not given; other members are not even opened.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "graph.npz"
        >>> np.savez(path, x=np.ones(2), y=np.zeros(3))
        >>> read_npz(path, only=["x"])
        {'x': array([1., 1.])}
    """
    arrays = {}
    with _reading(path), zipfile.ZipFile(path) as archive:
        left = expanded_limit(path.stat().st_size)
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if only is not None and name not in only:
                continue
            if name in arrays:
                raise ValueError(f"it has two arrays {name}")
            with archive.open(member) as stream:
                # deflate makes 1032 bytes of one at most
                arrays[name] = _read_array(stream, min(left, 1032 * member.compress_size), f"array {name} ")
            left -= arrays[name].nbytes
    return arrays


def read_json(path: Path) -> Any:
    """Return what a JSON file holds."""
    with _reading(path):
        size = path.stat().st_size
        if size > JSON_LIMIT:
            raise ValueError(f"it has {size:,} bytes, over the limit of {JSON_LIMIT:,}")
        return json.loads(path.read_bytes())


def read_csv(
    path: Path,
    header: int | None = None,
    dtype: Any = None,
    columns: Sequence[str | int] | None = None,
    separator: str = ",",
    encoding: str = "utf-8-sig",
) -> pandas.DataFrame:
    """Return a table of separated values; every row must have as many fields as the first.

    Args:
        path: plain, ``.gz``, or ``.zip`` with one member.
        header: row of the columns' names (0 is the first); without it columns are numbered.
        dtype: of all columns, or by column; found from the values if not given.
        columns: which to return, in this order; all if not given.
        separator: of the values.
        encoding: of the text.
    """
    with _reading(path), warnings.catch_warnings():
        import pandas as pd

        pieces = dtype is not None and not isinstance(
            dtype, dict
        )  # takes less memory, but types found may differ by piece
        warnings.simplefilter("error")  # pandas only warns of rows longer than the heading
        try:
            with _text(path, encoding) as text:
                table = pd.read_csv(
                    text,
                    sep=separator,
                    header=header,
                    dtype=dtype,
                    usecols=columns,
                    index_col=False,
                    low_memory=pieces,
                )
        except pd.errors.EmptyDataError:
            raise DataError(f"{path}, line 1: the file is empty; a table was expected") from None
        except (ValueError, Warning):
            _refuse_ragged(path, separator, encoding)
            raise
        if len(table) and bool(table.iloc[:, -1].isna().any()):  # pandas fills short rows
            _refuse_ragged(path, separator, encoding)
        return table if columns is None else table[list(columns)]


def _refuse_ragged(path: Path, separator: str, encoding: str) -> None:
    """Refuse rows of another length than the first, the first `RAGGED` of them by line."""
    with _text(path, encoding) as text:
        width = 0
        reader = csv.reader(text, delimiter=separator)
        wrong = []
        for row in reader:
            width = width or len(row)
            if row and len(row) != width:
                fields = f"{len(row)} fields where the first line has {width}; fix the line"
                wrong.append(f"{path}, line {reader.line_num}: {fields}")
                if len(wrong) == RAGGED:
                    break
    if wrong:
        raise DataErrors(wrong) if len(wrong) > 1 else DataError(wrong[0])


@contextlib.contextmanager
def _text(path: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    """Open a plain or compressed text file."""
    limit = expanded_limit(path.stat().st_size)
    with contextlib.ExitStack() as stack:
        stream: Any = stack.enter_context(path.open("rb"))
        if path.suffix != ".zip":
            stream = stack.enter_context(progress_reading(stream, f"reading {path.name}", path.stat().st_size))
        if path.suffix == ".gz":
            stream = LimitedStream(stack.enter_context(gzip.open(stream)), limit, path)
        elif path.suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(stream))
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) != 1:
                raise DataError(
                    f"{path} holds {len(members)} files; a table must be alone in its archive, so unpack it"
                )
            stream = LimitedStream(stack.enter_context(archive.open(members[0])), limit, path)
        buffered = io.BufferedReader(stream, 2**20) if isinstance(stream, LimitedStream) else stream
        yield stack.enter_context(io.TextIOWrapper(buffered, encoding, newline=""))


def _read_array(stream: Any, available: int, label: str = "") -> np.ndarray[Any, Any]:
    """Read one array in NumPy's format from a stream that can hold ``available`` bytes, checking before taking
    memory.
    """
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{label}has format {version}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it was written by Python 2
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    if dtype.kind not in "biufcSUmM":
        raise ValueError(f"{label}holds Python objects or records (type {dtype}), not numbers or text")
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size > available:
        raise ValueError(f"{label}claims the shape {shape}, {size:,} bytes, of which the file can hold {available:,}")
    memory = np.empty(size, np.uint8)
    done = 0
    while done < size and (count := stream.readinto(memory[done : done + 2**24].data)):
        done += count
    if done < size or stream.read(1):
        raise ValueError(f"{label}has {'fewer' if done < size else 'more'} bytes than its shape {shape} needs")
    return np.ndarray(shape, dtype, memory.data, order="F" if fortran else "C")


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong into a DataError in one line; damaged bytes may cause any exception."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DataError(f"{path} is not a file")
        yield
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.EIO):
            raise DataError(f"cannot read {path}: {error.strerror}") from error
        name = re.search(r"(?:GLOBAL|it asks for) ([\w.]+)", str(error))
        if name:
            raise DataError(f"{path} is refused: it wants to call {name[1]}, as no data does; do not use it") from error
        raise DataError(
            f"{path} is damaged or not what it should be ({_reason(error)}); remove it and get it again"
        ) from error


def _reason(error: Exception) -> str:
    """Return the line of an error's message that matters; torch puts advice to load without care before it."""
    lines = [line for line in str(error).splitlines() if line.strip() and "weights_only" not in line] or ["no details"]
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return kind + lines[0].strip()[:300]
