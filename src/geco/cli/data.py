"""``geco data list``, ``geco data prepare`` and ``geco data remove``."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from geco.cli.options import Flag, Folder, Name, use_cache
from geco.console import print_table
from geco.data.paths import cache_folder, entries, imported, is_imported, raw_files
from geco.data.registry import DATASETS, EMBEDDED, Embedded, Spec, find
from geco.errors import UsageError
from geco.names import ENCODINGS

__all__ = ["check_name", "list_datasets", "prepare", "remove_own"]

HEADING = ["name", "task", "metric", "graphs", "nodes", "edges", "paper", "here", "licence", "title"]
TEXTS = (1, 2, 7, 8, 9)  # columns to align left
LEGEND = """
nodes, edges  published means per graph
paper         GECO's score in the paper; ↑ higher is better, ↓ lower
here          raw: files on disk; cached: read before; embedded: needs no files;
              imported: yours; -: not on this machine
synthetic     in Python: geco.data.embedded.echo (echo);
              geco.data.embedded.synthetic (erdos_renyi, ring_copy, tree_copy)"""
WITH_SIZE = f"{', '.join(ENCODINGS)}; with a size: lap-pe:10."
DROPPED = ("title", "licence", "graphs", "edges")  # first to go on a narrow terminal


def list_datasets(data_dir: Folder = None, cache_dir: Folder = None) -> None:
    """List every data set by name, and which are on this machine.

    Args:
        data_dir: folder with data sets in their public raw layouts; $GECO_DATA if not given.
        cache_dir: folder for prepared data and downloads; $GECO_CACHE or ~/.cache/geco if not given.
    """
    use_cache(cache_dir)
    rows = [HEADING, *(_row(spec, data_dir) for spec in DATASETS.values())]
    rows += [
        [spec.name, *_task(spec), "", "", "", "", _here(spec.name, "embedded"), "", ""] for spec in EMBEDDED.values()
    ]
    rows += [
        [name, f"{info['level']} {info['target']}", str(info["metric"]), "", "", "", "", "imported", "", ""]
        for name, info in imported().items()
    ]
    print_table(_fitted(rows))
    print(LEGEND)


def prepare(
    names: Annotated[Positional[tuple[str, ...]], arg(metavar="NAME ...", help_behavior_hint="")],
    /,
    encodings: Annotated[tuple[str, ...], arg(metavar="ENCODING ...", help=WITH_SIZE, help_behavior_hint="")] = (),
    workers: Annotated[int | None, arg(metavar="W", help_behavior_hint="")] = None,
    data_dir: Folder = None,
    cache_dir: Folder = None,
    offline: Flag = False,
) -> None:
    """Read data sets and compute encodings, once; later commands start from the cache.

    Args:
        names: of data sets, see `geco data list`.
        encodings: names of `geco.names.ENCODINGS`, after a colon their size.
        workers: processes that compute encodings, 0 for none but this; one for each core, where it pays, if not given.
        data_dir: folder with data sets in their public raw layouts; $GECO_DATA if not given.
        cache_dir: folder for prepared data and downloads; $GECO_CACHE or ~/.cache/geco if not given.
        offline: never download.
    """
    use_cache(cache_dir)
    if not names:
        raise UsageError("name at least one data set: `geco data prepare NAME`; `geco data list` shows them")
    if workers is not None and workers < 0:
        raise UsageError(f"--workers must be at least 0, got {workers}")
    for name in names:
        check_name(name)
    from geco.data.encodings import encode
    from geco.data.encodings.registry import parse
    from geco.data.load_dataset import load

    chosen = [parse(text) for text in encodings]
    for name in names:
        before, start = _made(name), time.perf_counter()
        dataset = encode(load(name, data_dir, offline=offline), chosen, workers=workers)
        print(f"{name}: graphs {len(dataset):,}, nodes {dataset.num_nodes:,}, edges {dataset.num_edges:,}")
        _print_made(name, before, time.perf_counter() - start)


def remove_own(name: Name, /, cache_dir: Folder = None) -> None:
    """Remove a data set that you imported, and the encodings made for it; your files are not touched.

    Args:
        name: as given to `geco data import`.
        cache_dir: folder for prepared data; $GECO_CACHE or ~/.cache/geco if not given.
    """
    use_cache(cache_dir)
    from geco.data.user.stored import remove

    for path in remove(name):
        print(f"removed {path}")


def check_name(name: str) -> None:
    """Refuse a name that no data set has, before anything slow is imported."""
    if name not in EMBEDDED and not is_imported(name):
        find(name, imported())


def _print_made(name: str, before: dict[Path, int], seconds: float) -> None:
    """Print which entries are new."""
    made = [path for path, when in _made(name).items() if before.get(path) != when]
    for path in made:
        size = sum(file.stat().st_size for file in path.iterdir())
        print(f"{name}: made {path}, {size / 2**20:,.2f} MiB")
    print(f"{name}: {'done' if made else f'was there already, in {cache_folder()}; read'} in {seconds:.1f} s")


def _made(name: str) -> dict[Path, int]:
    """Return the cache's entries of a data set and when they were written, in ns."""
    return {path: path.stat().st_mtime_ns for path in entries(name)}


def _row(spec: Spec, data_dir: Path | None) -> list[str]:
    score = "" if spec.paper is None else f"{spec.paper:.4f}"
    found = "raw" if raw_files(spec, data_dir) else "-"
    size = [f"{spec.sizes.graphs:,}", f"{spec.sizes.nodes:,}", f"{spec.sizes.edges:,}"]
    licence = spec.licence.partition(";")[0].partition(" (")[0]
    return [spec.name, *_task(spec), *size, score, _here(spec.name, found), licence, spec.title]


def _task(spec: Spec | Embedded) -> list[str]:
    return [f"{spec.level} {spec.target}", f"{spec.metric} {'↑' if spec.better == 'higher' else '↓'}"]


def _here(name: str, otherwise: str) -> str:
    return "cached" if any(path.name[:-21] == name for path in entries(name)) else otherwise


def _fitted(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with texts aligned left, without the columns a narrow terminal has no room for."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADING))]
    kept = list(range(len(HEADING)))
    for name in DROPPED:
        if sys.stdout.isatty() and sum(widths[i] + 2 for i in kept) - 2 > shutil.get_terminal_size().columns:
            kept.remove(HEADING.index(name))
    return [[row[i].ljust(widths[i]) if i in TEXTS else row[i] for i in kept] for row in rows]
