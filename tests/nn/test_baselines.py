"""Baselines are PyG's networks, only quicker."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import SGFormer

from geco.nn.baselines import BASELINES
from geco.nn.functional import compact
from geco.nn.network import Network


def test_sgformer_is_pygs_on_one_graph() -> None:
    torch.manual_seed(0)
    theirs = SGFormer(5, 8, 8, 1, 1, 0.0, 2, 0.0).eval()
    torch.manual_seed(0)
    ours = BASELINES["sgformer"](5, 8, 2, 0.0, 1).eval()
    ours.local.load_state_dict(theirs.graph_conv.state_dict())  # its convolutions are drawn later
    x, edges, batch = torch.randn(10, 5), torch.randint(10, (2, 30)), torch.zeros(10, dtype=torch.int64)
    wanted = (theirs.trans_conv(x, batch) + theirs.graph_conv(x, edges)) / 2
    torch.testing.assert_close(ours(x, edges), wanted)


def test_heads_of_the_performer_share_the_width() -> None:
    performer = BASELINES["gps-performer"](5, 32, 1, 0.0, 4).layers[0].attn  # type: ignore[index, union-attr]
    assert performer.q.out_features == 32
    assert performer.fast_attn.projection_matrix.shape[1] == 8


@pytest.mark.parametrize("body", ["geco", "hybrid", *BASELINES])
def test_sparse_features_give_the_numbers_and_gradients_of_dense_ones(body: str) -> None:
    torch.manual_seed(0)
    dtype = torch.float32 if body == "sgformer" else torch.float64  # PyG's attention makes float32 on its way
    x = torch.randn(20, 1500, dtype=dtype) * (torch.rand(20, 1500) < 0.02)
    network, edges = Network(body, 1500, "node", 3, hidden=8).to(dtype), torch.randint(20, (2, 60))
    network.embed = lambda data: data.x  # type: ignore[method-assign]  # which makes float32

    def results(features: Tensor) -> list[Tensor]:
        torch.manual_seed(1)
        output = network(Data(x=features, edge_index=edges))
        return [output, *torch.autograd.grad(output.square().sum(), network.parameters(), allow_unused=True)]

    assert compact(x).layout == torch.sparse_csr
    for found, wanted in zip(results(compact(x)), results(x), strict=True):
        torch.testing.assert_close(found, wanted)
