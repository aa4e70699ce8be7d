"""Time and memory of an encoding, known before the work begins."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from geco.data.encodings.base import Array, Encoding
from geco.errors import ResourceError
from geco.machine import available_memory

__all__ = ["Graph", "announce", "check_memory", "seconds_needed"]

logger = logging.getLogger(__name__)

SAMPLES = 9  # graphs measured
RATE = 5e8  # multiply-adds a second where too few graphs are there to measure
LONG = 10.0  # seconds from which the estimate is shown
QUICK = 1e8  # multiply-adds that need no estimate


Graph = tuple[Any, ...]  # the arguments of an encoding of one graph: edges, N, weights, and colours if it takes any


def seconds_needed(encoding: Encoding, nodes: Array, edges: Array, graph: Callable[[int], Graph]) -> float:
    """Return the seconds one process needs, measured on graphs from the smallest to the large ones.

    Args:
        encoding: which.
        nodes: of each graph, ``(B,)``.
        edges: of each graph, ``(B,)``.
        graph: gives the arguments of ``encoding.compute`` of a graph.
    """
    if not len(nodes):
        return 0.0
    work = np.array([encoding.work(int(n), int(m)) for n, m in zip(nodes, edges, strict=True)])
    if work.sum() < QUICK or len(nodes) < 10 * SAMPLES:
        return float(work.sum()) / RATE
    order = np.argsort(work, kind="stable")
    chosen = order[np.linspace(0, 0.95 * (len(order) - 1), SAMPLES).astype(int)]  # the very largest may be long
    taken = []
    with threadpool_limits(1):
        encoding.compute(*graph(int(chosen[0])))  # warm-up
        for index in chosen:
            begin = time.perf_counter()
            encoding.compute(*graph(int(index)))
            taken.append(time.perf_counter() - begin)
    beyond = np.maximum(work / max(work[chosen[-1]], 1.0), 1.0)  # larger than the largest that was measured
    return float((np.interp(work, work[chosen], taken) * beyond).sum())


def check_memory(encoding: Encoding, nodes: Array, edges: Array, workers: int) -> float:
    """Return the bytes needed at the peak, or refuse if there are not as many."""
    each = max((encoding.memory(int(n), int(m)) for n, m in zip(nodes, edges, strict=True)), default=0.0)
    result = 8.0 * encoding.width * float(nodes.sum())  # once computed, once written
    needed = each * max(1, workers) + result
    there = available_memory(swap=False)
    if there is not None and needed > there:
        raise ResourceError(
            f"{encoding.name} needs about {needed / 2**30:.1f} GiB of memory, {there / 2**30:.1f} GiB are available; "
            "ask for fewer columns or workers"
        )
    return needed


def announce(what: str, seconds: float, memory: float) -> None:
    """Log time and memory of work that takes long."""
    if seconds > LONG:
        span = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
        logger.info(
            f"{what}: about {span} and {memory / 2**30:.1f} GiB of memory; it is kept in the cache for the next time"
        )
