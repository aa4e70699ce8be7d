"""Time and memory of a step. Times are for ratios within one run: best of several, all threads, nothing else
running.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import Tensor

from geco.machine import environment

__all__ = ["best_of", "held_bytes", "in_turns", "write_json"]


def best_of(run: Callable[[], object], repeats: int, limit: float = 30.0, warm: bool = True) -> float:
    """Return the best time of ``run`` in seconds after one warm-up, stopping early once ``limit`` seconds have
    passed.
    """
    start = time.perf_counter()
    if warm:
        run()
    times: list[float] = []
    while len(times) < repeats and (not times or time.perf_counter() - start < limit):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def in_turns(
    runs: dict[str, Callable[[], object]],
    repeats: int,
    limit: float = 60.0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the best time of each in seconds, all taking turns after one that warms up, until it has taken ``limit``
    seconds.

    Example:
        >>> sorted(in_turns({"a": lambda: 1, "b": lambda: 2}, repeats=2))
        ['a', 'b']
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats + 1):
        for name, run in runs.items():
            if sum(times[name]) < limit:
                begin = clock()
                run()
                times[name].append(clock() - begin)
    return {name: min(found[1:] or found) for name, found in times.items()}


def held_bytes(run: Callable[[], Tensor], known: Iterable[Tensor]) -> int:
    """Return the bytes autograd holds between forward and backward, without those of tensors that exist anyway."""
    there = {t.untyped_storage().data_ptr() for t in known}
    found: dict[int, int] = {}

    def keep(t: Tensor) -> Tensor:
        if t.layout == torch.strided and t.untyped_storage().data_ptr() not in there:
            found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        out = run()
    total = sum(found.values())
    out.sum().backward()  # until here the graph kept every counted storage alive, so none was counted for another
    return total


def write_json(path: Path | None, command: str, results: object) -> None:
    """Write results with their command and environment."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"command": command, "environment": environment(), "results": results}, indent=2) + "\n"
        )
        print(f"\nwritten to {path}")
