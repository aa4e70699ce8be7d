"""What is doubtful in a user's labels: not wrong, but a reason for scores that mean nothing. Told at import, as notes.

Shapes: N rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from geco.data.user.labels import Labels
from geco.data.user.tables import Field

__all__ = ["doubts"]

LOOK = 1000  # rows that show that a column does not tell the label
SURE = 1e-9  # of a correlation beside 1
MANY = 20  # classes that are numbers
ROUGH = 0.01  # of their deviation, to which 32-bit values may be rounded


def doubts(labels: Labels, features: Sequence[Field] = ()) -> list[str]:
    """Return notes on labels that may mean something else, that are all alike or too fine, or that a feature tells.

    Args:
        labels: of the rows.
        features: the columns of the same rows that become features.

    Example:
        >>> import torch
        >>> labels = Labels(torch.tensor([0, 1, 1, 0, 2, 2]), "class", ("a", "b", "c"))
        >>> told = Field("copy", pd.Series([3, 1, 1, 3, 2, 2]), str)
        >>> for note in doubts(labels, [told, Field("age", pd.Series([3, 1, 1, 4, 2, 2]), str)]):
        ...     print(note)
        warning: the feature copy tells the class of every row; if it is not known before, leave it out: --ignore copy
    """
    told = [(field.name, bool(field.missing.any())) for field in features if _tells(field, labels)]
    lines = [
        f"the feature {name} tells the {'class' if labels.target == 'class' else 'label'} of every row"
        f"{' where it is not missing' if gaps else ''}; if it is not known before, leave it out: --ignore {name}"
        for name, gaps in told
    ]
    fine = [_too_fine(field.name, field.parsed) for field in features if field.kind == "number"]
    return [f"warning: {line}" for line in (*_classes(labels), *_values(labels), *filter(None, fine), *lines)]


def _classes(labels: Labels) -> Iterator[str]:
    """Yield a line if -1 is a class beside 0 and others, as many write what they do not know, and if there are many
    numbers, which may be values.
    """
    if labels.target != "class":
        return
    if {"-1", "0"} <= set(labels.names):
        count = labels.counts[labels.names.index("-1")]
        yield f"-1 is taken as a class ({count:,} rows); if it means unknown, leave these cells empty"
    if len(labels.names) > MANY and all(re.fullmatch(r"-?[\d.]+", name) for name in labels.names):
        yield f"{len(labels.names)} different numbers are taken as classes; if they are values, give --task values"


def _values(labels: Labels) -> Iterator[str]:
    """Yield a line for each of several labels or values that is the same in every row, or too fine for 32 bits."""
    if labels.target == "class":
        return
    for name, column in zip(labels.names, labels.y.double().numpy().T, strict=True):
        known = column[~np.isnan(column)]
        if len(known) and (known == known[0]).all():
            yield f"every {name} is {known[0]:g}, there is nothing to learn in it; leave it out: --ignore {name}"
        elif line := _too_fine(name, known):
            yield line


def _too_fine(name: str, column: np.ndarray) -> str:
    """Return a line about values that 32-bit numbers cannot tell apart, empty if there is none."""
    known = column[np.isfinite(column)]
    if len(known) == 0 or (known == known[0]).all():
        return ""
    if np.spacing(np.float32(np.abs(known).max())) <= ROUGH * known.std():
        return ""
    middle = known.mean()
    return f"{name} is about {middle:.7g} and differs little; 32-bit numbers round it: subtract {middle:.4g}"


def _tells(field: Field, labels: Labels) -> bool:
    """Tell whether a column has the same value where the labels have, and another where they have another."""
    rows = np.flatnonzero(labels.known & ~field.missing)
    if labels.target == "class":
        y, some = labels.y.numpy(), rows[:LOOK]
        return len(some) > len(labels.names) and _alike_parts(field, y, some) and _alike_parts(field, y, rows)
    if field.kind != "number":
        return False
    values = labels.y.double().numpy()
    return any(_proportional(field.parsed, column, rows) for column in values.T)


def _alike_parts(field: Field, y: np.ndarray, rows: np.ndarray) -> bool:
    codes, values = pd.factorize(field.values.iloc[rows])
    pairs = np.unique(np.stack([codes, y[rows]]), axis=1).shape[1]
    return bool(pairs == len(values) == len(np.unique(y[rows])) > 1)


def _proportional(x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> bool:
    rows = rows[np.isfinite(x[rows]) & np.isfinite(y[rows])]
    if len(rows) < 3 or np.ptp(x[rows]) == 0 or np.ptp(y[rows]) == 0:
        return False
    return bool(abs(np.corrcoef(x[rows], y[rows])[0, 1]) > 1 - SURE)
