"""A data set by its name: registry, then files on disk or a download, then the reader, all of it cached."""

from __future__ import annotations

import importlib
import os
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from geco.data.cache import Cache
from geco.data.collate import check
from geco.data.dataset import GraphDataset, Info
from geco.data.paths import imported, raw_files, raw_folders
from geco.data.registry import DATASETS, EMBEDDED, Embedded, Layout, Spec, find
from geco.data.user.stored import stored
from geco.errors import DataError
from geco.store import Entry, sha256

__all__ = ["load", "locate", "made"]

VERSION = 2  # of the readers; raise it when one of them reads differently


def load(
    name: str, data_dir: str | Path | None = None, cache: Cache | None = None, offline: bool = False
) -> GraphDataset:
    """Return a data set, from the cache if it was read before.

    Args:
        name: of a known data set (``geco data list``) or of one imported by ``geco data import``.
        data_dir: folder with data sets in their public raw layouts, each in a folder of its name; ``$GECO_DATA`` if not
            given. What is not there is downloaded.
        cache: where prepared data goes.
        offline: never download; also set by ``$GECO_OFFLINE``.

    Example:
        >>> load("digits").num_nodes  # doctest: +SKIP
        1797
    """
    cache = cache or Cache()
    if name in EMBEDDED:
        embedded = EMBEDDED[name]
        recipe = {"embedded": _version_of(embedded.depends), "version": VERSION}
        return _cached(cache, name, recipe, lambda: made(embedded))
    if name not in DATASETS and (own := stored(name)) is not None:
        return own
    spec = find(name, imported())
    folder, layout = locate(spec, Path(data_dir) if data_dir is not None else None, offline)
    files = {file: sha256(folder / file) for file in layout.files}
    reader = importlib.import_module(f"geco.data.sources.{layout.reader}")
    recipe = {"spec": repr(spec), "reader": layout.reader, "version": VERSION, "files": files}
    return _cached(cache, name, recipe, lambda: reader.read(folder, spec))


def locate(spec: Spec, data_dir: Path | None = None, offline: bool = False) -> tuple[Path, Layout]:
    """Return the folder of a data set's raw files and how they lie there, downloading them if they are nowhere."""
    if data_dir is not None and not data_dir.is_dir():
        raise DataError(f"the data folder {data_dir} does not exist")
    return raw_files(spec, data_dir) or _download(spec, data_dir, offline or bool(os.environ.get("GECO_OFFLINE")))


def made(spec: Embedded) -> GraphDataset:
    """Return a data set that needs no files, made anew."""
    module, function = spec.maker.split(":")
    dataset: GraphDataset = getattr(importlib.import_module(f"geco.data.embedded.{module}"), function)(*spec.arguments)
    return dataset


def _version_of(package: str) -> str:
    """Return a package with its version; one that is missing is reported by what needs it."""
    try:
        return f"{package} {platform.python_version() if package == 'Python' else version(package)}"
    except PackageNotFoundError:
        return package


def _download(spec: Spec, data_dir: Path | None, offline: bool) -> tuple[Path, Layout]:
    from geco.data.fetch.archives import unpack
    from geco.data.fetch.download import fetch

    folders = raw_folders(spec, data_dir)
    home = folders[-1]
    places = ", ".join(map(str, folders))
    wanted = " or ".join(", ".join(layout.files) for layout in spec.layouts)
    if offline or not spec.remotes:
        why = "downloads are off" if offline else f"it has no address to download from ({spec.source})"
        raise DataError(f"{spec.name} is not on disk and {why}; looked in {places} for {wanted}")
    for remote in spec.remotes:
        path = fetch(remote, home)
        if remote.unpack:
            unpack(path, home)
    found = raw_files(spec, data_dir)
    if found is not None:
        return found
    raise DataError(f"{spec.name} was downloaded to {home}, which still lacks {wanted}; has its publisher changed it?")


def _cached(cache: Cache, name: str, recipe: Mapping[str, object], make: Callable[[], GraphDataset]) -> GraphDataset:
    def build() -> Entry:
        dataset = check(make())
        return Entry(dataset.arrays, {"info": dataset.info.to_json()})

    entry = cache.fetch(name, recipe, build)
    return GraphDataset(Info.from_json(entry.about["info"]), entry.arrays)
