"""A user's own files: the flags that say how to read them, and the schema that says how they were read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any, Literal

from geco.console import table
from geco.data.dataset import Level, Target
from geco.errors import UsageError

__all__ = ["METRICS", "Column", "OwnOptions", "Role", "Schema", "refuse"]

Role = Literal["id", "graph", "source", "target", "weight", "smiles", "feature", "label", "split", "time", "ignored"]
METRICS = {"class": "accuracy", "labels": "ap", "values": "mae"}  # unless the user names another


@dataclass(frozen=True)
class OwnOptions:
    """How to read a user's files, where the usual names of columns are not used or types are guessed wrongly.

    The usual names are found in any case of letters. Cells that are empty or hold a word like NA, NaN, None or null are
    missing.
    """

    id: str | None = None
    """Column of nodes.csv that names each node; usually id, node_id, nodeid, node, index, idx, the first without a
    name, or else the first with unique values that edges.csv refers to.
    """
    label: tuple[str, ...] = ()
    """Columns to predict: one class, or several labels or values; usually label, labels, y, class or target."""
    features: tuple[str, ...] = ()
    """The only columns to use as features. Without it: all that have no other role, but for free text."""
    ignore: tuple[str, ...] = ()
    """Columns to leave out."""
    smiles: str | None = None
    """Column of SMILES strings; usually smiles, smi or canonical_smiles."""
    source: str | None = None
    """Column of edges.csv with the node an edge leaves; usually source, src, from or u."""
    target: str | None = None
    """Column of edges.csv with the node an edge enters; usually target, dst, destination, to or v."""
    weight: str | None = None
    """Column of edges.csv with the weight of an edge; usually weight, edge_weight or w."""
    graph: str | None = None
    """Column that names the graph of each node and edge, where files hold many graphs; usually graph, graph_id or
    graphid.
    """
    split: str | None = None
    """Column that says train, valid or test (or 0, 1, 2); usually split, subset, set or partition."""
    time: str | None = None
    """Column of dates or numbers to split by: the oldest are for training, the newest for test."""
    task: Literal["class", "labels", "values", "link"] | None = None
    """What the label is: one class of several, yes-or-no labels, or real values; link needs none and asks which nodes
    are linked.
    """
    level: Literal["node", "graph"] | None = None
    """What has a label: nodes or graphs."""
    directed: bool = False
    """Keep edges as they are. Without it every edge runs both ways, and repeated edges count once."""
    split_kind: Literal["random", "stratified", "scaffold"] = "random"
    """How to split where the files do not say."""
    folds: int = 0
    """Splits for cross-validation, made in place of one; `geco train NAME --data.split i` tests on fold i."""
    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)
    """Parts of training, validation and test where the files do not say."""
    seed: int = 0
    """Of the split."""
    metric: str | None = None
    """Name of the score. Without it: accuracy, ap, mae or auroc for class, labels, values or links."""


def refuse(options: OwnOptions, names: tuple[str, ...], form: str) -> None:
    """Refuse flags that mean nothing for a form of file."""
    empty = OwnOptions()
    given = [name for name in names if getattr(options, name) != getattr(empty, name)]
    if given:
        flag = given[0].replace("_", "-")
        raise UsageError(f"--{flag} has no meaning for {form}; leave it out")


@dataclass(frozen=True)
class Column:
    """What was understood of one column of a table, or of one array.

    Args:
        file: nodes, edges, graphs or molecules; arrays for array files.
        name: of the column.
        role: what it is used for.
        type: number, category, date, text, empty or the shape of an array.
        example: its first value.
        missing: how many values are missing.
        categories: the values a category has, in the order of its one-hot columns; the empty one, the last, of missing
            values.
        fill: what stands in for a missing number or date, the median; None where nothing could be missing.
        marked: whether a column of 0 and 1 follows that says where values are missing.
        format: of a date, see `geco.data.user.dates`.
        start: the first date, the number 0, in days since 1970.
        note: why it was left out.
    """

    file: str
    name: str
    role: Role
    type: str
    example: str = ""
    missing: int = 0
    categories: tuple[str, ...] = ()
    fill: float | None = None
    marked: bool = False
    format: str = ""
    start: float = 0.0
    note: str = ""

    @property
    def done(self) -> str:
        """What was done to its values; nothing where they are used as they are."""
        if self.note:
            return f"left out: {self.note}"
        parts = [f"date, as days since {_day(self.start)}"] if self.type == "date" else []
        if self.missing and self.fill is not None:
            middle = _day(self.start + self.fill) if self.type == "date" else f"{self.fill:g}"
            marked = ", marked in a column of its own" if self.marked else ""
            parts.append(f"{self.missing:,} missing set to {middle}, the median{marked}")
        if "" in self.categories:
            parts.append(f"{self.missing:,} missing are a value of their own")
        return "; ".join(parts)


@dataclass(frozen=True)
class Schema:
    """What was understood of a user's files; it reads new files of the same form in the same way.

    Args:
        form: tables (nodes and edges), molecules (SMILES) or arrays.
        level: what has a label.
        target: what the label is.
        metric: name of the score.
        names: of the classes, or of the label columns.
        counts: members of each class, "yes" of each label, or known values.
        directed: whether edges were kept as they are.
        columns: every column with its role.
        notes: what else a user should see.

    Example:
        >>> columns = (Column("nodes", "id", "id", "text", "a"), Column("nodes", "kind", "label", "category", "cat"))
        >>> target = ("class", "accuracy", ("cat", "dog"))
        >>> schema = Schema("tables", "node", *target, (3, 2), False, columns, ("random split",))
        >>> print(schema.summary())
        column      role   type      example  missing
        ----------  -----  --------  -------  -------
        nodes id       id      text        a        0
        nodes kind  label  category      cat        0
        predicted: the class of each node, scored by accuracy
        classes: cat 3, dog 2
        random split
        >>> Schema.from_json(schema.to_json()) == schema
        True
    """

    form: Literal["tables", "molecules", "arrays"]
    level: Level
    target: Target
    metric: str
    names: tuple[str, ...]
    counts: tuple[int, ...]
    directed: bool
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    def select(self, file: str, role: Role) -> list[Column]:
        """Return the columns of a file that have a role."""
        return [column for column in self.columns if column.file == file and column.role == role]

    def summary(self, most: int = 30) -> str:
        """Return it as text; of many columns of the same role and type only the first and the number."""
        kind, each = ("links" if self.level == "link" else self.target), f"of each {self.level}"
        what, known = {
            "class": (f"the class {each}", "classes"),
            "labels": (f"yes-or-no labels {each}", "labels (how many yes)"),
            "values": (f"values {each}", "values (how many known)"),
            "links": ("whether two nodes are linked", "known"),
        }[kind]
        pairs = [f"{name} {count:,}" for name, count in zip(self.names, self.counts, strict=True)]
        lines = [
            table([["column", "role", "type", "example", "missing"], *self._rows(most)]),
            f"predicted: {what}, scored by {self.metric}",
            f"{known}: {', '.join(pairs[:most])}{f' and {len(pairs) - most} more' if len(pairs) > most else ''}",
        ]
        return "\n".join([*lines, *self.notes, *self._done(most)])

    def _done(self, most: int) -> list[str]:
        """Return what was done to which columns as lines of a table, the first of many."""
        done = [(f"{column.file} {column.name}", column.done) for column in self.columns if column.done]
        width = max((len(name) for name, _ in done[:most]), default=0)
        more = [f"and {len(done) - most} more columns"] if len(done) > most else []
        lines = [f"  {name:{width}}  {what}" for name, what in done[:most]]
        return ["what was done to the columns:", *lines, *more] if done else []

    def to_json(self) -> dict[str, Any]:
        """Return plain types."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Schema:
        """Undo `to_json`."""
        columns = tuple(Column(**_tuples(column)) for column in found["columns"])
        return cls(**{**_tuples(found), "columns": columns})

    def _rows(self, most: int) -> list[list[str]]:
        shown: list[list[str]] = []
        for column in self.columns:
            kind = (
                f"{column.type} ({len(column.categories)} values)"
                if column.categories and column.role == "feature"
                else column.type
            )
            row = [f"{column.file} {column.name}", column.role, kind, column.example[:24], f"{column.missing:,}"]
            alike = [number for number, other in enumerate(shown) if other[1:3] == row[1:3]]
            if len(self.columns) <= most or len(alike) < 3:
                shown.append(row)
            else:  # the last of three rows stands for all further ones
                last = shown[alike[-1]]
                count = int(last[0].split()[1]) + 1 if last[0].startswith("and ") else 2
                shown[alike[-1]] = [
                    f"and {count} more",
                    *row[1:3],
                    "",
                    f"{int(last[4].replace(',', '')) + column.missing:,}",
                ]
        return shown


def _day(number: float) -> str:
    """Return a date from its days since 1970."""
    return str(date(1970, 1, 1) + timedelta(days=math.floor(number)))


def _tuples(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
