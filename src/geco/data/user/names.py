"""What a user calls the nodes and graphs of files: kept beside the data set, so that answers name them.

Shapes: N nodes of all graphs, B graphs.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from geco.data.user.graphs import all_names
from geco.data.user.schema import Schema
from geco.errors import UsageError

__all__ = ["PREFIX", "Names", "nearest", "read_names"]

PREFIX = "names/"  # of the arrays they are packed into


@dataclass(frozen=True)
class Names:
    """Names of nodes and graphs, as they are written in the files.

    Args:
        nodes: of all graphs, graph after graph, N; empty where nodes have none.
        graphs: B; empty where graphs have none.

    Example:
        >>> Names.unpacked(Names(("a", "bé"), ()).packed())
        Names(nodes=('a', 'bé'), graphs=())
    """

    nodes: Sequence[str] = ()
    graphs: Sequence[str] = ()

    def packed(self) -> dict[str, Tensor]:
        """Return arrays: the text of all names in UTF-8, and where each begins."""
        found: dict[str, Tensor] = {}
        for kind, names in (("nodes", self.nodes), ("graphs", self.graphs)):
            if names:
                words = [name.encode() for name in names]
                ends = np.cumsum([0, *map(len, words)])
                found[f"{PREFIX}{kind}"] = torch.from_numpy(np.frombuffer(b"".join(words), np.uint8).copy())
                found[f"{PREFIX}{kind}-ptr"] = torch.from_numpy(ends)
        return found

    @classmethod
    def unpacked(cls, arrays: Mapping[str, Tensor]) -> Names:
        """Undo `packed`; arrays of a data set without names give none."""
        return cls(_unpacked(arrays, "nodes"), _unpacked(arrays, "graphs"))


def nearest(wanted: str, names: Sequence[str], kind: str) -> list[int]:
    """Return where a name stands, every place; one that is nowhere is refused with the nearest.

    Args:
        wanted: the name.
        names: to look in.
        kind: of what, for the message.

    Example:
        >>> nearest("alise", ["bob", "alice"], "node")
        Traceback (most recent call last):
        geco.errors.UsageError: no node is called 'alise'; did you mean 'alice'?
    """
    found = [row for row, name in enumerate(names) if name == wanted]
    if found:
        return found
    near = difflib.get_close_matches(wanted, names[:100_000], 1, 0.5)
    some = ", ".join(repr(name) for name in names[:3])
    hint = f"did you mean {near[0]!r}?" if near else f"there are {some} and so on ({len(names):,} in all)"
    raise UsageError(f"no {kind} is called {wanted!r}; {hint}")


def read_names(path: str | Path, schema: Schema) -> Names:
    """Return the names in a user's files: node ids, and those of graphs or molecules.

    Args:
        path: as given to `geco.data.user.read.read_own`.
        schema: of the data set; nodes of array files and atoms are numbered.
    """
    from geco.data.user.read import ids

    if schema.form == "tables":
        nodes, graphs = all_names(Path(path), schema)
        named = any(column.role == "id" and column.file == "nodes" for column in schema.columns)
        many = any(column.role == "graph" for column in schema.columns)
        return Names(tuple(nodes) if named else (), tuple(graphs) if many else ())
    return Names((), tuple(ids(path, schema))) if schema.form == "molecules" else Names()


def _unpacked(arrays: Mapping[str, Tensor], kind: str) -> tuple[str, ...]:
    if f"{PREFIX}{kind}" not in arrays:
        return ()
    text, ends = arrays[f"{PREFIX}{kind}"].numpy().tobytes(), arrays[f"{PREFIX}{kind}-ptr"].tolist()
    return tuple(text[start:stop].decode() for start, stop in pairwise(ends))
