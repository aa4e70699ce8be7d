"""Rows and columns of the surrogate attention matrix against the matrix itself."""

from __future__ import annotations

import pytest
import torch

from geco.nn import GECOConv, reference
from geco.nn.graph.adjacency import adjacency
from tests.conftest import random_edges, relative_error

D = 8
EDGES = random_edges(30)


def test_rows_and_columns_are_those_of_the_matrix() -> None:
    conv = GECOConv(D).double().eval()
    x = torch.randn(30, D, dtype=torch.float64)
    attention = conv.attention(x, EDGES)
    (k, q), (phi, psi) = attention.gates, attention.filters
    explicit = reference.surrogate_attention(q, k, psi, phi)  # (D, N, N)
    h = conv.norm(torch.cat([x, adjacency(EDGES, 30) @ x], 1))
    value = conv.context.projection(h)[:, 2 * D :].t()
    assert relative_error((explicit @ value.unsqueeze(-1)).squeeze(-1).t(), conv(x, EDGES)) < 1e-6
    for i in (0, 7, 29):
        assert relative_error(attention.row(i), explicit[:, i]) < 1e-12
        assert relative_error(attention.column(i), explicit[:, :, i]) < 1e-12
    nodes, strength = attention.top(3, k=5)
    wanted = explicit[:, 3].abs().mean(0).topk(5)
    assert torch.equal(nodes, wanted.indices)
    assert torch.allclose(strength, wanted.values)


def test_arguments_and_results_name_nodes_whatever_their_order() -> None:
    conv = GECOConv(D).eval()
    x, perm = torch.randn(30, D), torch.randperm(30)
    found = conv.attention(x, EDGES, permutation=perm)
    permuted = conv.attention(x[perm], torch.argsort(perm)[EDGES])  # node perm[p] has number p there
    assert torch.allclose(found.row(int(perm[4]))[:, perm], permuted.row(4), atol=1e-6)
    assert torch.allclose(found.column(int(perm[4]))[:, perm], permuted.column(4), atol=1e-6)
    assert torch.equal(found.top(int(perm[4]), 3)[0], perm[permuted.top(4, 3)[0]])


def test_refuses_unknown_nodes() -> None:
    with pytest.raises(ValueError, match="node 30"):
        GECOConv(D).eval().attention(torch.randn(30, D), EDGES).row(30)


@pytest.mark.parametrize("order", [1, 3])
def test_any_order(order: int) -> None:
    conv = GECOConv(2, order).double().eval()
    x = torch.randn(30, 2, dtype=torch.float64)
    attention = conv.attention(x, EDGES)
    rows = torch.stack([attention.row(i) for i in range(30)], 1)
    columns = torch.stack([attention.column(j) for j in range(30)], 2)
    assert torch.allclose(rows, columns)


def test_a_large_graph_needs_no_matrix() -> None:
    conv = GECOConv(2).eval()
    n = 300_007
    x, edges = torch.randn(n, 2), random_edges(n, 1)
    assert conv.attention(x, edges).row(5).shape == (2, n)


def test_attention_of_a_layer_in_training_leaves_its_statistics_alone() -> None:
    conv = GECOConv(D)
    conv.norm.running_mean.normal_()
    x, before = torch.randn(30, D), conv.norm.running_mean.clone()
    found = conv.attention(x, EDGES).row(3)
    assert conv.training
    assert torch.equal(conv.norm.running_mean, before)
    assert torch.equal(found, conv.eval().attention(x, EDGES).row(3))


def test_attention_refuses_a_graph_of_other_nodes() -> None:
    conv = GECOConv(D)
    graph = conv.prepare(torch.randn(30, D), EDGES)
    with pytest.raises(ValueError, match=r"x has shape \(40, "):
        conv.attention(torch.randn(40, D), graph=graph)
