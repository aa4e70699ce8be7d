"""Features averaged along the edges."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from geco.names import BASELINES
from geco.nn import reference
from geco.nn.functional import compact
from geco.nn.network.diffusion import Diffusion
from geco.nn.network.network import Network
from tests.nn.contract import assert_contract


@given(
    nodes=st.sampled_from([1, 2, 3, 7, 16, 31]),
    edges=st.integers(0, 60),
    steps=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_equals_its_twin(nodes: int, edges: int, steps: int, seed: int) -> None:
    """Values and gradients, with duplicate edges and isolated nodes among them; edges need not go both ways."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(nodes, (2, edges), generator=generator)
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    x = torch.randn(nodes, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    layer = Diffusion(3, 4, steps).double().eval()
    wanted = layer.norm(reference.diffused(layer.linear(x), edge_index, steps))
    top = torch.randn(wanted.shape, generator=generator, dtype=torch.float64)
    of = [x, *layer.parameters()]
    found = layer(x, edge_index)
    pairs = zip(
        [found, *torch.autograd.grad(found, of, top)], [wanted, *torch.autograd.grad(wanted, of, top)], strict=True
    )
    for a, b in pairs:
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_float32_is_as_exact_as_the_twin() -> None:
    generator = torch.Generator().manual_seed(0)
    edges, x = torch.randint(97, (2, 400), generator=generator), torch.randn(97, 5, generator=generator)
    edges = edges[:, edges[0] != edges[1]]
    layer = Diffusion(5, 5, 16).eval()
    torch.nn.init.eye_(layer.linear.weight)
    scale = (1 + layer.norm.eps) ** 0.5  # of a BatchNorm that has seen nothing yet
    exact = reference.diffused(x.double(), edges, 16)
    naive = float((reference.diffused(x, edges, 16) - exact).abs().max())
    assert float((layer(x, edges).detach().double() * scale - exact).abs().max()) <= 2 * naive + 1e-7


def test_a_node_without_edges_keeps_its_features() -> None:
    x = torch.randn(3, 4)
    assert torch.allclose(reference.diffused(x, torch.tensor([[0, 1], [1, 0]]), 5)[2], x[2])


def test_batch_contract() -> None:
    layer = Diffusion(6, 6, 8).eval()
    assert_contract(lambda x, edges, _batch, _attr: layer(x, edges), 6)


@pytest.mark.parametrize("body", ["geco", "hybrid", *BASELINES])
def test_every_body_takes_it(body: str, tmp_path: Path) -> None:
    """Sparse features too; a saved network computes the same."""
    torch.manual_seed(0)
    network = Network(body, 1500, "node", 3, hidden_channels=8, diffusion=4).eval()
    x, edges = torch.randn(20, 1500) * (torch.rand(20, 1500) < 0.02), torch.randint(20, (2, 60))

    def run(chosen: Network, features: Tensor) -> Tensor:
        torch.manual_seed(1)  # Performer draws its features
        return chosen(Data(x=features, edge_index=edges))  # type: ignore[no-any-return]

    wanted = run(network, x)
    torch.testing.assert_close(run(network, compact(x)), wanted)
    network.save_pretrained(tmp_path)
    assert torch.equal(run(Network.from_pretrained(tmp_path), x), wanted)


def test_distant_features_arrive() -> None:
    """On a path of nine nodes the last is reached by the first after eight steps, and not after seven."""
    path = torch.tensor([[i, i + 1] for i in range(8)]).t()
    for steps, reached in ((7, False), (8, True)):
        layer = Diffusion(1, 1, steps).eval()
        x = torch.zeros(9, 1, requires_grad=True)
        (grad,) = torch.autograd.grad(layer(x, torch.cat([path, path.flip(0)], 1))[8].sum(), x)
        assert bool(grad[0] != 0) == reached


def test_refuses_no_steps() -> None:
    with pytest.raises(ValueError, match="steps must be at least 1"):
        Diffusion(3, 3, 0)
