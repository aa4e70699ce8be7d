"""Configurations by name: a file each, of what differs from the defaults. Nothing here imports torch."""

from __future__ import annotations

import difflib
from importlib.resources import files
from pathlib import Path

from geco.errors import UsageError
from geco.names import BASELINES

__all__ = ["find", "shipped"]


def shipped() -> dict[str, Path]:
    """Return the configurations that come with the package, by name.

    Example:
        >>> "peptides-func-pure" in shipped()
        True
    """
    found = sorted(files("geco.configs").iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): Path(str(file)) for file in found if file.name.endswith(".toml")}


def find(name: str) -> Path:
    """Return the file of a name; of one that is not there, name those near it, or the flag if it is a baseline.

    Example:
        >>> find("cora-gcn")
        Traceback (most recent call last):
        geco.errors.UsageError: no configuration is called 'cora-gcn'; for that network: `geco train cora --model...
    """
    known = shipped()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower(), known, 3, 0.5) or known
    baseline = [f"{data} --model.name {body}" for body in BASELINES for data in known if name == f"{data}-{body}"]
    missing = f"no configuration is called {name!r}"
    if baseline:
        raise UsageError(f"{missing}; for that network: `geco train {baseline[0]}`")
    raise UsageError(f"{missing} and there is no such file; there are {', '.join(near)}")
