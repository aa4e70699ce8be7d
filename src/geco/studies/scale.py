"""How a step grows with the graph: ``python -m geco.studies.scale`` doubles N and prints time, growth and peak resident memory.

Erdős–Rényi graphs of average degree 10, each size in a process of its own. ``--nodes 4194304`` is the largest of the paper.
Processes keep the memory they free (`KEEP_PAGES`): otherwise every large tensor of every step is paged in anew, and that is
what is measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import torch

from geco.studies.contenders import CONTENDERS, make, random_graph
from geco.studies.measure import best_of, print_table, resident, write_json

# glibc: take large blocks from the heap, and keep the heap.
KEEP_PAGES = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.scale", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2**k for k in range(14, 22)])
    parser.add_argument("--model", default="geco conv", choices=list(CONTENDERS))
    parser.add_argument("--channels", type=int, default=108)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    for name, value in KEEP_PAGES.items():  # read by the processes started from here on
        os.environ.setdefault(name, value)
    rows, results = [["nodes", "edges", "forward+backward", "growth", "peak resident"]], []
    before = None
    for nodes in options.nodes:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            row = pool.apply(measure, (options.model, nodes, options.channels, options.repeats))
        growth = "" if before is None else f"{row['step'] / before:.2f}"
        before = row["step"]
        rows.append([f"{nodes:,}", f"{row['edges']:,}", f"{row['step']:.2f} s", growth, f"{row['peak'] / 2**30:.2f} GiB"])
        results.append(row)
        print(f"{nodes:,} nodes done", file=sys.stderr)
    print(f"{options.model}, {options.channels} channels, {torch.get_num_threads()} threads")
    print_table(rows)
    write_json(options.json, "python -m geco.studies.scale " + " ".join(sys.argv[1:]), results)


def measure(name: str, nodes: int, channels: int, repeats: int) -> dict[str, Any]:
    """Return the best time of a step and the peak resident memory of the whole process, graph and features included."""
    edges = random_graph(nodes)
    contender = make(name, edges, nodes, channels)
    x, top = torch.randn(nodes, channels, requires_grad=True), torch.randn(nodes, channels)

    def step() -> None:
        for t in (x, *contender.module.parameters()):
            t.grad = None
        contender.step(x).backward(top)

    return {
        "model": name,
        "nodes": nodes,
        "edges": edges.shape[1],
        "step": best_of(step, repeats, limit=75),
        "peak": resident(),
    }


if __name__ == "__main__":
    main()
