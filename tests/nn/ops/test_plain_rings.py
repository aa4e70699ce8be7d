"""The plain form of the global block: equal to the fast one, and as few operations whatever the graphs."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from geco.nn import GECOConv, GECOLayer
from geco.nn.filters import FILTERS, FilterName
from tests.conftest import random_edges, relative_error

D = 8
MOST = 250  # operations of a forward and backward pass


class Counted(TorchDispatchMode):
    """Counts what reaches a device."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def both(conv: GECOConv, x: Tensor, edges: Tensor, batch: Tensor | None) -> list[list[Tensor]]:
    """Output, every gradient and running statistics of both forms."""
    found = []
    for algorithm in ("auto", "plain"):
        conv.norm.reset_running_stats()
        conv.context.algorithm = algorithm
        y = conv(x, edges, batch)
        top = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)
        grads = torch.autograd.grad(y, [x, *conv.parameters()], top)
        found.append([y, *grads, conv.norm.running_mean.clone(), conv.norm.running_var.clone()])
    return found


@pytest.mark.parametrize("filter", FILTERS)
@given(sizes=st.lists(st.sampled_from([1, 2, 3, 5, 64, 97, 1031, 4099]), min_size=1, max_size=5))
def test_both_forms_are_one(filter: FilterName, sizes: list[int]) -> None:
    torch.manual_seed(len(sizes))
    n = sum(sizes)
    if n == 1:
        return
    conv = GECOConv(D, filter=filter).double()
    x, edges = torch.randn(n, D, dtype=torch.float64, requires_grad=True), random_edges(n)
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)) if len(sizes) > 1 else None
    edges = edges if batch is None else edges[:, batch[edges[0]] == batch[edges[1]]]
    for fast, plain in zip(*both(conv, x, edges, batch), strict=True):
        assert relative_error(fast, plain) < 1e-7 or float((fast - plain).detach().abs().max()) < 1e-9


def operations(nodes: int, graphs: int, **options: Any) -> int:
    conv = GECOConv(D, algorithm="plain", **options)
    x, edges = torch.randn(nodes, D, requires_grad=True), random_edges(nodes)
    batch = torch.arange(nodes) * graphs // nodes if graphs > 1 else None
    g = conv.prepare(x, edges, batch)
    parameters = [x, *conv.parameters()]
    torch.autograd.grad(conv(x, graph=g).sum(), parameters)  # layouts are made once
    with Counted() as counted:
        torch.autograd.grad(conv(x, graph=g).sum(), parameters)
    return counted.count


@pytest.mark.parametrize("filter", get_args(FilterName))
def test_few_operations_whatever_the_graphs(filter: FilterName) -> None:
    batches = ((512, 1), (131_072, 1), (8_191, 1), (512, 128), (16_400, 128))
    counts = {operations(nodes, graphs, filter=filter) for nodes, graphs in batches}
    assert len(counts) == 1
    assert counts.pop() <= MOST


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("filter", get_args(FilterName))
def test_on_the_meta_device(filter: FilterName, order: int) -> None:
    layer = GECOLayer(D, order, filter=filter).to("meta")
    x = torch.empty(1000, D, device="meta", requires_grad=True)
    edges = torch.empty(2, 30, dtype=torch.int64, device="meta")
    y = layer(x, edges)
    assert y.shape == (1000, D)
    y.sum().backward()
    assert all(p.grad is not None and p.grad.is_meta for p in (x, *layer.parameters()))
    with pytest.raises(ValueError, match="leave it out for one graph"):
        layer(x, edges, torch.zeros(1000, dtype=torch.int64, device="meta"))


@pytest.mark.parametrize("graphs", [1, 3])
def test_second_derivatives(graphs: int) -> None:
    conv = GECOConv(2, algorithm="plain").double().eval()
    edges, batch = random_edges(12, 2), torch.arange(12) * graphs // 12
    edges = edges[:, batch[edges[0]] == batch[edges[1]]]
    x = torch.randn(12, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: conv(x, edges, batch), (x,))


def test_a_ring_much_longer_than_its_mates() -> None:
    conv = GECOConv(D, algorithm="plain").eval()
    sizes = [3000, 1, 2, 500]
    x, batch = torch.randn(sum(sizes), D), torch.repeat_interleave(torch.arange(4), torch.tensor(sizes))
    none = torch.zeros(2, 0, dtype=torch.int64)
    for out, alone in zip(conv(x, none, batch).split(sizes), x.split(sizes), strict=True):
        assert relative_error(out, conv(alone, none)) < 1e-5
