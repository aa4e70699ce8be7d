"""What `GatedGCN` remembers of a graph's edges."""

from __future__ import annotations

import gc

import torch

from geco.nn.gps.gated_gcn import GatedGCN, _cache, _ends


def test_edges_are_forgotten_with_their_tensor() -> None:
    """Sorted once for each batch, and no longer held than the batch."""
    layer, x, before = GatedGCN(4), torch.randn(6, 4), len(_cache)
    for _ in range(3):
        edges = torch.randint(6, (2, 9))
        layer(x, edges)
        assert _ends(edges, 6) is _ends(edges, 6)
    del edges
    gc.collect()
    assert len(_cache) == before


def test_trains_after_inference() -> None:
    """What was remembered under inference mode serves a training step."""
    layer, x, edges = GatedGCN(4), torch.randn(6, 4), torch.randint(6, (2, 9))
    with torch.inference_mode():
        layer(x, edges)
    layer(x, edges).sum().backward()
    assert layer.value.weight.grad is not None
