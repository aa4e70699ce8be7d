"""The batch contract, checked one way for every layer: a graph's output is its own, whoever is in the batch with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tests.conftest import random_edges

Run = Callable[[Tensor, Tensor, Tensor | None, Tensor], Tensor]  # x, edge_index, batch, edge_attr
SIZES = (1, 5, 97, 1, 130, 40, 2, 40)


@dataclass(frozen=True)
class Toy:
    x: Tensor
    edges: Tensor
    attr: Tensor


def toy(nodes: int, channels: int, seed: int = 0) -> Toy:
    """A random graph; that of 40 nodes has no edges."""
    generator = torch.Generator().manual_seed(1000 * seed + nodes)
    edges = random_edges(nodes, degree=0 if nodes == 40 else 3, seed=nodes)
    x, attr = (torch.randn(n, channels, generator=generator) for n in (nodes, edges.shape[1]))
    return Toy(x, edges, attr)


def joined(toys: Sequence[Toy]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Several graphs as one batch, with a graph without nodes after each."""
    starts = torch.tensor([0, *(len(t.x) for t in toys)]).cumsum(0).tolist()
    edges = torch.cat([t.edges + start for t, start in zip(toys, starts, strict=False)], 1)
    batch = torch.cat([torch.full((len(t.x),), 2 * place) for place, t in enumerate(toys)])
    return torch.cat([t.x for t in toys]), edges, batch, torch.cat([t.attr for t in toys])


def assert_same(found: Tensor, wanted: Tensor, what: str, tolerance: float = 1e-5) -> None:
    error = float((found - wanted).detach().abs().max()) / max(1.0, float(wanted.detach().abs().max()))
    assert error < tolerance, f"{what}: {error:.1e}"


def assert_contract(run: Run, channels: int, sizes: Sequence[int] = SIZES) -> None:
    """Alone, first, in the middle and last; with other mates; with nodes of the graphs mingled."""
    toys = [toy(n, channels, seed) for seed, n in enumerate(sizes)]
    alone = [run(t.x, t.edges, None, t.attr) for t in toys]
    assert float(torch.cat(alone).detach().abs().max()) > 1e-2  # not all zero
    everyone = range(len(toys))
    for order in (
        list(everyone),
        list(reversed(everyone)),
        [*everyone[3:], *everyone[:3]],
        [2, 0] if len(toys) > 2 else [0],
    ):
        out = run(*joined([toys[i] for i in order])).split([len(toys[i].x) for i in order])
        for i, y in zip(order, out, strict=True):
            assert_same(y, alone[i], f"graph {i} of {len(y)} nodes in {order}")
    others = [t if i == 1 else replace(t, x=100 * t.x + 3) for i, t in enumerate(toys)]
    out = run(*joined(others)).split([len(t.x) for t in toys])
    assert_same(out[1], alone[1], "graph 1 with other mates")
    x, edges, batch, attr = joined(toys)
    mingled = torch.argsort(_place(batch), stable=True)  # first nodes of all graphs, then second ones
    back = torch.argsort(mingled)
    assert_same(run(x[mingled], back[edges], batch[mingled], attr)[back], torch.cat(alone), "mingled nodes")


def _place(batch: Tensor) -> Tensor:
    """Place of each node in its graph."""
    first = torch.searchsorted(batch, batch)
    return torch.arange(len(batch)) - first
