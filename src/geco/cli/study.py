"""``geco study NAME`` and ``geco study list``: the paper's claims, checked on this machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from geco.cli.options import Flag, Folder, Name
from geco.console import print_line, print_table
from geco.errors import UsageError
from geco.studies.claims.catalogue import MEASUREMENTS, STUDIES, find

__all__ = ["list_studies", "study"]

Seeds = Annotated[tuple[int, ...], arg(metavar="S", help_behavior_hint="")]


def study(
    name: Name,
    /,
    quick: Flag = False,
    full: Flag = False,
    data_dir: Folder = None,
    out: Folder = None,
    seeds: Seeds = (),
) -> None:
    """Check one of the paper's claims; what is finished is kept at once, and the same command goes on with it.

    Args:
        name: as `geco study list` shows it.
        quick: a look in a minute or so, on data that needs no files.
        full: the paper's protocol, for those with the files, time and a GPU.
        data_dir: folder of raw data sets; $GECO_DATA if not given. What is not there is left out and named.
        out: folder of record.json, page.html and the runs; studies/NAME if not given, with -quick or -full behind it.
        seeds: of every training, two or more; those of the study if not given.
    """
    find(name)
    if quick and full:
        raise UsageError("--quick and --full exclude each other; leave both out for what two cores can do")
    from geco.data.paths import data_folder
    from geco.studies.claims.page import as_text
    from geco.studies.claims.runner import Options, run_study

    scale: Literal["quick", "default", "full"] = "quick" if quick else "full" if full else "default"
    suffix = "" if scale == "default" else f"-{scale}"
    folder = out or Path("studies") / f"{name}{suffix}"
    command = _command(name, suffix, seeds)
    answer = run_study(name, Options(scale, seeds, folder, data_folder(data_dir), command))
    for table in answer.tables:
        print(table.caption)
        print_table(as_text(table))
        print(f"{table.note}\n" if table.note else "")
    print(answer.words)
    print_line(f"{folder / 'page.html'} shows it; {folder / 'record.json'} has all numbers")


def _command(name: str, suffix: str, seeds: tuple[int, ...]) -> str:
    """Return the command as others can repeat it: without the folders of this machine."""
    words = [
        "geco",
        "study",
        name,
        *([f"-{suffix}"] if suffix else []),
        *(["--seeds", *map(str, seeds)] if seeds else []),
    ]
    return shlex.join(words)


def list_studies() -> None:
    """Print all studies with what they ask and how long they take, and the measurements beside them."""
    print("Claims of the paper: geco study NAME [--quick | --full]")
    for name, entry in STUDIES.items():
        print(f"\n  {name}\n    {entry.question}")
        print(f"    --quick {entry.quick}; without a flag {entry.default}; --full {entry.full}")
    print("\nMeasurements of this implementation: python -m geco.studies.NAME\n")
    for name, question in MEASUREMENTS.items():
        print(f"  {name:{max(map(len, MEASUREMENTS))}}  {question}")
