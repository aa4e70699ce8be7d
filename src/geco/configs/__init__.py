"""Configurations by the name of their data set. Nothing here imports torch."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["shipped"]


def shipped() -> dict[str, Path]:
    """Return the configurations that come with the package, by name.

    Example:
        >>> "peptides-func-pure" in shipped()
        True
    """
    found = sorted(files("geco.configs").iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): Path(str(file)) for file in found if file.name.endswith(".toml")}
