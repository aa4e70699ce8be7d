"""Every data set GECO knows by name. The literal tables are in the modules ``specs_*``. No torch is imported here."""

from __future__ import annotations

import difflib

from geco.data.spec import Embedded, Layout, Remote, Sizes, Spec
from geco.data.specs_lrgb import LRGB
from geco.data.specs_nodes import LARGE, STRUCTURE, WORDNET
from geco.data.specs_ogb import OGB
from geco.data.specs_small import CITATIONS, COMMUNITIES, HETEROPHILOUS
from geco.errors import DataError

__all__ = ["DATASETS", "EMBEDDED", "Embedded", "Layout", "Remote", "Sizes", "Spec", "find"]

_ALL = (*LARGE, *LRGB, *OGB, *CITATIONS, *COMMUNITIES, *HETEROPHILOUS, WORDNET, *STRUCTURE)
DATASETS: dict[str, Spec] = {spec.name: spec for spec in _ALL}
EMBEDDED = {
    "digits": Embedded("geco.data.digits:digits", "scikit-learn", "node class", "accuracy ↑"),
    "ring-copy": Embedded("geco.data.synthetic:ring_copy", "numpy", "node class", "accuracy ↑", (50,)),
    "tree-copy": Embedded("geco.data.synthetic:tree_copy", "numpy", "node class", "accuracy ↑", (6,)),
    "echo": Embedded("geco.data.echo:echo", "numpy", "node class", "accuracy ↑", (16,)),
    "echo-64": Embedded("geco.data.echo:echo", "numpy", "node class", "accuracy ↑", (64,)),
    "python-ast": Embedded("geco.data.python_ast:python_ast", "Python", "graph tokens", "token-f1 ↑"),
}


def find(name: str) -> Spec:
    """Return the spec of a name, or say which names are near it.

    Example:
        >>> find("cora").sizes.nodes
        2708
        >>> find("coar")
        Traceback (most recent call last):
        geco.errors.DataError: no data set is called 'coar'; did you mean cora or ...
    """
    if name in DATASETS:
        return DATASETS[name]
    near = difflib.get_close_matches(name.lower(), DATASETS, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`geco data list` shows all names."
    raise DataError(f"no data set is called {name!r}; {hint} Your own files: `geco data import PATH --name NAME`")
