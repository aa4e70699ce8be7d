"""How a CSV file is written: its encoding and what separates its columns, found from its bytes.

Encodings are UTF-8, with or without a byte order mark, UTF-16 with one, and Windows-1252 (which contains the letters of
Latin-1) where a file is not UTF-8. Columns are separated by commas, semicolons or tabs; where it is not commas, a comma
within a number is a decimal comma.
"""

from __future__ import annotations

import codecs
import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from geco.errors import DataError

__all__ = ["Dialect", "find_dialect", "legacy"]

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
LOOK = 20  # records that show how many columns there are
LONGEST = 2**24  # bytes of a line looked at


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Args:
        encoding: Python's name of it.
        separator: between columns.
    """

    encoding: str = "utf-8-sig"
    separator: str = ","

    @property
    def decimal_commas(self) -> bool:
        """Whether numbers may be written as 1,5."""
        return self.separator != ","

    @property
    def words(self) -> str:
        """What to tell of it; nothing of the usual one."""
        marks = [f"columns separated by {SEPARATORS[self.separator]}"] if self.separator != "," else []
        return ", ".join([*marks, *([f"text in {self.encoding}"] if self.encoding != "utf-8-sig" else [])])

    def open(self, path: Path) -> IO[str]:
        """Open a plain or gzipped file; in places that are not text stands a replacement character."""
        opened = gzip.open if path.suffix == ".gz" else open
        return opened(path, "rt", encoding=self.encoding, newline="", errors="replace")

    def records(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        """Yield the line each record starts at, counted from 1 as editors do, and its cells; blank lines are passed
        over.
        """
        with self.open(path) as file:
            reader = csv.reader(file, delimiter=self.separator)
            start = 1
            try:
                for record in reader:
                    if record and not (len(record) == 1 and record[0] and not record[0].strip()):
                        yield start, record
                    start = reader.line_num + 1
            except csv.Error as error:
                raise DataError(f"{path}, line {start}: {error}") from error


def find_dialect(path: Path) -> Dialect:
    r"""Return how a CSV file is written; whether it is UTF-8 throughout is seen when it is read, see `legacy`.

    The separator is the one that gives the first records the same number of cells, the largest where there are several.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "nodes.csv"
        >>> _ = path.write_text("id;age\na;1,5\n")
        >>> find_dialect(path)
        Dialect(encoding='utf-8-sig', separator=';')
    """
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        start = file.read(2)
    encoding = "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    best, most = Dialect(encoding), (False, 0)
    for separator in SEPARATORS:
        dialect = Dialect(encoding, separator)
        sizes = _sizes(path, dialect)
        fit = (len(set(sizes)) == 1 and sizes[0] > 1, sizes[0] if sizes else 0)
        if fit > most:
            best, most = dialect, fit
    return best


def _sizes(path: Path, dialect: Dialect) -> list[int]:
    try:
        return [len(cells) for _, cells in islice(dialect.records(path), LOOK)]
    except DataError:  # a quotation mark that is not closed; reported where the file is read
        return []


def legacy(path: Path) -> str:
    """Return the encoding of a file that is not UTF-8, or say where it is neither that nor Windows-1252.

    A file with other letters in valid UTF-8 is UTF-8 with damaged bytes.
    """
    first, letters = "", False
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        for line, text in enumerate(iter(lambda: file.readline(LONGEST), b""), 1):
            letters = letters or not text.decode("utf-8", "ignore").isascii()
            for encoding in ("utf-8", "cp1252"):
                try:
                    text.decode(encoding)
                    break
                except UnicodeDecodeError as error:
                    first = first or f"{path}, line {line}: byte {text[error.start]:#04x} is not UTF-8"
                    letters = letters or encoding == "cp1252"
    if letters or not first:
        raise DataError(f"{first or path}; save the file as UTF-8")
    return "cp1252"
