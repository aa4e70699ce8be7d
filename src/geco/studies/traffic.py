"""What one layer sends when a graph is shared out: ``python -m geco.studies.traffic``, counted in real processes.

Numbers that the busiest rank sends forward (backward sends as many again), by what they are for, beside the bound for
whole rings by channels, (K + 3) N D (P - 1) / P². The graph is a ring of neighbours, as an order of structure makes of
what is long, or one of random edges, where every rank wants nearly every row.

Shapes: N nodes, D channels, K order, P ranks.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, multiprocessing

from geco.console import print_table
from geco.distributed.exchange import Ranks, Traffic
from geco.distributed.shard import shard
from geco.nn import GECOLayer
from geco.nn.filters import FilterName
from geco.nn.graph.prepare import prepare

__all__ = ["KINDS", "Layer", "bound", "counted", "main"]

KINDS = ("edges", "ring", "sum", "channels")  # of `Traffic`
ORDER, CHANNELS = 2, 16
FILTERS: tuple[FilterName, ...] = ("mean", "waves", "windows", "paper")


class Layer(NamedTuple):
    """What is counted: a layer with this filter on a graph."""

    filter: FilterName
    nodes: int
    graph: Literal["neighbours", "random"] = "neighbours"


def bound(nodes: int, ranks: int) -> float:
    """Return (K + 3) N D (P - 1) / P².

    >>> bound(1024, 2)
    20480.0
    """
    return (ORDER + 3) * nodes * CHANNELS * (ranks - 1) / ranks**2


def counted(layers: list[Layer], size: int) -> list[list[dict[str, int]]]:
    """Return what each of so many ranks sends for each layer, by kind: ``forward KIND`` and ``backward KIND``."""
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_start, (size, folder, layers), nprocs=size)  # type: ignore[attr-defined,no-untyped-call]
        return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(size)]


def _start(rank: int, size: int, folder: str, layers: list[Layer]) -> None:
    torch.set_num_threads(1)
    store, wait = f"file://{folder}/store", timedelta(seconds=60)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size, timeout=wait)
    found = [_sent(layer, Ranks.of()) for layer in layers]
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def _sent(case: Layer, ranks: Ranks) -> dict[str, int]:
    torch.manual_seed(0)
    layer = GECOLayer(CHANNELS, ORDER, filter=case.filter)  # the same for any number of nodes
    x = torch.randn(case.nodes, CHANNELS)
    traffic = Traffic()
    part = shard(prepare(x, _edges(case)), replace(ranks, traffic=traffic))
    traffic.elements.clear()  # who sends what was said once
    y = layer(x[part.nodes].requires_grad_(), graph=part)
    forward = Counter(traffic.elements)
    y.square().sum().backward()
    back = traffic.elements - forward
    return {f"{way} {kind}": sent[kind] for way, sent in (("forward", forward), ("backward", back)) for kind in KINDS}


def _edges(case: Layer) -> Tensor:
    if case.graph == "random":
        return torch.randint(0, case.nodes, (2, 8 * case.nodes))
    node = torch.arange(case.nodes)
    steps = [torch.stack([node, (node + step) % case.nodes]) for step in (-2, -1, 1, 2)]
    return torch.cat(steps, 1)


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.traffic", description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="P")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1024, 4096, 16384], help="N")
    options = parser.parse_args(arguments)
    graphs: tuple[Literal["neighbours", "random"], ...] = ("neighbours", "random")
    layers = [Layer(filter, n, graph) for graph in graphs for filter in FILTERS for n in options.nodes]
    rows = [["graph", "filter", "N", *KINDS, "(K+3)ND(P-1)/P²"]]
    for i, each in enumerate(zip(*counted(layers, options.ranks), strict=True)):
        layer = layers[i]
        busiest = max(each, key=lambda sent: sum(sent[f"forward {kind}"] for kind in KINDS))
        sent = [f"{busiest[f'forward {kind}']:,}" for kind in KINDS]
        rows.append([layer.graph, layer.filter, f"{layer.nodes:,}", *sent, f"{bound(layer.nodes, options.ranks):,.0f}"])
    print_table(rows)


if __name__ == "__main__":
    main()
