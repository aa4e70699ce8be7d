"""``geco report``: trainings as a page to look at, as a figure for a paper, or as a record to keep."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from geco.cli.options import Flag
from geco.console import print_line
from geco.errors import UsageError

if TYPE_CHECKING:
    from geco.report.folders import Found

__all__ = ["report"]

FORMATS = (".html", ".json", ".png", ".svg", ".pdf")
EVERY = 2.0  # seconds between two looks at the runs
REFRESH = 5.0  # seconds between two looks of the page at itself


def report(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="FOLDER", help_behavior_hint="")],
    /,
    output: Annotated[Path, arg(metavar="OUT", aliases=["-o"], help_behavior_hint="")],
    curves: Annotated[tuple[str, ...], arg(metavar="NAME", help_behavior_hint="")] = (),
    watch: Flag = False,
) -> None:
    """Show trainings side by side: scores, learning curves, what differs, seconds, memory, settings.

    Args:
        runs: folders of `geco train`, of single seeds, or above any number of runs.
        output: page to write (.html, one file), figure (.png, .svg, .pdf; needs the extra plot), or record (.json).
        curves: of a figure: valid, test, loss, valid_loss, lr, gradient, train; valid and loss if not given.
        watch: write the page again whenever a run moves on, until Ctrl-C; the open page follows.
    """
    _check(runs, output, curves, watch)
    if watch:
        return _watch(runs, output)
    found = _found(runs)
    _write(found, output, runs, curves)
    print_line(f"{len(found.runs)} {'run' if len(found.runs) == 1 else 'runs'} in {output}")


def _check(runs: Sequence[Path], output: Path, curves: Sequence[str], watch: bool) -> None:
    from geco.train.curves import CURVES

    if output.suffix not in FORMATS:
        raise UsageError(f"-o must end in .html or .json, or in .png, .svg or .pdf for a figure; got {output}")
    if not runs:
        raise UsageError("name at least one folder of `geco train`, or one above such folders")
    if output.is_dir() or not output.absolute().parent.is_dir():
        raise UsageError(f"cannot write {output}: it is a folder, or its folder does not exist")
    if watch and output.suffix != ".html":
        raise UsageError(f"--watch is for pages; let -o end in .html, got {output}")
    if curves and output.suffix in (".html", ".json"):
        raise UsageError("--curves is for figures; a page and a record have all curves")
    unknown = [name for name in curves if name not in CURVES]
    if unknown:
        raise UsageError(f"there is no curve {unknown[0]!r}; choose of {', '.join(CURVES)}")


def _found(paths: Sequence[Path]) -> Found:
    """Return what is there and say what is not; something has to be."""
    from geco.report.folders import find

    found = find(paths)
    if not found.runs and not any(path.exists() for path in paths):
        raise UsageError(f"{paths[0]} is no folder of `geco train`: {found.problems[0].why}")
    for problem in found.problems:
        print_line(f"{problem.folder}: not shown: {problem.why}")
    return found


def _write(found: Found, output: Path, paths: Sequence[Path], curves: Sequence[str] = (), refresh: float = 0.0) -> None:
    from geco.report.runs import charts, records, runs_page
    from geco.store import write_file

    if output.suffix == ".html":
        words = shlex.join(["geco", "report", *map(str, paths), *(["--watch"] if refresh else []), "-o", str(output)])
        return runs_page(found, words, refresh).write(output)
    broken = [problem for problem in found.problems if not problem.early]
    if output.suffix == ".json" and broken:
        raise UsageError(f"{broken[0].folder}: {broken[0].why}; a record has to be whole: repair it or leave it out")
    if not found.runs:
        raise UsageError("none of these runs has finished an epoch")
    if output.suffix == ".json":
        return write_file(output, (json.dumps(records(found), indent=1) + "\n").encode())
    from geco.pages.figures import figure, write_figure

    write_figure(figure(charts(found, curves)), output)


def _watch(paths: Sequence[Path], output: Path) -> None:
    """Write the page whenever something moves; at Ctrl-C once more, so that it stays as it is."""
    from geco.report.folders import find, moved

    before: object = None
    print_line(f"watching; open {output}, it follows. Ctrl-C ends")
    try:
        while True:
            now = moved(paths)
            if now != before:
                before = now
                found = find(paths)
                _write(found, output, paths, refresh=REFRESH)
                done = sum(bool(seed.result) for seeds in found.runs.values() for seed in seeds)
                total = sum(map(len, found.runs.values()))
                print_line(f"{time.strftime('%H:%M:%S')}  {done} of {total} seeds finished")
            time.sleep(EVERY)
    except KeyboardInterrupt:
        _write(find(paths), output, paths)
        print_line(f"\n{output} stays as it is now")
