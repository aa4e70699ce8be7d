"""Dates in a user's tables as numbers: days since the first one.

A column is read in one format, found from all of its values. Where both month/day and day/month fit every value, it is
month/day, as pandas has it, and that is said.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

__all__ = ["day_numbers", "find_format", "turned"]

ISO = "ISO8601"  # 2024-01-31, also with a time after a space or T, and a time zone
DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
TIMES = ("", " %H:%M", " %H:%M:%S")
LIKE_A_DATE = r"\s*(?:\d{4}-\d{2}(?:-\d{2}.*)?|\d{4}/\d{1,2}/\d{1,2}.*|\d{1,2}[./]\d{1,2}[./]\d{4}.*)"
DAY = 86_400e6  # microseconds
LOOK = 100  # values that must look like dates before all are read as such


def find_format(texts: pd.Series) -> str:
    """Return the format that most values of a column are written in, or nothing if they are no dates.

    Args:
        texts: without missing values.

    Example:
        >>> find_format(pd.Series(["31.12.2024", "1.2.2025"])), find_format(pd.Series(["12-b", "red"]))
        ('%d.%m.%Y', '')
    """
    if not pd.api.types.is_string_dtype(texts) or not texts.head(LOOK).str.fullmatch(LIKE_A_DATE).mean() > 0.5:
        return ""
    counts = {}
    for chosen in (ISO, *(day + time for day, time in product(DAYS, TIMES))):
        counts[chosen] = int(np.isfinite(day_numbers(texts, chosen)).sum())
        if counts[chosen] == len(texts):
            return chosen
    best = max(counts, key=lambda key: counts[key])
    return best if 2 * counts[best] > len(texts) else ""


def turned(texts: pd.Series, written: str) -> bool:
    """Tell whether dates that are read as month/day would all do as day/month too, and be others.

    Args:
        texts: without missing values.
        written: their format, from `find_format`.

    Example:
        >>> turned(pd.Series(["1/2/2024"]), "%m/%d/%Y"), turned(pd.Series(["1/31/2024"]), "%m/%d/%Y")
        (True, False)
    """
    if not written.startswith("%m/%d"):
        return False
    other = day_numbers(texts, written.replace("%m/%d", "%d/%m"))
    return bool(np.isfinite(other).all() and (other != day_numbers(texts, written)).any())


def day_numbers(texts: pd.Series, written: str) -> np.ndarray:
    """Return days since 1970 with their fraction as float64, NaN where a value is missing or not in the format.

    Args:
        texts: ``(rows,)``.
        written: the format, from `find_format`.

    Example:
        >>> day_numbers(pd.Series(["1970-01-02 12:00", None]), "ISO8601")
        array([1.5, nan])
    """
    when = pd.to_datetime(texts.str.strip(), format=written, errors="coerce", utc=True)
    found = np.asarray(when.dt.tz_localize(None), "datetime64[us]")  # years before 1678 do not fit into nanoseconds
    return np.where(np.isnat(found), np.nan, found.astype(np.int64) / DAY)
