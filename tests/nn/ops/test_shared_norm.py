"""BatchNorm over rows of several processes is BatchNorm over all of them: values, statistics, gradients.

The processes are threads here; tests/train/test_engine_workers.py has true ones.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm

from geco.nn import GECOConv
from geco.nn.gps.gated_gcn import GatedGCN
from geco.nn.ops.shared_norm import SharedBatchNorm, share_norms
from tests.conftest import random_edges


@dataclass
class Room:
    """Where threads meet."""

    size: int
    said: dict[int, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.size, timeout=20)


@dataclass
class Seat:
    """One thread's place in the room."""

    room: Room
    rank: int
    counted: bool = True

    def __deepcopy__(self, memo: object) -> Seat:
        return self

    def gathered(self, values: Tensor) -> Tensor:
        self.room.said[self.rank] = values.detach().clone()
        self.room.barrier.wait()
        every = torch.stack([self.room.said[rank] for rank in range(self.room.size)])
        self.room.barrier.wait()
        return every


def over(network: nn.Module, calls: list[Callable[[nn.Module], Tensor]], counted: list[bool]) -> list[nn.Module]:
    """Do each call with a copy of a network in a thread of its own, go back through its square, return the copies."""
    room = Room(len(calls))
    copies = [copy.deepcopy(network) for _ in calls]

    def work(rank: int) -> None:
        share_norms(copies[rank], Seat(room, rank, counted[rank]))
        (calls[rank](copies[rank]).square().sum() * counted[rank]).backward()

    with ThreadPoolExecutor(len(calls)) as pool:
        list(pool.map(work, range(len(calls))))
    return copies


def assert_as(copies: list[nn.Module], whole: nn.Module) -> None:
    """The gradients of the copies add up to those of the whole; their statistics are the same."""
    for name, p in whole.named_parameters():
        parts = [dict(c.named_parameters())[name].grad for c in copies]
        total = sum(torch.zeros_like(p) if part is None else part for part in parts)
        torch.testing.assert_close(total, torch.zeros_like(p) if p.grad is None else p.grad, rtol=1e-11, atol=1e-11)
    for one in copies:
        assert [*one.state_dict()] == [*whole.state_dict()]
        for name, value in whole.named_buffers():
            torch.testing.assert_close(dict(one.named_buffers())[name], value, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("rows", [(4, 3), (1, 1), (0, 5), (6, 1, 2)])
def test_as_over_all_rows(rows: tuple[int, ...]) -> None:
    x = torch.randn(sum(rows), 3, dtype=torch.float64) * 2 + 10
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).double()
    whole = copy.deepcopy(network)
    whole(x).square().sum().backward()
    copies = over(network, [lambda net, part=part: net(part) for part in x.split(rows)], [True] * len(rows))
    assert_as(copies, whole)


def test_rows_of_a_stand_in_count_nowhere() -> None:
    x, other = torch.randn(5, 3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).double()
    whole = copy.deepcopy(network)
    whole(x).square().sum().backward()
    assert_as(over(network, [lambda net: net(x), lambda net: net(other)], [True, False]), whole)


def test_a_single_row_in_all_is_taken_as_in_evaluation_mode() -> None:
    x = torch.randn(1, 3, dtype=torch.float64)
    network = nn.ModuleList([BatchNorm(3, allow_single_element=True)]).double()
    whole = copy.deepcopy(network)
    whole[0](x).square().sum().backward()
    assert_as(over(network, [lambda net: net[0](x), lambda net: net[0](x[:0])], [True, True]), whole)


@pytest.mark.parametrize("sizes", [(7, 9), (1, 12)])
def test_geco(sizes: tuple[int, int]) -> None:
    """The folded norm of the fast form: graphs apart are as graphs in one batch."""
    conv = GECOConv(4).double()
    with torch.no_grad():
        for p in conv.parameters():
            p.add_(0.1 * torch.randn_like(p))
    graphs = [(torch.randn(n, 4, dtype=torch.float64), random_edges(n, seed=n)) for n in sizes]
    whole = copy.deepcopy(conv)
    edges = torch.cat([graphs[0][1], graphs[1][1] + sizes[0]], 1)
    batch = torch.repeat_interleave(torch.tensor(sizes))
    whole(torch.cat([x for x, _ in graphs]), edges, batch).square().sum().backward()
    copies = over(conv, [lambda net, g=g: net(*g) for g in graphs], [True, True])
    assert isinstance(copies[0].norm, SharedBatchNorm)
    assert_as(copies, whole)


def test_graphs_without_edges() -> None:
    """A norm over edges is called also where there are none, or the others would wait for it."""
    layer = GatedGCN(4).double()
    x, edges = torch.randn(3, 4, dtype=torch.float64), torch.tensor([[0, 1], [1, 2]])
    attr = torch.randn(2, 4, dtype=torch.float64)
    whole = copy.deepcopy(layer)
    sum(t.square().sum() for t in whole.with_edges(torch.cat([x, x]), edges, attr)).backward()

    def call(net: nn.Module, count: int) -> Tensor:
        return torch.cat([t.flatten() for t in net.with_edges(x, edges[:, :count], attr[:count])])  # type: ignore[operator]

    assert_as(over(layer, [lambda net: call(net, 2), lambda net: call(net, 0)], [True, True]), whole)
