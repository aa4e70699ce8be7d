"""Edge masks, as torch_geometric.explain sets them, on every layer that sums over edges by means of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

from geco.nn import LocalPropagation
from geco.nn.baselines.sparse_convs import SparseGATConv, SparseGCNConv, SparseSAGEConv
from geco.nn.gps.gated_gcn import GatedGCN
from tests.conftest import random_edges

D = 4
EDGES = random_edges(9, degree=2)  # with self loops and repeats
X = torch.randn(9, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "sym": lambda: LocalPropagation("sym"),
    "row": lambda: LocalPropagation("row"),
    "none": lambda: LocalPropagation("none"),
    "attention": lambda: LocalPropagation("attention", D),
    "gatedgcn": lambda: GatedGCN(D),
    "gcn": lambda: SparseGCNConv(D, D),
    "sage": lambda: SparseSAGEConv(D, D),
    "gat": lambda: SparseGATConv(D, 2, 2),
}


@pytest.fixture(params=LAYERS)
def layer(request: pytest.FixtureRequest) -> nn.Module:
    torch.manual_seed(0)
    return LAYERS[request.param]().double().eval()


def masked(layer: nn.Module, mask: Tensor, edges: Tensor = EDGES) -> Tensor:
    set_masks(layer, mask, edges, apply_sigmoid=False)
    out: Tensor = layer(X, edges)
    clear_masks(layer)
    return out


def test_a_mask_of_ones_changes_nothing_and_none_is_left(layer: nn.Module) -> None:
    before = layer(X, EDGES)
    torch.testing.assert_close(masked(layer, torch.ones(EDGES.shape[1], dtype=X.dtype)), before)
    assert torch.equal(layer(X, EDGES), before)


def test_gradients_of_the_mask(layer: nn.Module) -> None:
    mask = torch.rand(EDGES.shape[1], dtype=X.dtype, requires_grad=True)
    assert torch.autograd.gradcheck(lambda m: masked(layer, m), mask)


def test_each_edge_has_its_own_entry(layer: nn.Module) -> None:
    """No message along an edge into node i, no change elsewhere."""
    edges = EDGES[:, EDGES[0] != EDGES[1]]
    before = masked(layer, torch.ones(edges.shape[1], dtype=X.dtype), edges)
    for e in range(edges.shape[1]):
        mask = torch.ones(edges.shape[1], dtype=X.dtype)
        mask[e] = 0
        changed = (masked(layer, mask, edges) - before).abs().amax(1) > 1e-9
        assert changed.nonzero().flatten().tolist() == [edges[1, e]]


def test_a_masked_message_is_a_missing_one() -> None:
    """The plain adjacency has no normalisation that would know the edge is still there."""
    layer, mask = LocalPropagation("none"), (torch.rand(EDGES.shape[1]) > 0.5).to(X.dtype)
    torch.testing.assert_close(masked(layer, mask), layer(X, EDGES[:, mask > 0]))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SparseGCNConv(D, D), GCNConv(D, D)),
        (SparseSAGEConv(D, D), SAGEConv(D, D)),
        (SparseGATConv(D, 2, 2), GATConv(D, 2, 2)),
    ],
)
def test_masked_as_pyg_masks(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())
    mask = torch.rand(EDGES.shape[1], dtype=X.dtype)
    torch.testing.assert_close(masked(ours.double().eval(), mask), masked(theirs.double().eval(), mask))


def test_copies_and_stored_weights_do_not_know_of_it(layer: nn.Module) -> None:
    same = copy.deepcopy(layer)
    assert not any("mask" in name for name in layer.state_dict())
    assert torch.equal(same(X, EDGES), layer(X, EDGES))
