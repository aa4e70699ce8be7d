"""Attention along edges: sparse products against gathered rows, in values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from geco.nn.graph.edge_pairs import pairs
from geco.nn.ops.edge_attention import edge_attention, edge_attention_by_rows, weighted_sum
from tests.conftest import random_edges, relative_error

H, D = 2, 3


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 31])
def test_sparse_products_are_gathered_rows(n: int, each: bool) -> None:
    """Repeated edges, loops and, at one node, more edges than there are pairs."""
    edges = random_edges(n)
    q, k, v, e = draw(n, H, D), draw(n, H, D), draw(n, H, D), draw(*([edges.shape[1]] * each), H, D)
    found = edge_attention(pairs(edges[0], edges[1], n), q, k, v, e)
    wanted = edge_attention_by_rows((edges[0], edges[1]), q, k, v, e)
    assert found.shape == (n, H * D + H)
    assert relative_error(found, wanted) < 1e-12
    ours, theirs = (torch.autograd.grad(y.sin().sum(), (q, k, v, e)) for y in (found, wanted))
    for a, b in zip(ours, theirs, strict=True):
        assert relative_error(a, b) < 1e-12


def test_edges_that_are_not_there_do_not_count() -> None:
    edges = random_edges(9)
    q, k, v, e = draw(9, H, D), draw(9, H, D), draw(9, H, D), draw(H, D)
    there = torch.arange(36) % 3 > 0
    found = edge_attention_by_rows((edges[0], edges[1]), q, k, v, e, there=there)
    assert relative_error(found, edge_attention_by_rows((edges[0][there], edges[1][there]), q, k, v, e)) < 1e-12


def test_dropout_leaves_weights_out_and_totals_alone() -> None:
    edges = random_edges(50, degree=40)
    sorted_edges, q, k, e = pairs(edges[0], edges[1], 50), draw(50, H, D), draw(50, H, D), draw(H, D)
    plain, dropped = (edge_attention(sorted_edges, q, k, torch.ones_like(q), e, p).detach() for p in (0.0, 0.5))
    assert torch.equal(plain[:, H * D :], dropped[:, H * D :])
    assert not torch.allclose(plain[:, : H * D], dropped[:, : H * D])
    assert abs(float(dropped[:, : H * D].mean() / plain[:, : H * D].mean()) - 1) < 0.1


def test_second_derivatives_are_refused() -> None:
    edges, weight, x = pairs(torch.tensor([0]), torch.tensor([1]), 2), draw(1), draw(2, D)
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(weighted_sum(edges, weight, x).square().sum(), x, create_graph=True)
