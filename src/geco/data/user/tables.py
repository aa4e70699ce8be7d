"""A user's table, CSV or Parquet: read fast, and when something in it is wrong, the line and column are found and
named.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from geco.data.safe.readers import read_csv
from geco.data.user.dialect import Dialect, find_dialect, legacy
from geco.errors import DataError, DataErrors

__all__ = ["ABSENT", "SUFFIXES", "Field", "Table", "read_table"]

logger = logging.getLogger(__name__)

SUFFIXES = (".csv", ".csv.gz", ".parquet")
UNNAMED = "unnamed"  # a column without a name, as pandas writes its index
ABSENT = ("", "-", "--", "?", ".", "n.a.", "n.d.", "unknown", "missing", "not available")  # among numbers and dates
EACH = 5  # cells of a column with the same mistake that are named
COMMA = r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?:[eE][+-]?\d+)?"  # 1,5 or 1.234,5
THOUSANDS = r"[+-]?\d{1,3}(?:\.\d{3})+"  # 1.234, where others of the column have decimal commas
GROUPED = r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?"  # 1,234.5 where commas part columns, and in doubt elsewhere


@dataclass(frozen=True)
class Field:
    """One column: its values, and where each of them stands.

    Args:
        name: of the column.
        values: numbers or text; missing ones are NA.
        where: the place of a row's value, for people: ``nodes.csv, line 17, column age``.
        decimal_commas: whether numbers may be written as 1,5.

    Example:
        >>> field = Field("age", pd.Series(["31", "x", None]), lambda row: f"line {row + 2}")
        >>> field.kind, field.missing.tolist()
        ('text', [False, False, True])
        >>> field.numbers()
        Traceback (most recent call last):
        geco.errors.DataError: line 3: 'x' is not a number; fix it
    """

    name: str
    values: pd.Series
    where: Callable[[int], str]
    decimal_commas: bool = False

    def fail(self, rows: np.ndarray, what: str) -> DataError:
        """Return an error about some rows, the first `EACH` by their places; ``{}`` in the text stands for a value."""
        found = np.flatnonzero(rows)
        shown = found[:EACH].tolist()
        values = ["" if self.missing[row] else str(self.values.iloc[row]) for row in shown]
        pairs = zip(shown, values, strict=True)
        lines = [f"{self.where(row)}: {what.replace('{}', repr(value), 1)}" for row, value in pairs]
        if len(found) > EACH:
            lines[-1] += f" ({len(found) - EACH:,} more like it)"
        return DataErrors(lines) if len(lines) > 1 else DataError(lines[0])

    def blank(self, words: Sequence[str]) -> Field:
        """Return the field with some words, in any case and with spaces around them, taken as missing."""
        if not pd.api.types.is_string_dtype(self.values):
            return self
        gone = self.values.str.strip().str.lower().isin(words)
        return replace(self, values=self.values.mask(gone)) if gone.any() else self

    @cached_property
    def missing(self) -> np.ndarray:
        """Which values are missing, ``(rows,)``."""
        return np.asarray(self.values.isna(), bool)

    @cached_property
    def parsed(self) -> np.ndarray:
        """Values as float64, NaN where they are missing or not numbers."""
        values = self.values
        if pd.api.types.is_string_dtype(values):
            values = _with_points(values) if self.decimal_commas else _without_commas(values)
        return np.asarray(pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan))

    @cached_property
    def not_numbers(self) -> np.ndarray:
        """Which values are there but are not numbers, ``(rows,)``."""
        return np.asarray(np.isnan(self.parsed) & ~self.missing)

    @property
    def unclear(self) -> bool:
        """Whether each comma of a column of numbers may be a decimal one, as it is read, or part thousands."""
        if not self.decimal_commas or not pd.api.types.is_string_dtype(self.values):
            return False
        commas = self.values[self.values.str.contains(",", regex=False).fillna(False).astype(bool)]
        return len(commas) > 0 and bool(commas.str.strip().str.fullmatch(GROUPED).all())

    @property
    def kind(self) -> Literal["number", "text", "empty"]:
        """What most of the values are; a few that are no numbers are mistakes among numbers."""
        known = int((~self.missing).sum())
        right = int((~np.isnan(self.parsed)).sum())
        return "empty" if known == 0 else "number" if 2 * right > known else "text"

    def numbers(self, advice: str = "fix it") -> np.ndarray:
        """Return all values as float64, NaN where missing; what is not a finite number is refused."""
        if self.not_numbers.any():
            raise self.fail(self.not_numbers, f"{{}} is not a number; {advice}")
        if np.isinf(self.parsed).any():
            raise self.fail(np.isinf(self.parsed), "{} is infinite; a finite number is wanted")
        if self.unclear:
            logger.warning(
                f"warning: {self.where(0)}: commas are read as decimal ones, 1,234 is 1.234, though each has three "
                "digits after it; if they part thousands, leave them out"
            )
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
        dialect: how it is written, where it is CSV.
    """

    path: Path
    frame: pd.DataFrame
    written: tuple[str, ...] = ()
    dialect: Dialect = field(default_factory=Dialect)

    def field(self, name: str) -> Field:
        """Return one column."""
        where = _Places(self.path, self.dialect, name)
        return Field(name, self.frame[name], where, self.dialect.decimal_commas)

    def as_text(self, names: Sequence[str]) -> Table:
        """Return the table with some columns as they are written: ``007`` is not 7."""
        names = [name for name in names if not pd.api.types.is_string_dtype(self.frame[name])]
        if not names or self.path.suffix == ".parquet":
            return self
        written = dict(zip(self.frame.columns, self.written, strict=True))
        found = _read(self.path, self.dialect, str, [written[name] for name in names])
        return replace(self, frame=self.frame.assign(**{name: found[written[name]] for name in names}))


class _Places:
    """File, line and column of rows; rows in order are found in one look at the file."""

    def __init__(self, path: Path, dialect: Dialect, column: str) -> None:
        self.path, self.dialect, self.column = path, dialect, column
        self.at = -1  # the record that was read last, the heading being 0
        self.records: Iterator[tuple[int, list[str]]] = iter(())

    def __call__(self, row: int) -> str:
        line = None if self.path.suffix == ".parquet" else self._line(row + 1)
        return f"{self.path}, {f'line {line}' if line else f'row {row + 1}'}, column {self.column}"

    def _line(self, record: int) -> int | None:
        """Return the line at which a record starts."""
        if record <= self.at or self.at < 0:
            self.at, self.records = -1, self.dialect.records(self.path)
        skip, self.at = record - self.at - 1, record
        return next((line for line, _ in islice(self.records, skip, None)), None)


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
    dialect = find_dialect(path)
    _check_header(path, dialect)
    try:
        frame = _read(path, dialect)
    except _NotUTF8:
        dialect = replace(dialect, encoding=legacy(path))
        frame = _read(path, dialect)
    written = tuple(frame.columns)
    frame.columns = _names(written)
    mixed = [name for name in frame if frame[name].dtype == object]  # values of several types
    truths = [name for name in mixed if pd.api.types.infer_dtype(frame[name]) == "boolean"]  # some are missing
    frame = frame.astype(dict.fromkeys(truths, np.float64))
    return Table(path, frame, written, dialect).as_text([name for name in mixed if name not in truths])


class _NotUTF8(DataError):
    """A file that was read as UTF-8 holds something else."""


def _read(path: Path, dialect: Dialect, dtype: type | None = None, columns: list[str] | None = None) -> pd.DataFrame:
    try:
        return read_csv(path, 0, dtype, columns, dialect.separator, dialect.encoding)
    except DataError as error:
        if isinstance(error.__cause__, UnicodeDecodeError) and dialect.encoding == "utf-8-sig":
            raise _NotUTF8(str(error)) from error
        if isinstance(error.__cause__, pd.errors.ParserError):
            # An open quote runs to the end of the file.
            start = max((line for line, _ in dialect.records(path)), default=1)
            raise DataError(
                f"{path}, line {start}: a quotation mark is not closed; close it, or double it within text"
            ) from error
        raise


def _names(cells: Sequence[object]) -> list[str]:
    """Return the names of columns; one without a name gets its number, but for the first."""
    stripped = [str(cell).strip() for cell in cells]
    blank = [not name or name.startswith(("Unnamed: ", "__index_level_")) for name in stripped]
    return [(f"{UNNAMED} {i + 1}" if i else UNNAMED) if blank[i] else name for i, name in enumerate(stripped)]


def _check_header(path: Path, dialect: Dialect) -> None:
    _, cells = next(dialect.records(path), (1, []))
    header = _names(cells)
    if not cells or any(mark < " " and mark not in "\t\r\n" for mark in "".join(cells)):
        raise DataError(
            f"{path}, line 1: the names of columns are wanted, got {''.join(cells)[:40]!r}; is it a table, saved as "
            "CSV in UTF-8?"
        )
    if len(set(header)) < len(header):
        twice = Counter(header).most_common(1)[0][0]
        raise DataError(f"{path}, line 1: two columns are called {twice!r}; rename one")
    if all(_is_number(name) for name in header):
        raise DataError(
            f"{path}, line 1: {', '.join(header[:3])} are no names of columns; put a line with the names above it"
        )


def _with_points(values: pd.Series) -> pd.Series:
    """Return text with 1,5 and 1.234,5 as 1.5 and 1234.5, and 1.234 as 1234 where others have decimal commas."""
    texts = values.str.strip()
    commas = texts.str.fullmatch(COMMA, na=False)
    if not commas.any():
        return values
    texts = texts.mask(commas | texts.str.fullmatch(THOUSANDS, na=False), texts.str.replace(".", "", regex=False))
    return texts.mask(commas, texts.str.replace(",", ".", regex=False))


def _without_commas(values: pd.Series) -> pd.Series:
    """Return text with 1,234.5 as 1234.5."""
    if not values.str.contains(",", regex=False).any():
        return values
    texts = values.str.strip()
    return values.mask(texts.str.fullmatch(GROUPED, na=False), texts.str.replace(",", "", regex=False))


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
        raise DataError(f"{path} is not a valid Parquet file: {error}") from error
    nested = [field.name for field in found.schema if pyarrow.types.is_nested(field.type)]
    if nested:
        raise DataError(f"{path}, column {nested[0]}: it holds lists or records; give each value a column of its own")
    frame = found.to_pandas(ignore_metadata=True)
    frame.columns = _names(frame.columns)
    plain = (pd.api.types.is_numeric_dtype, pd.api.types.is_bool_dtype, pd.api.types.is_string_dtype)
    return frame.astype(
        {name: "string" for name in frame if not any(check(frame[name]) for check in plain)}
    )  # dates and such
