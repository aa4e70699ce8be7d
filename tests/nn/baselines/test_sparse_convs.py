"""PyG's layers with our sum over edges: the same numbers as PyG's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from geco.nn.baselines.sparse_convs import SparseGATConv, SparseGCNConv, SparseSAGEConv

LAYERS = [(SparseGCNConv, GCNConv, ()), (SparseSAGEConv, SAGEConv, ()), (SparseGATConv, GATConv, (3,))]


@pytest.mark.parametrize(("ours", "theirs", "more"), LAYERS)
@given(nodes=st.integers(1, 12), edges=st.integers(0, 40), seed=st.integers(0, 99))
def test_equals_pyg(
    ours: type[GCNConv], theirs: type[GCNConv], more: tuple[int, ...], nodes: int, edges: int, seed: int
) -> None:
    """Values and gradients, with self loops, duplicate edges and isolated nodes among them."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(nodes, (2, edges), generator=generator)
    x = torch.randn(nodes, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    layer, same = ours(3, 4, *more).double(), theirs(3, 4, *more).double()
    top = torch.randn(same(x, edge_index).shape, generator=generator, dtype=torch.float64)
    same.load_state_dict(layer.state_dict())
    found = [[y, *torch.autograd.grad(y, [x, *m.parameters()], top)] for m in (layer, same) for y in [m(x, edge_index)]]
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_attention_scores_of_any_size_stay_finite() -> None:
    layer = SparseGATConv(2, 2, heads=1)
    x = torch.tensor([[1e3, 0.0], [-1e3, 1.0], [5e3, 5e3]], requires_grad=True)
    layer(x, torch.tensor([[0, 1, 2], [1, 2, 0]])).sum().backward()
    assert x.grad is not None
    assert bool(x.grad.isfinite().all())


def test_second_derivatives_are_refused() -> None:
    x = torch.randn(3, 2, requires_grad=True)
    y = SparseGATConv(2, 2, heads=1)(x, torch.tensor([[0, 1, 2], [1, 2, 0]]))
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(y.sum(), x, create_graph=True)
