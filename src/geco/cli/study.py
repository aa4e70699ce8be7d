"""``geco study NAME`` and ``geco study list``: the paper's claims, checked on this machine, and measurements."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from geco.cli.options import Flag, Folder, Name
from geco.console import print_line, print_table
from geco.errors import UsageError
from geco.studies.claims.catalogue import MEASUREMENTS, STUDIES, find

__all__ = ["list_studies", "pass_on", "passes_on", "study"]

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

    Measurements of this implementation are run and kept by `geco study NAME [--out DIR]` with options of their own.

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


def passes_on(words: Sequence[str]) -> bool:
    """Tell whether words name a measurement, which reads its own options."""
    return bool(words) and words[0] in MEASUREMENTS


def pass_on(words: Sequence[str]) -> None:
    """Run a measurement with its own options and keep what it prints and writes, once for the same options.

    Args:
        words: its name, then its options; ``--out DIR`` is where record.json and page.html go, as for all studies.
    """
    from geco.studies.claims.measured import measurement, tell
    from geco.studies.claims.record import StudyRecord
    from geco.studies.claims.runner import Options, carry_out

    name, (folder, own) = words[0], _out(words[1:])
    if {"-h", "--help"} & {*own}:
        tell(name, ["--help"])
        return
    folder = folder or Path("studies") / name
    study = measurement(name, own, folder)
    plan = study.plan("default", ())
    (unit,) = plan.units
    known = StudyRecord(folder / "record.json", name, "default").results.get(unit.key)
    if known is not None and not unit.again:
        print(known["printed"], end="")
        print_line("this was measured before and is in the record; choose another --out to measure it again")
    carry_out(name, study, plan, Options("default", (), folder, command=shlex.join(["geco", "study", name, *own])))
    print_line(f"{folder / 'page.html'} shows it; {folder / 'record.json'} has all numbers")


def _out(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Return the folder after ``--out``, and the other words."""
    split = [part for word in words for part in (word.split("=", 1) if word.startswith("--out=") else [word])]
    if "--out" not in split:
        return None, split
    at = split.index("--out")
    if at + 1 == len(split):
        raise UsageError("--out needs a folder")
    return Path(split[at + 1]), split[:at] + split[at + 2 :]


def list_studies() -> None:
    """Print all studies with what they ask and how long they take, and the measurements beside them."""
    print("Claims of the paper: geco study NAME [--quick | --full]")
    for name, entry in STUDIES.items():
        print(f"\n  {name}\n    {entry.question}")
        print(f"    --quick {entry.quick}; without a flag {entry.default}; --full {entry.full}")
    print("\nMeasurements of this implementation: geco study NAME [--out DIR] [options of its own, see --help]\n")
    commands = {name: f"{name} {entry.takes}".strip() for name, entry in MEASUREMENTS.items()}
    for name, measured in MEASUREMENTS.items():
        print(f"  {commands[name]:{max(map(len, commands.values()))}}  {measured.question}")
