"""Several seeds of a run at a time, each in a process of its own, with one display and one way to stop."""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from geco.cli.settings import TrainOptions
from geco.console import show_log
from geco.errors import GecoError, Interrupted, ResourceError
from geco.meter import Meter

__all__ = ["in_parallel"]

Work = Callable[[TrainOptions, int, Path, Callable[[dict[str, Any]], None]], dict[str, Any]]
WAIT = 0.2  # seconds between two looks at what the processes do


def in_parallel(options: TrainOptions, out: Path, work: Work, stopped: Callable[[], bool]) -> dict[int, dict[str, Any]]:
    """Train all seeds, so many at a time as asked for, and return the result of each.

    When it is asked to stop, or one seed fails, the others finish their step, save and end too.

    Args:
        options: of `geco train`.
        out: folder of the run.
        work: called in each process with options, seed, folder of the seed, and what is told of every evaluation.
        stopped: asked whether to stop.
    """
    jobs = _Jobs(options, out, work)
    try:
        with Meter(f"{len(options.seeds)} seeds", len(options.seeds) * options.train.epochs) as meter:
            while jobs.step(meter):
                if stopped() or jobs.errors:
                    jobs.stop()
    finally:
        for process in jobs.running.values():
            process.kill()
    for error in jobs.errors:
        if not isinstance(error, Interrupted):
            raise error
    if len(jobs.results) < len(options.seeds):
        raise Interrupted(f"stopped; what was trained is saved in {out}, go on with --resume auto")
    return {seed: jobs.results[seed] for seed in options.seeds}


class _Jobs:
    """Processes that run, seeds that wait, and what both have come to."""

    def __init__(self, options: TrainOptions, out: Path, work: Work) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.options, self.out, self.work, self.heard = options, out, work, self.context.Queue()
        self.waiting, self.stopping = list(options.seeds), False
        self.running: dict[int, SpawnProcess] = {}
        self.results: dict[int, dict[str, Any]] = {}
        self.errors: list[BaseException] = []
        self.epochs = dict.fromkeys(options.seeds, 0)

    def step(self, meter: Meter) -> bool:
        """Start what may start, listen for a moment, and return whether anything is left to wait for."""
        while self.waiting and len(self.running) < self.options.jobs:
            self._start(self.waiting.pop(0))
        gone = [seed for seed, process in self.running.items() if not process.is_alive()]  # before last words
        try:
            seed, kind, what = self.heard.get(timeout=WAIT)
        except queue.Empty:
            for seed in gone:
                code = self.running.pop(seed).exitcode
                kind = Interrupted if self.stopping else ResourceError
                self.errors.append(kind(f"the process of seed {seed} ended with {code} before it was done"))
        else:
            self._take(seed, kind, what, meter)
        return bool(self.running or self.waiting)

    def stop(self) -> None:
        """Ask every process once to save and end, and start no more."""
        self.waiting = []
        if not self.stopping:
            self.stopping = True
            for process in self.running.values():
                process.terminate()

    def _start(self, seed: int) -> None:
        arguments = (self.work, self.options, seed, self.out / f"seed-{seed}", self.heard)
        self.running[seed] = self.context.Process(target=_run, args=arguments)
        self.running[seed].start()

    def _take(self, seed: int, kind: str, what: Any, meter: Meter) -> None:
        if kind == "line":
            self.epochs[seed] = what["epoch"]
            meter.show(what, done=sum(self.epochs.values()))
            return
        self.running.pop(seed).join()
        if kind == "result":
            self.results[seed], self.epochs[seed] = what, self.options.train.epochs
        else:
            self.errors.append(what)


def _run(work: Work, options: TrainOptions, seed: int, folder: Path, heard: Any) -> None:
    """Do the work in a process; Ctrl-C is for the first one to hear, which asks the others to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with show_log():
        try:
            result = work(options, seed, folder, lambda line: heard.put((seed, "line", line)))
            heard.put((seed, "result", result))
        except (GecoError, ValueError, OSError, MemoryError) as error:
            heard.put((seed, "error", error))
