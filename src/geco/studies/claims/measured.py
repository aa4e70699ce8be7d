"""A measurement of this implementation as a study of one unit: run by its own command, kept in the same record, shown
on the same page.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geco.errors import GecoError, UsageError
from geco.pages import Block, Heading, Preformatted
from geco.studies.claims.catalogue import MEASUREMENTS, RECORDS
from geco.studies.claims.study import Answer, Done, Measurement, Plan, Result, Study, Unit

__all__ = ["measurement", "tell"]


def measurement(name: str, words: Sequence[str], out: Path) -> Study:
    """Return a measurement as a study; what other options gave before stays in its record.

    Args:
        name: of `MEASUREMENTS`.
        words: its own options.
        out: folder of what it writes.

    Example:
        >>> study = measurement("step", ["--nodes", "64"], Path("studies/step"))
        >>> [unit.key for unit in study.plan("default", ()).units]
        ['step --nodes 64']
    """
    chosen = MEASUREMENTS[name]
    if words and not chosen.options:
        raise UsageError(f"{name} takes no options but --out, got {shlex.join(words)}")
    option, file = chosen.writes
    command = shlex.join(["python", "-m", chosen.module, *words])

    def run(known: Mapping[str, Result]) -> Result:
        printed = tell(name, [*words, *([option, str(out / file)] if option else [])])
        return {"printed": printed, **_written(out / file)}

    work = Measurement(run, {"arguments": [*words]})
    unit = Unit(shlex.join([name, *words]), work, {"command": command}, again=chosen.writes == RECORDS)
    return Study(lambda scale, seeds: Plan(f"By {command}, in a process of its own.", [unit]), _answer)


def tell(name: str, words: Sequence[str]) -> str:
    """Run a measurement with its own options, pass on what it prints as it comes, and return it."""
    command = ["-m", MEASUREMENTS[name].module, *words]
    lines = []
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                lines.append(line)
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        error = UsageError if process.returncode == UsageError.exit_code else GecoError
        told = shlex.join(["python", *command])
        raise error(f"`{told}` ended with exit code {process.returncode}, as it says above; nothing was recorded")
    return "".join(lines)


def _written(file: Path) -> dict[str, Any]:
    """Return the results of the file that a measurement has written, if it is JSON."""
    return {"results": json.loads(file.read_text("utf-8"))["results"]} if file.suffix == ".json" else {}


def _answer(done: Sequence[Done]) -> Answer:
    blocks: list[Block] = []
    for unit in done:
        blocks += [Heading(unit.facts["command"]), Preformatted(unit.result["printed"])]
    return Answer("What it printed:" if done else "Nothing is measured yet.", blocks, [])
