"""Work spread over processes: results in the order of the tasks, one BLAS thread each, and no process left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from geco.errors import ResourceError

__all__ = ["in_order", "processors"]

T = TypeVar("T")


def processors() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def in_order(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], workers: int) -> Iterator[T]:
    """Yield ``work(*task)`` of each task, in their order, from several processes.

    Each process uses one BLAS thread, so that results do not depend on the number of processes. Only a few results wait
    at a time. When this process dies, however it does, so do the workers.

    Args:
        work: a function of a module, that does not use torch.
        tasks: its arguments.
        workers: number of processes; 0 works in this one.

    Example:
        >>> list(in_order(divmod, [(7, 2), (9, 4)], workers=0))
        [(3, 1), (2, 1)]
    """
    workers = min(workers, len(tasks))
    if workers < 1:
        for task in tasks:
            with threadpool_limits(1):
                result = work(*task)
            yield result
        return
    # A forked worker needs no import, and no guard around the main script.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    pool = ProcessPoolExecutor(workers, context, _begin)
    waiting: deque[Future[T]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(work, *task))
            if len(waiting) > 4 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise ResourceError(
            "a worker process was killed, most likely for want of memory; ask for fewer workers"
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Set up a worker: one thread, the terminal's interrupt is the parent's to handle, and the parent's end is its
    own.
    """
    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
