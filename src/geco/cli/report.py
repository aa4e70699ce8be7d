"""``geco report``: trainings as a page to look at, or as a record to keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from geco.console import print_line
from geco.errors import UsageError

__all__ = ["report"]


def report(
    runs: Annotated[Positional[tuple[Path, ...]], arg(metavar="RUN", help_behavior_hint="")],
    /,
    output: Annotated[Path, arg(metavar="OUT", aliases=["-o"], help_behavior_hint="")],
) -> None:
    """Show trainings side by side: scores, learning curves, seconds and settings.

    Args:
        runs: folders of `geco train`.
        output: page to write (.html, one file, nothing fetched), or the same as a record (.json).
    """
    from geco.report.runs import find, record, runs_page
    from geco.store import write_file

    if output.suffix not in (".html", ".json"):
        raise UsageError(f"-o must end in .html or .json, got {output}")
    if not runs:
        raise UsageError("name at least one folder of `geco train`")
    records = {str(run): [record(folder) for folder in find(run)] for run in runs}
    for name in [name for name, seeds in records.items() if not seeds]:
        print_line(f"{name} has no finished epoch yet and is left out")
        del records[name]
    if not records:
        raise UsageError("none of these runs has finished an epoch")
    footer = f"geco report {' '.join(map(str, runs))} -o {output}"
    text = runs_page(records, footer) if output.suffix == ".html" else json.dumps(records, indent=1) + "\n"
    write_file(output, text.encode())
    print_line(f"{len(records)} runs in {output}")
