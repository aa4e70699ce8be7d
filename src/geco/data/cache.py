"""Prepared data on disk: built once, whole or not at all, checked at every start, rebuilt when damaged.

An entry is a folder ``<label>-<key>`` (see `geco.store`). The key hashes the recipe and the format's version, so
another recipe is another entry. A lock lets one process build while the others wait; the system drops the lock of one
that dies.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from geco.data.paths import cache_folder
from geco.errors import ResourceError
from geco.store import Entry, read_entry, remove_entry, sweep, write_entry

__all__ = ["Cache"]

logger = logging.getLogger(__name__)

VERSION = 1  # of the format; raise it when what a recipe yields changes


class Cache:
    """A folder of prepared data.

    Args:
        folder: where; `cache_folder()` if not given.

    Example:
        >>> import tempfile, torch
        >>> cache = Cache(Path(tempfile.mkdtemp()))
        >>> build = lambda: Entry({"x": torch.ones(2)}, {"made": "now"})
        >>> cache.fetch("ones", {"size": 2}, build).arrays["x"]  # a second time it is read
        tensor([1., 1.])
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = cache_folder() if folder is None else Path(folder)

    @classmethod
    @contextlib.contextmanager
    def temporary(cls) -> Iterator[Cache]:
        """Give a cache that is gone afterwards, for data that nobody will ask for again."""
        with tempfile.TemporaryDirectory(prefix="geco-", ignore_cleanup_errors=True) as folder:
            yield cls(Path(folder))

    def fetch(self, label: str, recipe: Mapping[str, Any], build: Callable[[], Entry]) -> Entry:
        """Return the entry of a recipe, building it if it is missing or damaged.

        Args:
            label: for people, starts the entry's name.
            recipe: everything the result depends on, in JSON's types.
            build: makes the entry; runs in one process at a time.
        """
        path = self.path(label, recipe)
        found = self._read(path)
        if found is not None:
            return found
        self._check_writable()
        with self._lock(path):
            found = self._read(path, tell=True)  # another process may have built it while this one waited
            if found is None:
                sweep(path)
                found = build()
                write_entry(path, found)
        return found

    def put(self, label: str, recipe: Mapping[str, Any], entry: Entry) -> Path:
        """Write an entry in place of the one there is, if any, and return where it is."""
        path = self.path(label, recipe)
        self._check_writable()
        with self._lock(path):
            write_entry(path, entry)
        return path

    def get(self, label: str, recipe: Mapping[str, Any]) -> Entry | None:
        """Return an entry if there is a sound one."""
        return self._read(self.path(label, recipe), tell=True)

    def remove(self, label: str, recipe: Mapping[str, Any]) -> Path:
        """Remove an entry, sound or not, and return where it was."""
        path = self.path(label, recipe)
        with self._lock(path):
            remove_entry(path)
        return path

    def path(self, label: str, recipe: Mapping[str, Any]) -> Path:
        """Return where the entry of a recipe is or would be."""
        text = json.dumps([VERSION, recipe], sort_keys=True)
        return self.folder / f"{label}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"

    def _read(self, path: Path, tell: bool = False) -> Entry | None:
        """Return a sound entry, or None, logging why if it is there but damaged."""
        if not path.exists():
            return None
        try:
            return read_entry(path)
        except ValueError as error:
            if tell:
                logger.warning(f"{error}; building it again")
            return None

    def _lock(self, path: Path) -> FileLock:
        return FileLock(self.folder / f".{path.name}.lock")

    def _check_writable(self) -> None:
        """Refuse a folder that cannot be written to, before the work and not after it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise ResourceError(
                f"cannot write to the cache {self.folder} ({error.strerror}); set GECO_CACHE or --cache-dir to another "
                "folder"
            ) from error
