"""Layers that use no edge features say what does."""

from __future__ import annotations

import pytest
import torch

from geco.nn import GECOConv, GECOLayer, GPSLayer

X, EDGES = torch.randn(4, 8), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])


@pytest.mark.parametrize("layer", [GECOConv(8), GECOLayer(8)], ids=["conv", "layer"])
def test_edge_features_are_refused_with_what_uses_them(layer: torch.nn.Module) -> None:
    with pytest.raises(ValueError, match=rf"{type(layer).__name__} uses no edge features \(edge_attr\): .*GPSLayer"):
        layer(X, EDGES, edge_attr=torch.randn(4, 3))
    layer.eval()
    assert torch.equal(layer(X, EDGES, edge_attr=None), layer(X, EDGES))


def test_their_width_is_refused_too() -> None:
    with pytest.raises(ValueError, match=r"GECOLayer uses no edge features \(edge_dim\)"):
        GECOLayer(8, edge_dim=3)


def test_hybrids_use_them_beside_the_operator() -> None:
    layer = GPSLayer(8, local="gatedgcn", mixer="geco").eval()
    assert not torch.equal(layer(X, EDGES, None, torch.randn(4, 8)), layer(X, EDGES, None, torch.randn(4, 8)))
