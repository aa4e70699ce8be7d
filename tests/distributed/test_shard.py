"""One graph over several ranks is the graph on one: outputs, gradients, statistics, and weights after training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest import mock

import pytest
import torch
from torch import Tensor, nn

from geco import GECO
from geco.distributed.exchange import Ranks
from geco.distributed.gradients import sum_gradients
from geco.distributed.runtime import Workers
from geco.distributed.shard import GraphShard, shard
from geco.distributed.training import all_rows, check_same_weights, mean_over_ranks
from geco.errors import UsageError
from geco.nn.graph.prepare import prepare
from geco.nn.ops.global_context import global_context
from tests.conftest import random_edges
from tests.distributed.workers import in_processes

STEPS = 20  # of the optimiser, where weights after training are compared


class Case(NamedTuple):
    """A graph and a network on it."""

    nodes: int
    filter: str
    permutation: str = "static"
    hidden: int = 6
    propagation: str = "auto"
    options: Mapping[str, Any] = MappingProxyType({})
    steps: int = 2


CASES = {
    "none": Case(331, "none"),
    "mean": Case(331, "mean", steps=STEPS),
    "waves": Case(331, "waves", "natural", steps=STEPS),
    "windows": Case(331, "windows", "natural"),
    "windows-static": Case(331, "windows", "static"),
    "windows-structure": Case(331, "windows", "structure", steps=STEPS),
    "paper": Case(331, "paper", steps=STEPS),
    "paper-structure": Case(331, "paper", "structure", 5, options={"filter_kwargs": {"gain": "l1"}}),
    "long-mean": Case(4099, "mean"),
    "long-waves": Case(4099, "waves", "structure", options={"filter_kwargs": {"harmonics": 3}}),
    "long-windows": Case(4099, "windows"),
    "halo": Case(331, "mean", propagation="halo"),
    "channels": Case(331, "windows", propagation="channels"),
    "attention": Case(331, "windows", propagation="halo", options={"adjacency": "attention"}),
    "row": Case(331, "mean", "structure", options={"adjacency": "row", "order": 3}),
    "order-1": Case(331, "paper", options={"order": 1}),
    "shorter-than-a-window": Case(97, "windows", options={"filter_kwargs": {"harmonics": 2}}),
    "too-short-for-waves": Case(23, "windows"),
    "fewer-channels-than-ranks": Case(64, "paper", hidden=2, propagation="channels"),
    "empty-shards": Case(3, "windows"),
    "empty-shards-paper": Case(3, "paper", propagation="channels"),
    "empty-shards-mean": Case(3, "mean", propagation="halo"),
}


def network(case: Case) -> GECO:
    torch.manual_seed(0)
    found = GECO(5, case.hidden, 2, 3, filter=case.filter, permutation=case.permutation, **case.options).double()  # type: ignore[arg-type]
    for name, weight in found.named_parameters():
        if "mix" in name:
            nn.init.normal_(weight, std=0.05)  # waves and windows start at zero: there would be nothing to see
    return found


def data(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(case.nodes, 5, dtype=torch.float64, generator=generator)
    edges = random_edges(case.nodes, 2)
    near = torch.arange(case.nodes - 1)  # a path, so that structure has an order
    edges = torch.cat([edges, torch.stack([near, near + 1]), torch.stack([near + 1, near])], 1)
    return x, edges, torch.randn(case.nodes, 3, dtype=torch.float64, generator=generator)


def trained(net: GECO, run: Callable[[], tuple[Tensor, Tensor]], ranks: Ranks, steps: int) -> dict[str, Any]:
    """Output and gradients of the first step, and weights and statistics after the last."""
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    found: dict[str, Any] = {}
    for _ in range(steps):
        optimiser.zero_grad()
        y, loss = run()
        loss.backward()
        sum_gradients(net.parameters(), Workers(ranks.rank, ranks.size), float(loss.detach()))
        if not found:
            grads = {f"gradient of {name}": p.grad for name, p in net.named_parameters()}
            found = {"output": y.detach(), **{name: g.clone() for name, g in grads.items() if g is not None}}
        optimiser.step()
    net.eval()
    return {**found, **net.state_dict(), "evaluated": run()[0].detach()}


def compared(case: Case, ranks: Ranks) -> dict[str, float]:
    """Errors of all ranks together beside one by itself, which is the first; weights are equal on all of them."""
    x, edges, wanted = data(case)
    alone, shared = network(case), network(case)
    check_same_weights(shared, ranks)
    whole = prepare(x, edges, None, None, None, shared.layers[0].conv.local.normalisation)
    part = shard(shared.ordered(whole), ranks, shared.layers[0].conv.local.normalisation, x.dtype, case.propagation)  # type: ignore[arg-type]
    rows, goal = x[part.nodes], wanted[part.nodes]

    def by_shards() -> tuple[Tensor, Tensor]:
        y = shared(rows, graph=part)
        return all_rows(y, part, ranks), mean_over_ranks((y - goal).square().sum(), len(rows), ranks)

    def by_itself() -> tuple[Tensor, Tensor]:
        y = alone(x, edges)
        return y, (y - wanted).square().sum() / len(x)

    found = trained(shared, by_shards, ranks, case.steps)
    check_same_weights(shared, ranks)
    return {} if ranks.rank else errors(found, trained(alone, by_itself, Ranks(), case.steps))


def worker(ranks: Ranks) -> dict[str, Any]:
    return {name: compared(case, ranks) for name, case in CASES.items()}


def errors(found: dict[str, Any], exact: dict[str, Any]) -> dict[str, float]:
    """Errors beside the size of each tensor, or of a thousandth of the largest gradient."""
    assert found.keys() == exact.keys()
    grads = [g.norm() for name, g in exact.items() if name.startswith("gradient")]
    least = 1e-3 * float(max(grads))
    return {
        name: float((found[name].double() - value).norm() / max(float(value.double().norm()), least))
        for name, value in exact.items()
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], list[dict[str, Any]]]:
    return cache(lambda size: in_processes(worker, size, tmp_path_factory.mktemp(f"ranks{size}")))


@pytest.mark.dist
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_ranks_together_are_one(name: str, size: int, found: Callable[[int], list[dict[str, Any]]]) -> None:
    of = found(size)[0][name]
    worst = max(of, key=of.__getitem__)
    assert of[worst] < 1e-12, worst
    assert not math.isnan(sum(of.values()))


def small() -> tuple[Tensor, Tensor]:
    return torch.randn(6, 4), random_edges(6)


LONG = [("mean", 4096, True), ("waves", 8192, True), ("mean", 4095, False), ("paper", 4096, False)]


@pytest.mark.parametrize(("filter", "nodes", "fast"), LONG)
def test_waves_on_a_long_ring_have_the_fast_form(filter: str, nodes: int, fast: bool) -> None:
    layer = GECO(4, 4, 1, filter=filter).layers[0]  # type: ignore[arg-type]
    x, edges = torch.randn(nodes, 4), random_edges(nodes)
    part = shard(prepare(x, edges), Ranks())
    with mock.patch("geco.nn.conv.global_context", wraps=global_context) as fused:
        layer(x, graph=part)
    assert fused.called == fast


def test_a_batch_of_graphs_is_refused() -> None:
    x, edges = small()
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    edges = edges[:, batch[edges[0]] == batch[edges[1]]]
    with pytest.raises(UsageError, match="of one graph, got 2"):
        shard(prepare(x, edges, batch), Ranks())


def test_learned_edge_weights_are_refused() -> None:
    x, edges = small()
    weight = torch.ones(edges.shape[1], requires_grad=True)
    with pytest.raises(UsageError, match="detach"):
        shard(prepare(x, edges, None, weight), Ranks())


def test_other_adjacencies_and_features_are_refused() -> None:
    x, edges = small()
    part = shard(prepare(x, edges), Ranks())
    with pytest.raises(UsageError, match="made for adjacency='sym'"):
        GECO(4, 4, 1, adjacency="row")(x, graph=part)
    with pytest.raises(ValueError, match="layer and graph were made for"):
        GECO(4, 4, 1)(x[:5], graph=part)


def test_attention_by_channels_is_refused() -> None:
    x, edges = small()
    part = shard(prepare(x, edges, normalisation="none"), Ranks(), "none", propagation="channels")
    with pytest.raises(UsageError, match="propagation='halo'"):
        GECO(4, 4, 1, adjacency="attention")(x, graph=part)


def test_dynamic_order_is_refused() -> None:
    x, edges = small()
    with pytest.raises(ValueError, match="'static' or 'structure'"):
        GECO(4, 4, 1, permutation="dynamic").ordered(prepare(x, edges))


def test_a_shard_needs_no_edges_of_others() -> None:
    x, edges = small()
    part = shard(prepare(x, edges), Ranks())
    assert isinstance(part, GraphShard)
    assert part.edge_index.shape == edges.shape
    assert part.batch() is None
