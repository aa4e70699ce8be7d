"""The file that ``geco predict`` writes, in the format its name says."""

from __future__ import annotations

import gzip
import io
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from geco.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from geco.data.dataset import Info

__all__ = ["as_bytes", "check_output", "link_table", "tabulate"]

SUFFIXES = (".csv", ".csv.gz", ".parquet")


def check_output(path: Path) -> None:
    """Refuse a file that could not be written, before the work and not after it."""
    if not path.name.endswith(SUFFIXES):
        raise UsageError(f"cannot write {path}: its name must end in one of {', '.join(SUFFIXES)}")
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise UsageError(f'{path}: Parquet needs pyarrow; pip install "geco-graph[parquet]", or write .csv')
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder, or its folder does not exist")


def tabulate(info: Info, ids: list[str], failed: dict[int, str], found: np.ndarray) -> pd.DataFrame:
    """Return a row for each id: what is predicted, and what is wrong with those that could not be read, if any.

    Args:
        info: what is predicted.
        ids: of all rows.
        failed: what is wrong with a row, by its number.
        found: probabilities or values of the others, in order ``(rows, T)``.
    """
    import numpy as np
    import pandas as pd

    names = info.names or tuple(str(number) for number in range(found.shape[1]))
    kept = [row for row in range(len(ids)) if row not in failed]
    columns = pd.DataFrame(found, kept, [name if info.target == "values" else f"p({name})" for name in names])
    if info.target == "class":
        columns.insert(0, "prediction", np.asarray(names, object)[found.argmax(1)])
    table = columns.reindex(range(len(ids)))
    table.insert(0, "id", ids)
    return table.assign(problem=pd.Series(failed, dtype="object")) if failed else table


def link_table(names: list[tuple[str, str]], found: np.ndarray) -> pd.DataFrame:
    """Return a row for each pair of nodes, with the probability of a link."""
    import pandas as pd

    return pd.DataFrame(names, columns=["source", "target"], dtype=object).assign(**{"p(link)": found})


def as_bytes(table: pd.DataFrame, path: Path) -> bytes:
    """Return the contents of a file; numbers of a CSV file have six digits, rows that failed none."""
    file = io.BytesIO()
    if path.suffix == ".parquet":
        table.to_parquet(file, index=False)
        return file.getvalue()
    text: bytes = table.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
    return gzip.compress(text, mtime=0) if path.suffix == ".gz" else text
