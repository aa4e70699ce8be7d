"""Which algorithm is faster for which rings: ``python -m geco.studies.plans`` times `GECOConv` by either.

The first of `geco.nn.ops.limits` are read off its tables: ratios below 1 say that products are faster than FFTs. Both
take turns, and each keeps its best time.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from geco.console import print_table
from geco.nn import GECOConv
from geco.nn.filters import FilterName
from geco.nn.graph.prepare import Graph
from geco.nn.ops import limits
from geco.studies.contenders import random_graph
from geco.studies.measure import in_turns, write_json

__all__ = ["main"]

FILTERS: tuple[FilterName, ...] = ("waves", "windows")
LONG = [2048, 4096, 4099, 8192, 8191, 16384, 16381, 32768, 65536, 65521]  # nodes of one ring
SHORT = [(1, 64), (1, 256), (1, 509), (1, 1024), (2, 450), (2, 1024), (8, 1024), (32, 450), (64, 150), (128, 25)]
FAR = 2**62
LIMITS = {  # what makes one algorithm run whatever the rings are
    "fft": {"LONG_RING": FAR, "LONG_RING_OF_WINDOWS": FAR, "SHORT_RING": 0, "SHORT_RING_OF_WINDOWS": 0},
    "long": {"LONG_RING": 0, "LONG_RING_OF_WINDOWS": 0, "SHORT_RING": 0, "SHORT_RING_OF_WINDOWS": 0},
    "short": {"LONG_RING": FAR, "LONG_RING_OF_WINDOWS": FAR, "SHORT_RING": FAR, "SHORT_RING_OF_WINDOWS": FAR},
}


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.plans", description=__doc__)
    parser.add_argument("--channels", type=int, default=108)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args(arguments)
    results = []
    for filter in FILTERS:
        for name, rings in (("long", [(1, n) for n in LONG]), ("short", SHORT)):
            found = [measure(filter, name, *ring, options.channels, options.repeats) for ring in rings]
            results += found
            rows = [[f"{r['rings']} x {r['nodes']:,}", f"{r['forward']:.2f}", f"{r['step']:.2f}"] for r in found]
            print_table([[f"{filter}: rings", f"{name} / fft, inference", "forward and backward"], *rows])
            sys.stdout.flush()
    words = sys.argv[1:] if arguments is None else arguments
    write_json(options.json, shlex.join(["python", "-m", "geco.studies.plans", *words]), results)


def measure(filter: FilterName, name: str, rings: int, nodes: int, channels: int, repeats: int) -> dict[str, Any]:
    """Return the time by an algorithm as a multiple of that by FFT, for inference and for a step."""
    edges = torch.cat([random_graph(nodes) + nodes * ring for ring in range(rings)], 1)
    batch = torch.arange(rings).repeat_interleave(nodes)
    x, top = (torch.randn(rings * nodes, channels) for _ in range(2))
    runs: dict[str, Callable[[], object]] = {}
    for algorithm in (name, "fft"):  # each with filters of its own, which remember spectra
        conv = GECOConv(channels, filter=filter)
        graph = conv.prepare(x, edges, batch if rings > 1 else None)
        runs[f"{algorithm} forward"] = partial(_infer, conv, x, graph, algorithm)
        runs[f"{algorithm} step"] = partial(_step, conv, x.clone().requires_grad_(), graph, top, algorithm)
    times = in_turns(runs, repeats)
    ratios = {kind: times[f"{name} {kind}"] / times[f"fft {kind}"] for kind in ("forward", "step")}
    return {"filter": filter, "algorithm": name, "rings": rings, "nodes": nodes, **ratios}


def _infer(conv: GECOConv, x: Tensor, graph: Graph, algorithm: str) -> None:
    with torch.no_grad(), _only(algorithm):
        conv(x, graph=graph)


def _step(conv: GECOConv, x: Tensor, graph: Graph, top: Tensor, algorithm: str) -> None:
    with _only(algorithm):
        conv(x, graph=graph).backward(top)


def _only(algorithm: str) -> ExitStack:
    stack = ExitStack()
    for name, value in LIMITS[algorithm].items():
        stack.enter_context(mock.patch.object(limits, name, value))
    return stack


if __name__ == "__main__":
    main()
