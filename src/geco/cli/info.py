"""``geco data info``: what a data set holds, beside the published numbers, in the terminal and as a page."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from geco import __version__
from geco.cli.data import check_name
from geco.cli.options import File, Flag, Folder, Name, use_cache
from geco.console import print_line, print_table
from geco.data.registry import DATASETS
from geco.errors import UsageError

if TYPE_CHECKING:
    from geco.pages import Cell, Page

__all__ = ["histogram", "info"]

SHOWN = 12  # rows of a table in the terminal; a page has all
Rows = list[list[str]]
Facts = list[tuple[str, str]]


def info(
    name: Name,
    /,
    data_dir: Folder = None,
    cache_dir: Folder = None,
    html: File = None,
    offline: Flag = False,
) -> None:
    """Count what a data set holds, beside the published numbers.

    Args:
        name: of a data set, see `geco data list`.
        data_dir: folder with data sets in their public raw layouts; $GECO_DATA if not given.
        cache_dir: folder for prepared data and downloads; $GECO_CACHE or ~/.cache/geco if not given.
        html: also write it all as one page to this file.
        offline: never download.
    """
    use_cache(cache_dir)
    check_name(name)
    if html is not None and (html.is_dir() or not html.absolute().parent.is_dir()):
        raise UsageError(f"cannot write {html}: it is a folder, or its folder does not exist")
    from geco.cli.describe import describe
    from geco.data.load_dataset import load
    from geco.data.statistics import bins, statistics

    dataset = load(name, data_dir, offline=offline)
    found, spec = statistics(dataset), DATASETS.get(name)
    about, sections = describe(dataset.info, found, spec)
    degrees = [(f"{low:,}" if low == high else f"{low:,}-{high:,}", count) for low, high, count in bins(found.degrees)]
    _show(name, about, sections, degrees)
    if html is not None:
        _page(name, about, sections, degrees, shlex.join(["geco", "data", "info", name, "--html", str(html)])).write(
            html
        )
        print_line(f"wrote {html}")


def histogram(items: Sequence[tuple[str, int]], width: int) -> list[str]:
    r"""Return lines of bars for counts, each with its share.

    Example:
        >>> print(*histogram([("0", 1), ("1", 3)], 30), sep="\n")
        0 █████▍            1   25.0 %
        1 ████████████████  3   75.0 %
    """
    names = max(len(name) for name, _ in items)
    counts = max(len(f"{count:,}") for _, count in items)
    room = max(5, width - names - counts - 12)
    top, total = (max(1, f(count for _, count in items)) for f in (max, sum))
    bar = [_bar(room * count / top) if count else "" for _, count in items]
    shares = [f"{count:>{counts},}  {100 * count / total:5.1f} %" for _, count in items]
    return [f"{name:>{names}} {b:{room}}  {share}" for (name, _), b, share in zip(items, bar, shares, strict=True)]


def _bar(length: float) -> str:
    eighths = max(1, round(8 * length))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _show(name: str, about: Facts, sections: Sequence[tuple[str, Rows]], degrees: Sequence[tuple[str, int]]) -> None:
    """Print everything, tables cut to `SHOWN` rows."""
    width = min(100, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 80
    print(name)
    for label, text in about:
        print(
            textwrap.fill(
                text, width, initial_indent=f"  {label:14}", subsequent_indent=" " * 16, break_on_hyphens=False
            )
        )
    for heading, rows in sections:
        print(f"\n{heading}")
        print_table(rows[: SHOWN + 1])
        if len(rows) > SHOWN + 1:
            print(f"and {len(rows) - SHOWN - 1} more; --html FILE shows them all")
    print("\nNodes by degree")
    print(*histogram(degrees, width), sep="\n")


def _page(
    name: str, about: Facts, sections: Sequence[tuple[str, Rows]], degrees: Sequence[tuple[str, int]], command: str
) -> Page:
    from geco.pages import BarChart, Facts, Heading, Page, Table

    page = Page(name, command, [("GECO", __version__)]).add(Facts(about))
    for heading, rows in sections:
        page.add(Heading(heading), Table(rows[0], [[_cell(text) for text in row] for row in rows[1:]], heading))
    return page.add(Heading("Nodes by degree"), BarChart("Nodes by degree", "nodes", degrees))


def _cell(text: str) -> Cell | str:
    """Return a number that lines up and sorts, or text as it is."""
    from geco.pages import Cell

    with contextlib.suppress(ValueError):
        return Cell(text, float(text.replace(",", "")))
    return text
