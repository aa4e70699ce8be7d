"""What the processes of `test_jobs` do: no training, and no torch."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geco.cli.settings import TrainOptions
from geco.errors import DataError, Interrupted

Tell = Callable[[dict[str, Any]], None]


def work(options: TrainOptions, seed: int, folder: Path, tell: Tell) -> dict[str, Any]:
    """Tell of every epoch, and return the process's number."""
    for epoch in range(1, options.train.epochs + 1):
        tell({"epoch": epoch, "loss": 1.0 / epoch})
    return {"seed": seed, "folder": str(folder), "process": os.getpid()}


def fail(options: TrainOptions, seed: int, folder: Path, tell: Tell) -> dict[str, Any]:
    """Fail, die, or wait to be stopped, by the number of the seed."""
    if seed == 1:
        raise DataError("seed 1 has no data")
    if seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return wait(options, seed, folder, tell)


def wait(options: TrainOptions, seed: int, folder: Path, tell: Tell) -> dict[str, Any]:
    """Wait to be stopped, and say where it can be gone on."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    folder.mkdir(parents=True)
    while not stopped:
        time.sleep(0.02)
    (folder / "saved").touch()
    raise Interrupted(f"stopped, saved in {folder}")
