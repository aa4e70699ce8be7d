"""What would take a graph apart is refused in words."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, fx, nn
from torch_geometric.nn import HeteroConv, SAGEConv, to_hetero, to_hetero_with_bases

from geco import GECO
from geco.nn import GECOConv, GECOLayer, GPSLayer
from tests.conftest import random_edges

LAYERS = [GECOConv(8), GECOLayer(8), GPSLayer(8, local="gcn"), GECO(8, 8, 1)]
TYPES = [("a", "to", "a"), ("a", "to", "b"), ("b", "to", "a")]
X, EDGES = torch.randn(9, 8), random_edges(9)


class Around(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.layer(x, edge_index).relu()
        return out


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_to_hetero_is_refused_with_what_to_do(layer: nn.Module) -> None:
    word = f"Put {type(layer).__name__} into HeteroConv .* or use data.to_homogeneous"
    with pytest.raises(ValueError, match=word):
        to_hetero(Around(layer), (["a", "b"], TYPES))
    with pytest.raises(ValueError, match=word):
        to_hetero_with_bases(Around(layer), (["a", "b"], TYPES), num_bases=2)
    with pytest.raises(ValueError, match=word):
        fx.symbolic_trace(Around(layer))


def test_to_hetero_of_the_model_itself() -> None:
    with pytest.raises(ValueError, match="Put GECO into HeteroConv"):
        to_hetero(GECO(8, 8, 1), (["a", "b"], TYPES))


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_script_is_refused_with_what_to_do(layer: nn.Module) -> None:
    for network in (layer, Around(layer)):
        with pytest.raises(ValueError, match=r"torch\.jit\.script; use torch\.export"):
            torch.jit.script(network)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_hetero_conv_within_one_node_type(layer: nn.Module) -> None:
    convs = HeteroConv({TYPES[0]: layer, TYPES[1]: SAGEConv(8, 8), TYPES[2]: SAGEConv(8, 8)}, aggr="sum")
    out = convs({"a": X, "b": X}, dict.fromkeys(TYPES, EDGES))
    assert torch.allclose(out["a"], layer(X, EDGES) + convs.convs[TYPES[2]]((X, X), EDGES), atol=1e-5)
    with pytest.raises(ValueError, match="takes nodes of one kind"):
        HeteroConv(dict.fromkeys(TYPES[1:], layer))({"a": X, "b": X}, dict.fromkeys(TYPES, EDGES))
