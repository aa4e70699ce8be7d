"""torch_geometric.explain on GECO and on networks with its layers."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.explain import CaptumExplainer, Explainer, Explanation, GNNExplainer
from torch_geometric.nn import Sequential, global_mean_pool

from geco import GECO
from geco.nn import GECOConv, GECOLayer, GPSLayer

D = 8


def layered(conv: nn.Module) -> nn.Module:
    return Sequential("x, edge_index", [(nn.Linear(3, D), "x -> x"), (conv, "x, edge_index -> x"), nn.Linear(D, 1)])


class OfGraphs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.nodes, self.head = GECO(3, D, 2), nn.Linear(D, 1)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        out: Tensor = self.head(global_mean_pool(self.nodes(x, edge_index, batch), batch))
        return out


def graph(seed: int, n: int = 12) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Every node has three edges into it; what it must say is the sign that one of them brings, from a marked node."""
    g = torch.Generator().manual_seed(seed)
    marked, source = n // 3, []
    for i in range(n):
        others = [j for j in torch.randperm(n, generator=g).tolist() if j != i]
        source += [j for j in others if j < marked][:1] + [j for j in others if j >= marked][:2]
    edges = torch.stack([torch.tensor(source), torch.arange(n).repeat_interleave(3)])
    x = torch.randn(n, 3, generator=g)
    x[:, 0] = torch.where(torch.arange(n) < marked, x[:, 0].sign(), 0.0)
    decides = edges[0] < marked
    return x, edges, x[edges[0][decides], :1], decides


def explain(model: nn.Module, level: str, index: int | None, algorithm: object, **masks: str) -> Explanation:
    config = {"mode": "regression", "task_level": level, "return_type": "raw"}
    explainer = Explainer(model.eval(), algorithm, explanation_type="model", model_config=config, **masks)
    x, edges, _, _ = graph(1000)
    return explainer(x, edges, index=index)


@pytest.mark.parametrize("name", ["GECO", pytest.param("GPSLayer", marks=pytest.mark.slow)])
def test_the_edge_that_decides_is_first_among_those_into_a_node(name: str) -> None:
    torch.manual_seed(0)
    model = GECO(3, D, 1, 1) if name == "GECO" else layered(GPSLayer(D, local="gcn"))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(200):
        x, edges, y, _ = graph(step)
        optimiser.zero_grad()
        nn.functional.mse_loss(model(x, edges), y).backward()
        optimiser.step()
    _, edges, _, decides = graph(1000)
    torch.manual_seed(0)
    for node in (1, 6, 11):
        algorithm = GNNExplainer(epochs=80, lr=0.1, edge_ent=0.0, edge_size=0.02)
        mask = explain(model, "node", node, algorithm, edge_mask_type="object").edge_mask
        into = (edges[1] == node).nonzero().squeeze(1)
        assert decides[into[mask[into].argmax()]]


@pytest.mark.parametrize("nodes", ["attributes", "object", "common_attributes"])
@pytest.mark.parametrize(
    ("model", "level"),
    [
        (GECO(3, D, 2, 1), "node"),
        (GECO(3, D, 2, 1, permutation="dynamic", eval_orders=2), "node"),
        (layered(GECOConv(D)), "node"),
        (layered(GECOLayer(D, adjacency="attention")), "node"),
        (layered(GPSLayer(D, local="gatedgcn")), "node"),
        (layered(GPSLayer(D, local="gat")), "node"),
        (layered(GPSLayer(D, local="none", mixer="exphormer")), "node"),
        (OfGraphs(), "graph"),
    ],
)
def test_masks_of_nodes_and_edges(model: nn.Module, level: str, nodes: str) -> None:
    index = 3 if level == "node" else None
    found = explain(model, level, index, GNNExplainer(epochs=3), node_mask_type=nodes, edge_mask_type="object")
    assert found.edge_mask.shape == (36,)
    assert found.node_mask.shape == {"attributes": (12, 3), "object": (12, 1), "common_attributes": (1, 3)}[nodes]
    for mask in (found.node_mask, found.edge_mask):
        assert mask.isfinite().all()
        assert mask.max() > mask.min()


@pytest.mark.parametrize("method", ["IntegratedGradients", "Saliency"])
@pytest.mark.parametrize("model", [GECO(3, D, 2, 1), layered(GPSLayer(D, local="gatedgcn"))])
def test_captum(model: nn.Module, method: str) -> None:
    pytest.importorskip("captum")
    warnings.filterwarnings("ignore", "Input Tensor . did not already require gradients")
    found = explain(model, "node", 3, CaptumExplainer(method), node_mask_type="attributes", edge_mask_type="object")
    assert found.edge_mask.abs().max() > 0
    assert found.node_mask.abs().max() > 0
