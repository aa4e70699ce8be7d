"""Every data set GECO knows by name; the literal tables are in the modules beside this one. No torch is imported
here.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

from geco.data.registry.embedded import NO_FILES
from geco.data.registry.lrgb import LRGB
from geco.data.registry.nodes_large import LARGE, STRUCTURE, WORDNET
from geco.data.registry.nodes_small import CITATIONS, COMMUNITIES, HETEROPHILOUS
from geco.data.registry.ogb import OGB
from geco.data.registry.spec import Embedded, Layout, Remote, Sizes, Spec
from geco.errors import DataError

__all__ = ["DATASETS", "EMBEDDED", "Embedded", "Layout", "Remote", "Sizes", "Spec", "find"]

_ALL = (*LARGE, *LRGB, *OGB, *CITATIONS, *COMMUNITIES, *HETEROPHILOUS, WORDNET, *STRUCTURE)
DATASETS: dict[str, Spec] = {spec.name: spec for spec in _ALL}
EMBEDDED: dict[str, Embedded] = {spec.name: spec for spec in NO_FILES}


def find(name: str, own: Collection[str] = ()) -> Spec:
    """Return the spec of a name, or refuse it and name those near it.

    Args:
        name: of a data set.
        own: names of data sets that were imported, which may be what is meant.

    Example:
        >>> find("cora").sizes.nodes
        2708
        >>> find("coar")
        Traceback (most recent call last):
        geco.errors.DataError: no data set is called 'coar'; did you mean cora or ...
    """
    if name in DATASETS:
        return DATASETS[name]
    near = difflib.get_close_matches(name.lower(), [*DATASETS, *EMBEDDED, *own], 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`geco data list` shows all names."
    raise DataError(f"no data set is called {name!r}; {hint} Your own files: `geco data import PATH --name NAME`")
