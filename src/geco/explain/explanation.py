"""What an explanation says, as a table, as a picture and in files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from geco.errors import UsageError
from geco.explain.findings import Findings
from geco.explain.page import page
from geco.explain.pictures import png, svg
from geco.store import write_file

__all__ = ["SUFFIXES", "Explanation", "check_file", "save"]

SUFFIXES = (".csv", ".json", ".html", ".svg", ".png")


@dataclass(frozen=True, repr=False)
class Explanation(Findings):
    """Why a network predicts what it does for one node or graph; see `Findings` for what it holds."""

    def __repr__(self) -> str:
        """Return the five strongest effects as text."""
        return self.text(5)

    def svg(self) -> str:
        """Return a picture: the neighbourhood of the node, or the molecule, shaded by what each node gives."""
        return svg(self)

    def png(self) -> bytes:
        """Return the same picture as PNG."""
        return png(self)

    def save(self, path: str | Path) -> Path:
        """Write it as a table (.csv, .json), a page (.html) or a picture (.svg, .png), and return where."""
        save([self], Path(path))
        return Path(path)


def check_file(path: Path, count: int = 1) -> None:
    """Refuse a file that explanations could not be written to."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"cannot write {path}: its name must end in one of {', '.join(SUFFIXES)}")
    if path.suffix in (".svg", ".png") and count > 1:
        raise UsageError(f"{path} holds one picture, {count} were asked for; ask for one, or write .html")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder, or its folder does not exist")


def save(found: Sequence[Explanation], path: Path, command: str = "") -> None:
    """Write explanations to a file, in the format its name says.

    Args:
        found: one or more.
        path: ends in one of `SUFFIXES`.
        command: what made it, for the page.
    """
    check_file(path, len(found))
    write_file(path, _bytes(found, path, command))


def _bytes(found: Sequence[Explanation], path: Path, command: str) -> bytes:
    if path.suffix == ".svg":
        return svg(found[0]).encode()
    if path.suffix == ".png":
        return png(found[0])
    if path.suffix == ".json":
        return (json.dumps([one.to_json() for one in found], indent=1, ensure_ascii=False) + "\n").encode()
    if path.suffix == ".html":
        return page(found, command).html().encode()
    tables = [one.table.assign(asked=one.asked, quantity=one.quantity, value=one.value) for one in found]
    whole = pd.concat(tables)[["asked", "quantity", "value", *tables[0].columns[:-3]]]
    text: bytes = whole.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
    return text
