"""Start processes that train together on this machine, and turn what becomes of them into one line: who failed, why.

A process that fails says so in its last words, as JSON. One that is killed cannot; one that hangs is the one that stays
silent when the others have waited in vain. The others then fail too, which is nobody's fault and is not told.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from geco.distributed.runtime import WorkerLost
from geco.errors import CheckpointError, DataError, GecoError, Interrupted, ResourceError, UsageError

__all__ = ["Place", "WorkerFailed", "launch"]

logger = logging.getLogger(__name__)

LOOK = 0.2  # seconds between two looks at the processes
GRACE = 10.0  # seconds the others have to notice that one has failed, and to say what they know
PLAIN = (UsageError.exit_code, DataError.exit_code, CheckpointError.exit_code)  # what is wrong, whichever rank says so


class WorkerFailed(GecoError):
    """What ended a run of several processes.

    Args:
        line: rank and reason.
        code: to leave with.
        again: whether a new start may help.
    """

    def __init__(self, line: str, code: int, again: bool = False) -> None:
        super().__init__(line)
        self.exit_code, self.again = code, again


@dataclass(frozen=True)
class Place:
    """Where a process stands among those that train together.

    Args:
        rank: its number, from 0.
        size: how many there are.
        local: its number on its machine.
        meeting: where they find each other, see `joined`.
        attempt: 0, or how often all were started again.
    """

    rank: int
    size: int
    local: int
    meeting: str = "env://"
    attempt: int = 0

    @classmethod
    def of_environment(cls) -> Place | None:
        """Return the place that torchrun gives in RANK, WORLD_SIZE and LOCAL_RANK; None without it, or if alone."""
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")
        if not all(name in os.environ for name in names) or os.environ["WORLD_SIZE"] == "1":
            return None
        rank, size, local = (int(os.environ[name]) for name in names[:3])
        return cls(rank, size, local)


Work = Callable[[Any, Place], None]
Explain = Callable[[BaseException], tuple[str, int]]


def launch(
    work: Work,
    given: Any,
    size: int,
    *,
    timeout: float,
    restarts: int = 0,
    stopped: Callable[[], bool] = lambda: False,
    explain: Explain,
) -> None:
    """Do work in so many processes; raise WorkerFailed or Interrupted if it was not done.

    Args:
        work: called in each with ``given`` and its place.
        given: what all are given.
        size: how many.
        timeout: seconds they wait for each other, for the message about one that hangs.
        restarts: how often all are started again after one was killed, hung, or had too little memory.
        stopped: asked whether to ask all to stop.
        explain: turns what a process raises into a line and an exit code.
    """
    for attempt in range(restarts + 1):
        crew = _Crew(work, given, size, attempt, explain)
        try:
            crew.run(stopped)
            failure = crew.failure(timeout)
        finally:
            crew.end()
        if failure is None:
            return
        if attempt == restarts or not getattr(failure, "again", False):
            raise failure
        logger.warning(f"{failure}; all start again from the last checkpoint ({attempt + 1} of {restarts})")


class _Crew:
    """The processes of one start, and what they have said."""

    def __init__(self, work: Work, given: Any, size: int, attempt: int, explain: Explain) -> None:
        context = multiprocessing.get_context("spawn")
        self.folder = tempfile.TemporaryDirectory(prefix="geco-")
        meeting = (Path(self.folder.name) / "meeting").as_uri()
        self.processes: list[SpawnProcess] = []
        self.ears: list[Connection] = []
        self.words: dict[int, dict[str, Any]] = {}  # last ones, in the order in which they came
        self.stopping = False
        for rank in range(size):
            ear, mouth = context.Pipe(duplex=False)
            place = Place(rank, size, rank, meeting, attempt)
            process = context.Process(target=_run, args=(work, given, place, explain, mouth))
            process.start()
            mouth.close()
            self.processes.append(process)
            self.ears.append(ear)

    def run(self, stopped: Callable[[], bool]) -> None:
        """Wait until all have ended, or some have failed and the others had their time to end too."""
        end = float("inf")
        while (alive := [p for p in self.processes if p.is_alive()]) and time.monotonic() < end:
            if stopped() and not self.stopping:
                self.stopping = True
                for process in alive:
                    process.terminate()
            wait([p.sentinel for p in alive], timeout=LOOK)
            self._listen()
            if end == float("inf") and self._troubled():
                end = time.monotonic() + GRACE
        self._listen()

    def failure(self, timeout: float) -> GecoError | None:
        """Return what ended the run; None if all is done."""
        said = {rank: words for rank, words in self.words.items() if not words["lost"]}
        for rank, words in said.items():
            if words["code"] != Interrupted.exit_code:
                plain, code = words["code"] in PLAIN, words["code"]
                line = words["line"] if plain else f"rank {rank}: {words['line']}"
                return WorkerFailed(line, code, again=code == ResourceError.exit_code)
        codes = {rank: p.exitcode for rank, p in enumerate(self.processes) if rank not in self.words}
        dead = {rank: code for rank, code in codes.items() if code}
        if said or (self.stopping and dead and set(dead.values()) <= {-signal.SIGTERM}):
            line = next((words["line"] for _, words in sorted(said.items())), "stopped before anything was trained")
            return Interrupted(line)
        why = [f"rank {rank} {_end(code)}" for rank, code in dead.items()]
        why = why or [f"rank {rank} hangs: no answer within {timeout:g} s" for rank, c in codes.items() if c is None]
        why = why or [f"rank {rank}: {words['line']}" for rank, words in self.words.items()]
        if not why:
            return None
        more = "what was saved is good, go on with --resume auto"
        return WorkerFailed(f"{'; '.join(why)}; {more}", ResourceError.exit_code, again=True)

    def end(self) -> None:
        """Leave no process behind."""
        for process in self.processes:
            process.kill()
        for process, ear in zip(self.processes, self.ears, strict=True):
            process.join()
            ear.close()
        self.folder.cleanup()

    def _listen(self) -> None:
        for rank, ear in enumerate(self.ears):
            if rank not in self.words and ear.poll():
                try:
                    self.words[rank] = json.loads(ear.recv_bytes())
                except EOFError:  # it ended without any
                    continue

    def _troubled(self) -> bool:
        """Tell whether one has failed; one that stopped as asked has not, and the first may still be saving."""
        failed = any(words["code"] != Interrupted.exit_code for words in self.words.values())
        return failed or any(p.exitcode for rank, p in enumerate(self.processes) if rank not in self.words)


def _end(code: int) -> str:
    """Return how a process ended that said nothing."""
    if code > 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    return f"was killed by {name}{', as systems do when memory runs out' if name == 'SIGKILL' else ''}"


def _run(work: Work, given: Any, place: Place, explain: Explain, mouth: Connection) -> None:
    """Do the work in a process; Ctrl-C is for the first process, which asks the others to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = 0
    try:
        work(given, place)
    except BaseException as error:
        line, code = explain(error)
        words = {"line": line, "code": code, "lost": isinstance(error, WorkerLost)}
        with contextlib.suppress(OSError):  # who listened may have been killed
            mouth.send_bytes(json.dumps(words).encode())
    mouth.close()
    gc.collect()  # ends what makes batches, which would be waited for at the end without being asked to end
    sys.exit(code)
