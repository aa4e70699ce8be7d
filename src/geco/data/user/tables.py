"""A user's table, CSV or Parquet: read fast, and when something in it is wrong, the line and column are found and
named.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Literal

import numpy as np
import pandas as pd

from geco.data.safe.readers import read_csv
from geco.errors import DataError

__all__ = ["SUFFIXES", "Field", "Table", "read_table"]

SUFFIXES = (".csv", ".csv.gz", ".parquet")
UNNAMED = "unnamed"  # a column without a name, as pandas writes its index


@dataclass(frozen=True)
class Field:
    """One column: its values, and where each of them stands.

    Args:
        name: of the column.
        values: numbers or text; missing ones are NA.
        where: the place of a row's value, for people: ``nodes.csv, line 17, column age``.

    Example:
        >>> field = Field("age", pd.Series(["31", "x", None]), lambda row: f"line {row + 2}")
        >>> field.kind, field.missing.tolist()
        ('text', [False, False, True])
        >>> field.numbers()
        Traceback (most recent call last):
        geco.errors.DataError: line 3: 'x' is not a number; correct it
    """

    name: str
    values: pd.Series
    where: Callable[[int], str]

    def fail(self, rows: np.ndarray, what: str) -> DataError:
        """Return an error about the first of some rows; ``{}`` in the text stands for its value."""
        row = int(np.flatnonzero(rows)[0])
        more = int(np.count_nonzero(rows)) - 1
        value = "" if self.missing[row] else str(self.values.iloc[row])
        tail = f" ({more:,} more like it)" if more else ""
        return DataError(f"{self.where(row)}: {what.replace('{}', repr(value), 1)}{tail}")

    @cached_property
    def missing(self) -> np.ndarray:
        """Which values are missing, ``(rows,)``."""
        return np.asarray(self.values.isna(), bool)

    @cached_property
    def parsed(self) -> np.ndarray:
        """Values as float64, NaN where they are missing or not numbers."""
        return np.asarray(pd.to_numeric(self.values, errors="coerce").to_numpy(np.float64, na_value=np.nan))

    @cached_property
    def not_numbers(self) -> np.ndarray:
        """Which values are there but are not numbers, ``(rows,)``."""
        return np.asarray(np.isnan(self.parsed) & ~self.missing)

    @property
    def kind(self) -> Literal["number", "text", "empty"]:
        """What most of the values are; a few that are no numbers are mistakes among numbers."""
        known = int((~self.missing).sum())
        right = int((~np.isnan(self.parsed)).sum())
        return "empty" if known == 0 else "number" if 2 * right > known else "text"

    def numbers(self, advice: str = "correct it") -> np.ndarray:
        """Return all values as float64, NaN where missing; what is not a finite number is refused."""
        if self.not_numbers.any():
            raise self.fail(self.not_numbers, f"{{}} is not a number; {advice}")
        if np.isinf(self.parsed).any():
            raise self.fail(np.isinf(self.parsed), "{} is infinite; a finite number is wanted")
        large = np.abs(self.parsed) > np.finfo(np.float32).max
        if large.any():
            raise self.fail(large, "{} is too large for a 32-bit number")
        return self.parsed

    def texts(self) -> pd.Series:
        """Return all values as text without spaces around them; whole numbers have no decimal point."""
        values = self.values
        if pd.api.types.is_float_dtype(values) and (values.dropna() % 1 == 0).all():
            values = values.astype("Int64")
        return values.astype("string").str.strip().where(~self.missing, None)

    def complete(self, what: str, advice: str = "") -> None:
        """Refuse missing values."""
        if self.missing.any():
            raise self.fail(
                self.missing, f"{what} is missing (empty, or a word like NA, NaN, None or null); fill it in{advice}"
            )


@dataclass(frozen=True)
class Table:
    """A file of columns.

    Args:
        path: of the file.
        frame: its columns by name.
        written: the names as pandas finds them, with spaces around them.
    """

    path: Path
    frame: pd.DataFrame
    written: tuple[str, ...] = ()

    def field(self, name: str) -> Field:
        """Return one column."""
        return Field(name, self.frame[name], lambda row: f"{self.path}, {self._place(row)}, column {name}")

    def as_text(self, names: Sequence[str]) -> Table:
        """Return the table with some columns as they are written: ``007`` is not 7."""
        names = [name for name in names if not pd.api.types.is_string_dtype(self.frame[name])]
        if not names or self.path.suffix == ".parquet":
            return self
        written = dict(zip(self.frame.columns, self.written, strict=True))
        found = _read(self.path, str, [written[name] for name in names])
        return replace(self, frame=self.frame.assign(**{name: found[written[name]] for name in names}))

    def _place(self, row: int) -> str:
        if self.path.suffix == ".parquet":
            return f"row {row + 1}"
        line = next((start for number, (start, _) in enumerate(_records(self.path)) if number == row + 1), None)
        return f"line {line}" if line else f"row {row + 1}"


def read_table(path: Path) -> Table:
    """Read a table with named columns, numbers as numbers; spaces around names are dropped.

    Args:
        path: a file that ends in .csv, .csv.gz or .parquet.
    """
    if not path.is_file():
        raise DataError(f"{path} does not exist")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty; its first line must name the columns")
    return Table(path, _parquet(path)) if path.suffix == ".parquet" else _csv(path)


def _csv(path: Path) -> Table:
    frame = _read(path, None, None)
    _check_header(path)
    written = tuple(frame.columns)
    frame.columns = _names(written)
    table = Table(path, frame, written)
    return table.as_text([name for name in frame if frame[name].dtype == object])  # values of several types


def _read(path: Path, dtype: type | None, columns: list[str] | None) -> pd.DataFrame:
    try:
        return read_csv(path, header=0, dtype=dtype, columns=columns)
    except DataError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            raise _not_utf8(path) from error
        if isinstance(error.__cause__, pd.errors.ParserError):
            start = max((line for line, _ in _records(path)), default=1)  # an open quote runs to the end of the file
            raise DataError(
                f"{path}, line {start}: a quotation mark is not closed; close it, or double it within text"
            ) from error
        raise


def _names(cells: Sequence[object]) -> list[str]:
    """Return the names of columns; one without a name gets its number, but for the first."""
    stripped = [str(cell).strip() for cell in cells]
    blank = [not name or name.startswith(("Unnamed: ", "__index_level_")) for name in stripped]
    return [(f"{UNNAMED} {i + 1}" if i else UNNAMED) if blank[i] else name for i, name in enumerate(stripped)]


def _check_header(path: Path) -> None:
    header = _names(next(_records(path))[1])
    if len(set(header)) < len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise DataError(f"{path}, line 1: two columns are called {twice!r}; rename one")
    if all(_is_number(name) for name in header):
        raise DataError(
            f"{path}, line 1: {', '.join(header[:3])} are no names of columns; put a line with the names above it"
        )
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and mark in header[0]:
            raise DataError(f"{path}, line 1: columns are separated by {name}; save the file with commas")


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line each record starts at, counted from 1 as editors do, and its cells; blank lines are passed
    over.
    """
    with _open(path) as file:
        reader = csv.reader(file)
        start = 1
        try:
            for record in reader:
                if record and not (len(record) == 1 and record[0] and not record[0].strip()):
                    yield start, record
                start = reader.line_num + 1
        except csv.Error as error:
            raise DataError(f"{path}, line {start}: {error}") from error


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _not_utf8(path: Path) -> DataError:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        for line, text in enumerate(iter(lambda: file.readline(2**24), b""), 1):
            try:
                text.decode("utf-8")
            except UnicodeDecodeError as error:
                return DataError(
                    f"{path}, line {line}: byte {text[error.start]:#04x} is not UTF-8; save the file as UTF-8"
                )
    return DataError(f"{path} is not UTF-8; save the file as UTF-8")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f'{path}: Parquet needs pyarrow; pip install "geco-graph[parquet]", or save it as CSV'
        ) from error
    try:
        found = pyarrow.parquet.read_table(path, use_threads=False)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a sound Parquet file: {error}") from error
    nested = [field.name for field in found.schema if pyarrow.types.is_nested(field.type)]
    if nested:
        raise DataError(f"{path}, column {nested[0]}: it holds lists or records; give each value a column of its own")
    frame = found.to_pandas(ignore_metadata=True)
    frame.columns = _names(frame.columns)
    plain = (pd.api.types.is_numeric_dtype, pd.api.types.is_bool_dtype, pd.api.types.is_string_dtype)
    return frame.astype(
        {name: "string" for name in frame if not any(check(frame[name]) for check in plain)}
    )  # dates and such
