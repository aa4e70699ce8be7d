"""The columns of a user's tables: which is what.

A column's role is found by its usual name, in any case and with any marks between words, unless a flag names it: see
`USUAL`. The other columns are features, see `geco.data.user.features`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geco.data.user.schema import Column, OwnOptions, Role, Schema
from geco.data.user.tables import UNNAMED, Field, Table
from geco.errors import DataError

__all__ = ["USUAL", "Sheet", "assign", "assign_known", "check_flags", "describe", "is_usual"]

USUAL: dict[Role, tuple[str, ...]] = {  # the first ids are preferred
    "id": (
        "id",
        "nodeid",
        "node",
        "molid",
        "moleculeid",
        "compoundid",
        "index",
        "idx",
        UNNAMED,
    ),
    "graph": ("graph", "graphid"),
    "label": ("label", "labels", "y", "class", "target"),
    "split": ("split", "subset", "set", "partition"),
    "time": (),  # only by flag: most tables with a date are not split by it
    "source": ("source", "src", "from", "u"),
    "target": ("target", "dst", "destination", "to", "v"),
    "weight": ("weight", "edgeweight", "w"),
    "smiles": ("smiles", "smi", "canonicalsmiles"),
}
TEXT: tuple[Role, ...] = ("id", "graph", "label", "split", "time", "source", "target", "smiles")  # kept as written


@dataclass(frozen=True)
class Sheet:
    """A table whose columns have roles.

    Args:
        table: the file.
        roles: of its columns, in their order.
    """

    table: Table
    roles: dict[str, Role]

    def names(self, role: Role) -> list[str]:
        """Return the columns that have a role."""
        return [name for name, found in self.roles.items() if found == role]

    def fields(self, role: Role) -> list[Field]:
        """Return the columns that have a role, for reading."""
        return [self.table.field(name) for name in self.names(role)]

    def field(self, role: Role) -> Field:
        """Return the one column that has a role, or refuse a table without it."""
        if not self.names(role):
            raise DataError(
                f"{_lacks(str(self.table.path), list(self.roles), None, role)} Name it with --{role} COLUMN"
            )
        return self.fields(role)[0]

    def changed(self, roles: dict[str, Role]) -> Sheet:
        """Return the table with other roles of some columns."""
        return _sheet(self.table, {**self.roles, **roles}) if roles else self

    def described(self, file: str, found: Sequence[Column] = ()) -> list[Column]:
        """Return what a schema says of all columns; those found are described already."""
        known = {column.name: column for column in found}
        kinds: dict[Role, str] = {"label": "label", "weight": "number"}
        return [
            known.get(n) or describe(file, self.table.field(n), r, kinds.get(r, "text")) for n, r in self.roles.items()
        ]


def assign(table: Table, roles: Sequence[Role], options: OwnOptions) -> Sheet:
    """Give every column its role: one of those asked for, feature, or ignored.

    Args:
        table: whose columns.
        roles: that its columns may have.
        options: flags that name columns; those of other tables are passed over, see `check_flags`.
    """
    names = list(table.frame.columns)
    found: dict[str, Role] = {name: "ignored" for name in names if name in options.ignore}
    free = [name for name in names if not any(name in _flagged(options, role) for role in roles)]  # no flag says what
    for role in roles:
        flags = _flagged(options, role)
        usual = not flags or role in ("id", "graph")  # which other tables may call by another name
        given = [name for name in flags if name in names]
        for name in given or (_by_usual_name(table.path, free, role, found) if usual else []):
            if name in found:
                raise DataError(
                    f"{table.path}, column {name}: it cannot be both {found[name]} and {role}; check the flags"
                )
            found[name] = role
    if "id" in roles:  # a second column called so says nothing of a node
        for name in names:
            if is_usual(name, "id") and name not in options.features:
                found.setdefault(name, "ignored")
    return _sheet(table, {name: found.get(name) or _rest(name, options) for name in names})


def assign_known(table: Table, file: str, schema: Schema) -> Sheet:
    """Give the columns of a new file the roles they have in a schema; labels and splits may be absent."""
    names = list(table.frame.columns)
    roles: dict[str, Role] = {}
    for column in schema.columns:
        if column.file == file and column.role != "ignored":
            if column.name in names:
                roles[column.name] = column.role
            elif column.role not in ("label", "split", "time") and (column.role, file) != ("id", "molecules"):
                raise DataError(_lacks(str(table.path), names, column.name, column.name))
    return _sheet(table, roles | {name: "ignored" for name in names if name not in roles})


def check_flags(tables: Sequence[Table], options: OwnOptions) -> None:
    """Refuse a flag that names a column no table has."""
    names = [name for table in tables for name in table.frame.columns]
    for name in (*options.features, *options.ignore, *(name for role in USUAL for name in _flagged(options, role))):
        if name not in names:
            raise DataError(_lacks(" and ".join(str(table.path) for table in tables), names, name, name))


def describe(file: str, field: Field, role: Role, kind: str) -> Column:
    """Return what a schema says of a column."""
    known = np.flatnonzero(~field.missing)
    example = str(field.values.iloc[known[0]]) if len(known) else ""
    return Column(file, field.name, role, kind, example, int(field.missing.sum()))


def _flagged(options: OwnOptions, role: Role) -> tuple[str, ...]:
    """Return the columns that flags name for a role."""
    given = getattr(options, role)
    return given if isinstance(given, tuple) else (given,) if given else ()


def _sheet(table: Table, roles: dict[str, Role]) -> Sheet:
    return Sheet(table.as_text([name for name, role in roles.items() if role in TEXT]), roles)


def _by_usual_name(path: Path, names: Sequence[str], role: Role, taken: dict[str, Role]) -> list[str]:
    found = [name for name in names if is_usual(name, role) and name not in taken]
    if role == "id":
        return sorted(found, key=lambda name: USUAL[role].index(_bare(name)))[:1]
    if len(found) > 1:
        raise DataError(
            f"{path}, line 1: columns {' and '.join(found)} may both be the {role}; "
            f"choose with --{role} {found[0]}, and leave the other out with --ignore {found[1]}"
        )
    return found


def is_usual(name: str, role: Role) -> bool:
    """Tell whether a column's name is one that is usual for a role.

    Args:
        name: of the column, in any case, with any marks.
        role: such as id.

    Example:
        >>> is_usual("Compound ID", "id"), is_usual("weight", "id")
        (True, False)
    """
    return _bare(name) in USUAL[role]


def _bare(name: str) -> str:
    """Return a name in lower case without marks and spaces: Compound ID is compoundid."""
    return re.sub(r"[\W_]+", "", name.lower())


def _lacks(where: str, names: Sequence[str], name: str | None, like: str) -> str:
    """Say which column is not there, which are, and which of them is nearest."""
    near = difflib.get_close_matches(like.lower(), [other.lower() for other in names], 1)
    close = next((f" Did you mean {other!r}?" for other in names if near and other.lower() == near[0]), "")
    listed = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")
    return f"{where}, line 1: no column {repr(name) if name else f'for the {like}'} among {listed}.{close}"


def _rest(name: str, options: OwnOptions) -> Role:
    if name.split()[0] == UNNAMED or (options.features and name not in options.features):
        return "ignored"
    return "feature"
