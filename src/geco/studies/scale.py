"""How a step grows with the graph: ``python -m geco.studies.scale`` prints what doubling N costs, and peak resident
memory.

Erdős–Rényi graphs of average degree 10. The two sizes of a doubling take turns in one process, step by step, and each
keeps its best time: a shared machine's speed changes by half within minutes, which would otherwise fall on one size
alone. Memory is that of a process of its own. ``--nodes 4194304`` alone gives one size. Processes keep the memory they
free (`KEEP_PAGES`): otherwise every large tensor of every step is paged in again, and that is what is measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from geco.console import print_table
from geco.machine import resident
from geco.studies.contenders import CONTENDERS, make, random_graph
from geco.studies.measure import in_turns, write_json

T = TypeVar("T")
# glibc: take large blocks from the heap, and keep the heap.
KEEP_PAGES = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.scale", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2**k for k in range(14, 22)])
    parser.add_argument("--model", default="geco conv", choices=list(CONTENDERS))
    parser.add_argument("--channels", type=int, default=108)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=150.0, help="at most, of each size of a doubling")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    for name, value in KEEP_PAGES.items():  # read by the processes started from here on
        os.environ.setdefault(name, value)
    sizes = options.nodes
    results = []
    for before, nodes in zip([None, *sizes], sizes, strict=False):
        peak = _apart(peak_of, options.model, nodes, options.channels)
        pair = [n for n in (before, nodes) if n]
        times = _apart(turns, options.model, pair, options.channels, options.repeats, options.seconds)
        growth = times[-1] / times[0] if before else None
        results.append({"model": options.model, "nodes": nodes, "step": times[-1], "growth": growth, "peak": peak})
        print(f"{nodes:,} nodes done", file=sys.stderr)
    print(f"{options.model}, {options.channels} channels, {torch.get_num_threads()} threads")
    print_table(table(results))
    write_json(options.json, "python -m geco.studies.scale " + " ".join(sys.argv[1:]), results)


def table(results: list[dict[str, Any]]) -> list[list[str]]:
    """Return the rows to print; growth is over the size before, both measured in turns."""
    rows = [["nodes", "forward+backward", "growth", "peak resident"]]
    for row in results:
        growth = "" if row["growth"] is None else f"{row['growth']:.2f}"
        rows.append([f"{row['nodes']:,}", f"{row['step']:.2f} s", growth, f"{row['peak'] / 2**30:.2f} GiB"])
    return rows


def _apart(run: Callable[..., T], *arguments: Any) -> T:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(run, arguments)


def turns(name: str, sizes: list[int], channels: int, repeats: int, limit: float) -> list[float]:
    """Return the best time of a step at each size, the sizes taking turns."""
    return list(in_turns({str(nodes): make_step(name, nodes, channels) for nodes in sizes}, repeats, limit).values())


def peak_of(name: str, nodes: int, channels: int) -> int:
    """Return the peak resident memory of a process that makes a graph and takes two steps, graph and features
    included.
    """
    step = make_step(name, nodes, channels)
    step()
    step()
    return resident()


def make_step(name: str, nodes: int, channels: int) -> Callable[[], None]:
    """Return a forward and backward pass on a random graph."""
    contender = make(name, random_graph(nodes), nodes, channels)
    x, top = torch.randn(nodes, channels, requires_grad=True), torch.randn(nodes, channels)

    def step() -> None:
        for t in (x, *contender.module.parameters()):
            t.grad = None
        contender.step(x).backward(top)

    return step


if __name__ == "__main__":
    main()
