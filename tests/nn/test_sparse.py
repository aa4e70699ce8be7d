"""PyG's layers with our sum over edges: the same numbers as PyG's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn import GCNConv, SAGEConv

from geco.nn.sparse import SparseGCNConv, SparseSAGEConv


@pytest.mark.parametrize(("ours", "theirs"), [(SparseGCNConv, GCNConv), (SparseSAGEConv, SAGEConv)])
@given(nodes=st.integers(1, 12), edges=st.integers(0, 40), seed=st.integers(0, 99))
def test_equals_pyg(ours: type[GCNConv], theirs: type[GCNConv], nodes: int, edges: int, seed: int) -> None:
    """Values and gradients, with self loops, duplicate edges and isolated nodes among them."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(nodes, (2, edges), generator=generator)
    x = torch.randn(nodes, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    top = torch.randn(nodes, 4, generator=generator, dtype=torch.float64)
    layer = ours(3, 4).double()
    same = theirs(3, 4).double()
    same.load_state_dict(layer.state_dict())
    found = [[y, *torch.autograd.grad(y, [x, *m.parameters()], top)] for m in (layer, same) for y in [m(x, edge_index)]]
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
