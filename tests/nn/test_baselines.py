"""Baselines are PyG's networks, only quicker."""

from __future__ import annotations

import torch
from torch_geometric.nn import SGFormer

from geco.nn.baselines import BASELINES


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
