"""Which column of nodes.csv edges refer to, and by which columns, where their names do not say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from geco.data.user.columns import Sheet
from geco.data.user.schema import Role

__all__ = ["connect", "plain"]

LOOK = 100  # edges that show what they refer to
MOST = 0.9  # of their values must be ids where no name says so; the others are mistakes, reported later
ENDS: tuple[Role, ...] = ("source", "target")


def connect(nodes: Sheet, edges: Sheet, search: bool = True) -> tuple[Sheet, Sheet]:
    """Return both tables with columns for the ids and the ends of edges, as far as such can be found.

    The id is the column called so if edges refer to it, else the first column with unique values that they do refer
    to. Ends without a usual name are the first columns of edges.csv that refer to it.

    Args:
        nodes: with roles by names and flags.
        edges: the same.
        search: for an id of another name; not where a flag names it.
    """
    given = [end for role in ENDS for end in edges.names(role)]
    missing = [role for role in ENDS if not edges.names(role)]
    for name in _candidates(nodes, search):
        ids = plain(nodes.table.field(name).texts())
        free = [end for end in edges.names("feature") if _referring(edges, end, ids) > MOST] if missing else []
        found = [_referring(edges, end, ids) for end in given]
        named = nodes.roles[name] == "id"
        if len(free) >= len(missing) and all(share > (0 if named else MOST) for share in found):
            others: dict[str, Role] = {other: "ignored" for other in nodes.names("id")}
            ends = dict(zip(free, missing, strict=False))
            return nodes.changed(others | {name: "id"}), edges.changed(ends)
    return nodes, edges


def plain(texts: pd.Series) -> pd.Series:
    """Return ids as text in which 7 and 7.0 are the same.

    Example:
        >>> plain(pd.Series(["7.0", "a.0", "007"])).tolist()
        ['7', 'a.0', '007']
    """
    return texts.str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True)


def _candidates(nodes: Sheet, search: bool) -> Iterator[str]:
    """Yield the columns that may be the id: the one called so, then those whose values are there and differ."""
    yield from nodes.names("id")
    frame, graph = nodes.table.frame, nodes.names("graph")
    for name in nodes.names("feature") if search else []:
        if not frame[name].isna().any() and not frame.duplicated([*graph, name]).any():
            yield name


def _referring(edges: Sheet, name: str, ids: pd.Series) -> float:
    """Return how many of the first values of a column are ids, as a share."""
    field = edges.table.field(name)
    found = plain(replace(field, values=field.values.head(LOOK)).texts().dropna()).unique()
    return float(ids[ids.isin(found)].nunique() / max(1, len(found)))
