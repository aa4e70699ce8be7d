"""Features from the columns of a user's tables, as they are: numbers, dates and categories, with values missing or not.

* Numbers stay as they are; a missing one is the median of the column, and a column of 0 and 1 after it marks where.
* Dates are days since the first one, else as numbers.
* Text with few different values is one column of 0 and 1 for each; missing is a value of its own.
* Other text, and columns without any value, are left out, with a note, unless a flag asks for them.

What was done is in the `Column` of the schema, so that new files get the same.

Shapes: F features.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pandas as pd

from geco.console import progress
from geco.data.user.columns import Sheet, describe
from geco.data.user.dates import day_numbers, find_format, turned
from geco.data.user.number_doubts import number_doubts
from geco.data.user.problems import Problems
from geco.data.user.schema import Column, Schema
from geco.data.user.tables import ABSENT, Field
from geco.errors import DataError

__all__ = ["MOST_CATEGORIES", "features", "weights"]

logger = logging.getLogger(__name__)

MOST_CATEGORIES = 50
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"  # no part of text: a damaged file
FEW = 10  # different values of text that make a category however few rows there are
Made = tuple[np.ndarray, Column]


def features(
    sheet: Sheet, file: str, schema: Schema | None, asked: Collection[str] = ()
) -> tuple[np.ndarray, list[Column]]:
    """Return features ``(rows, F)`` in float32, and what was done to which column.

    Args:
        sheet: whose columns.
        file: name of the table in the schema.
        schema: how the columns were read before: new files get the same columns of the same categories, in the same
            order.
        asked: columns that a flag names: they are refused where others would be left out.
    """
    known = {column.name: column for column in schema.select(file, "feature")} if schema else {}
    problems, parts, found = Problems(), [], []
    names = list(known) or sheet.names("feature")
    for name in progress(names, f"columns of {sheet.table.path.name}", unit="column"):
        field = sheet.table.field(name)
        made = problems.attempt(_again, field, known[name]) if known else problems.attempt(_first, field, file, asked)
        if made is not None:
            parts.append(made[0])
            found.append(made[1])
    problems.stop()
    for line in () if known else number_doubts(sheet.table, names):
        logger.warning(line)
    return np.concatenate(parts, 1) if parts else np.empty((len(sheet.table.frame), 0), np.float32), found


def weights(field: Field, known: Column | None) -> tuple[np.ndarray, Column]:
    """Return weights of edges ``(M,)`` in float32, and what was done; a missing one is the median of the others.

    Args:
        field: the column.
        known: how it was read before.
    """
    field = field.blank(ABSENT)
    if field.kind == "empty" and known is None:
        raise DataError(f"{field.where(0)}: no edge has a weight; leave the column out with --ignore {field.name}")
    column = known or describe("edges", field, "weight", "number")
    values = _values(field, column)
    part, column = _fill(field, values, known or replace(column, fill=_median(values)))
    return part[:, 0], column


def _first(field: Field, file: str, asked: Collection[str]) -> Made:
    """Read a column of which nothing is known."""
    plain = field.blank(ABSENT)
    column = describe(file, plain, "feature", "number")
    written = find_format(plain.values.dropna()) if plain.kind == "text" else ""
    if written:
        if turned(plain.values.dropna(), written):
            logger.warning(
                f"warning: {field.where(0)}: dates are read as month/day, day/month would do for all of them too; if "
                "that is meant, write 2024-01-31"
            )
        start = float(np.nanmin(day_numbers(plain.texts(), written)))
        column = replace(column, type="date", format=written, start=start)
    elif plain.kind != "number":
        return _category(field, describe(file, field, "feature", "category"), asked)
    values = _values(plain, column)
    return _fill(plain, values, replace(column, fill=_median(values), marked=bool(plain.missing.any())))


def _again(field: Field, column: Column) -> Made:
    """Read a column as one was read before."""
    if column.type == "category":
        return _one_hot(field, column)
    plain = field.blank(ABSENT)
    return _fill(plain, _values(plain, column), column)


def _values(field: Field, column: Column) -> np.ndarray:
    """Return numbers, or days since the column's first date, as float64 ``(rows,)``, NaN where missing."""
    whole = f", or leave the column out with --ignore {field.name}" if column.fill is None else ""  # not of new files
    advice = f"fix it or leave the cell empty{whole}"
    if column.type != "date":
        return field.numbers(advice)
    days = day_numbers(field.texts(), column.format)
    wrong = np.isnan(days) & ~field.missing
    if wrong.any():
        raise field.fail(wrong, f"{{}} is not a date like {column.example}; {advice}")
    return days - column.start


def _median(values: np.ndarray) -> float:
    return float(np.float32(np.nanmedian(values)))


def _fill(field: Field, values: np.ndarray, column: Column) -> Made:
    """Return values ``(rows, 1 or 2)`` in float32 with missing ones filled, and where they were if they are marked."""
    gone = field.missing
    if column.fill is None:  # of a data set imported when nothing could be missing
        field.complete("the value", "; or import the data set again, and missing values are filled")
        return values.astype(np.float32)[:, None], column
    if gone.any() and not column.missing:
        logger.warning(
            f"warning: {field.where(int(gone.argmax()))}: {int(gone.sum()):,} values are missing, none was when the "
            f"data set was imported; they are set to {column.fill:g}, the median"
        )
    parts = [np.where(gone, column.fill, values) if gone.any() else values, *([gone] if column.marked else [])]
    return np.stack([part.astype(np.float32) for part in parts], 1), column


def _category(field: Field, column: Column, asked: Collection[str]) -> Made:
    """Find the values of a category, or leave free text out."""
    field = field.blank(("",))
    damaged = field.texts().str.contains(CONTROL, na=False).to_numpy(bool)
    if damaged.any():
        raise field.fail(
            damaged, f"{{}} holds a control character; fix it, or leave the column out: --ignore {field.name}"
        )
    values = sorted(field.texts().dropna().unique())
    known = int((~field.missing).sum())
    many = len(values) > MOST_CATEGORIES
    if not values or many or 2 * len(values) > max(known, 2 * FEW):
        why = f"text with {len(values):,} different values" if values else "no values"
        if field.name in asked:
            raise DataError(f"{field.where(0)}: {why} makes no feature; leave it out of --features, or make it numbers")
        kind = "text" if values else "empty"
        return np.empty((len(field.values), 0), np.float32), replace(column, role="ignored", type=kind, note=why)
    absent = ("",) if field.missing.any() else ()  # the value of missing ones, the last
    return _one_hot(field, replace(column, categories=(*values, *absent)))


def _one_hot(field: Field, column: Column) -> Made:
    """Return ``(rows, values)`` of 0 and 1; all 0 where a value is missing and none was before."""
    field, values = field.blank(("",)), column.categories
    codes = pd.Index(values).get_indexer(field.texts().fillna(""))
    wrong = (codes < 0) & ~field.missing
    if wrong.any():
        known = ", ".join(values[:8])
        raise field.fail(wrong, f"{{}} is none of the values known ({known}); leave the cell empty to count it as none")
    if (codes < 0).any():
        logger.warning(
            f"warning: {field.where(int((codes < 0).argmax()))}: {int((codes < 0).sum()):,} values are missing, none "
            "was when the data set was imported; they count as none of its values"
        )
    return np.eye(len(values) + 1, len(values), dtype=np.float32)[codes], column  # -1 is the last row, of zeros
