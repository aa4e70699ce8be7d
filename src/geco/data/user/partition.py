"""A column of dates or numbers that says what is old and what is new, for splits by time (``--time COLUMN``)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from geco.data.user.tables import Field

__all__ = ["read_times"]

HOW = "write numbers, or dates as 2026-11-19 or 2026-11-19 08:30"


def read_times(field: Field) -> np.ndarray:
    """Return the time of each row, ``(rows,)`` float64: numbers as they are, dates in seconds since 1970.

    Example:
        >>> read_times(Field("day", pd.Series(["1970-01-02", "1970-01-01 00:01"]), str)).tolist()
        [86400.0, 60.0]
    """
    field.complete("the time")
    if field.kind == "number":
        return field.numbers(HOW)
    dates = pd.to_datetime(field.texts(), errors="coerce", format="ISO8601", utc=True)
    if dates.isna().any():
        raise field.fail(dates.isna().to_numpy(), f"{{}} is no time; {HOW}")
    seconds: np.ndarray = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy(np.float64)
    return seconds
