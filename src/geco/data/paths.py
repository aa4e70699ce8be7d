"""Where raw files and prepared data lie on this machine. Nothing here imports torch."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from geco.data.registry import Layout, Spec

__all__ = ["cache_folder", "data_folder", "entries", "imported", "is_imported", "raw_files", "raw_folders"]


def cache_folder() -> Path:
    """Return ``$GECO_CACHE``, or ``geco`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("GECO_CACHE") or Path(base) / "geco").expanduser()


def data_folder(given: Path | None = None) -> Path | None:
    """Return the folder of raw data sets: the given one, or ``$GECO_DATA`` if that is set."""
    return given or (Path(os.environ["GECO_DATA"]).expanduser() if os.environ.get("GECO_DATA") else None)


def raw_folders(spec: Spec, data_dir: Path | None = None) -> list[Path]:
    """Return where the raw files of a data set may be, the place of downloads last."""
    base = data_folder(data_dir)
    given = [base / name for name in (spec.name, *spec.folders)] if base else []
    return [*given, cache_folder() / "raw" / spec.name]


def raw_files(spec: Spec, data_dir: Path | None = None) -> tuple[Path, Layout] | None:
    """Return the first folder that holds all files of one of the data set's layouts, and that layout."""
    for folder in raw_folders(spec, data_dir):
        for layout in spec.layouts:
            if all((folder / file).is_file() for file in layout.files):
                return folder, layout
    return None


def entries(name: str) -> list[Path]:
    """Return the cache's entries of a data set: itself first, then its encodings."""
    pattern = re.compile(rf"{re.escape(name)}(-.+)?-[0-9a-f]{{20}}")
    folder = cache_folder()
    found = [path for path in folder.iterdir() if pattern.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(found, key=lambda path: (len(path.name), path.name))


def is_imported(name: str) -> bool:
    """Tell whether a data set was imported under a name, intact or damaged."""
    folder = cache_folder() / "own"
    return folder.is_dir() and any(path.name[:-21] == name for path in folder.iterdir())


def imported() -> dict[str, dict[str, Any]]:
    """Return the names of imported data sets, each with its `geco.data.dataset.Info` in JSON's types."""
    found = {}
    for manifest in sorted((cache_folder() / "own").glob("[!.]*/manifest.json")):
        try:
            info = json.loads(manifest.read_text(encoding="utf-8"))["about"]["info"]
            found[str(info["name"])] = dict(info)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # damaged; `geco.data.load` says what to do when it is asked for
    return found
