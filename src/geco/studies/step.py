"""One training step side by side: our layer, the plain composition, fused attention, GPS and SGFormer.

``python -m geco.studies.step`` prints, for each graph, time of a forward pass without gradients and of
forward+backward, bytes held between them, and peak memory of a step above its inputs, each beside that of our layer in
the same run. The models take turns, and each keeps its best time: a shared machine's speed changes by half within
minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from geco.console import print_table
from geco.machine import reset_peak, resident
from geco.studies.contenders import CONTENDERS, QUADRATIC, Contender, make, random_graph, real_graph
from geco.studies.measure import held_bytes, in_turns, write_json

NODES = [1024, 2048, 16384, 32768, 131072, 169343]


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    options = parse(arguments)
    warnings.filterwarnings("ignore", message="Sparse")  # torch's notices about CSR, from the plain composition
    results = []
    for label, edges, nodes in graphs(options):
        names = [n for n in options.models if nodes <= QUADRATIC.get(n, nodes)]
        rows = measure(names, edges, nodes, options)
        results += [{"graph": label, "nodes": nodes, "edges": edges.shape[1], **row} for row in rows]
        show(label, edges, nodes, rows)
        sys.stdout.flush()
    words = sys.argv[1:] if arguments is None else arguments
    write_json(options.json, shlex.join(["python", "-m", "geco.studies.step", *words]), results)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.step", description=__doc__)
    parser.add_argument(
        "--nodes", type=int, nargs="*", default=NODES, help="sizes of random graphs of average degree 10"
    )
    parser.add_argument(
        "--real", nargs="*", default=["flickr", "arxiv"], choices=["flickr", "arxiv"], help="real structures"
    )
    parser.add_argument(
        "--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of the real structures"
    )
    parser.add_argument("--models", nargs="+", default=list(CONTENDERS), choices=list(CONTENDERS), metavar="MODEL")
    parser.add_argument("--channels", type=int, default=108)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the results here")
    return parser.parse_args(arguments)


def graphs(options: argparse.Namespace) -> list[tuple[str, Tensor, int]]:
    """Return label, edges and number of nodes of each graph asked for and present."""
    found = [(f"random, {n:,} nodes", random_graph(n), n) for n in options.nodes]
    for name in options.real if options.data_dir else []:
        graph = real_graph(name, Path(options.data_dir))
        if graph is not None:
            found.append((f"{name}, {graph[1]:,} nodes", *graph))
    return found


def measure(names: list[str], edges: Tensor, nodes: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return every contender's row: seconds and bytes."""
    x, top = torch.randn(nodes, options.channels, requires_grad=True), torch.randn(nodes, options.channels)
    contenders = {name: make(name, edges, nodes, options.channels) for name in names}
    runs: dict[str, Callable[[], object]] = {}
    for name, contender in contenders.items():
        runs[f"{name} inference"] = partial(_infer, contender, x)
        runs[f"{name} step"] = partial(_step, contender, x, top)
    times = in_turns(runs, options.repeats)
    rows = []
    for name, c in contenders.items():
        held = held_bytes(partial(c.step, x), [x, edges, *c.module.parameters(), *c.module.buffers()])
        seconds = {kind: times[f"{name} {kind}"] for kind in ("inference", "step")}
        rows.append({"model": name, **seconds, "held": held, "peak": peak(name, edges, nodes, options.channels)})
    return rows


def _infer(contender: Contender, x: Tensor) -> None:
    with torch.no_grad():
        contender.step(x)


def _step(contender: Contender, x: Tensor, top: Tensor) -> None:
    for t in (x, *contender.module.parameters()):
        t.grad = None
    contender.step(x).backward(top)


def peak(name: str, edges: Tensor, nodes: int, channels: int) -> int | None:
    """Return the peak memory of a step above its inputs, in a process of its own."""
    if sys.platform != "linux":
        return None
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (name, edges.numpy(), nodes, channels))


def _peak(name: str, edges: Any, nodes: int, channels: int) -> int:
    warnings.filterwarnings("ignore", message="Sparse")
    contender = make(name, torch.from_numpy(edges), nodes, channels)
    x, top = torch.randn(nodes, channels, requires_grad=True), torch.randn(nodes, channels)
    _step(contender, x, top)  # adjacency and plans are built once, not at every step
    for t in (x, *contender.module.parameters()):
        t.grad = None
    before = resident("VmRSS")
    reset_peak()
    contender.step(x).backward(top)
    return resident() - before


def show(label: str, edges: Tensor, nodes: int, rows: list[dict[str, Any]]) -> None:
    """Print one graph's table; ratios are to the first contender."""
    print(f"\n{label}, {edges.shape[1]:,} edges")
    first = rows[0]
    table = [["model", "inference", "ratio", "forward+backward", "ratio", "held MB", "ratio", "peak MB"]]
    for row in rows:
        table.append([
            row["model"], f"{1e3 * row['inference']:.1f} ms", f"{row['inference'] / first['inference']:.2f}",
            f"{1e3 * row['step']:.1f} ms", f"{row['step'] / first['step']:.2f}", f"{row['held'] / 1e6:.1f}",
            f"{row['held'] / first['held']:.2f}", "" if row["peak"] is None else f"{row['peak'] / 1e6:.0f}",
        ])  # fmt: skip
    print_table(table)


if __name__ == "__main__":
    main()
