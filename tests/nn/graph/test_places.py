"""``permutation="structure"``: outputs that do not depend on how nodes are numbered, alone and in batches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from geco.data import StructureOrder
from geco.nn import GECO
from geco.nn.gps.stack import HybridStack
from geco.nn.graph import places
from geco.nn.graph.places import placed
from geco.nn.graph.rings import rings_of
from geco.nn.network.network import Network
from tests.conftest import random_edges, relative_error
from tests.nn.contract import assert_contract

EDGES = random_edges(30)
X = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))


def geco() -> nn.Module:
    torch.manual_seed(0)
    model = GECO(5, 8, 2, 3, permutation="structure").eval()
    return waved(model)


def hybrid() -> nn.Module:
    torch.manual_seed(0)
    return waved(HybridStack(5, 8, 2, local="gcn", mixer="geco", permutation="structure").eval())


def waved(model: nn.Module) -> nn.Module:
    """Fresh filters are means, which no order changes."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model


@pytest.mark.parametrize("make", [geco, hybrid])
@pytest.mark.parametrize("seed", range(3))
def test_renumbering_renumbers_the_output(make: Callable[[], nn.Module], seed: int) -> None:
    model, new = make(), torch.randperm(30, generator=torch.Generator().manual_seed(seed))
    data = StructureOrder(colours="colour")(Data(x=X, edge_index=EDGES, colour=torch.arange(30)))
    moved = StructureOrder(colours="colour")(Data(x=X[new.argsort()], edge_index=new[EDGES], colour=new.argsort()))
    before, after = (model(d.x, d.edge_index, place=d.place) for d in (data, moved))
    assert relative_error(after[new], before) < 1e-5
    model.permutation = "natural"
    assert relative_error(model(moved.x, moved.edge_index)[new], before) > 1e-3  # the order matters


@pytest.mark.parametrize("make", [geco, hybrid])
def test_batch_contract_without_places(make: Callable[[], nn.Module]) -> None:
    model = make()
    assert_contract(lambda x, edges, batch, _: model(x, edges, batch), 5, (1, 5, 97, 1, 30, 2))


def test_places_given_are_those_worked_out() -> None:
    data = StructureOrder()(Data(x=X, edge_index=EDGES))
    model = geco()
    assert torch.equal(model(X, EDGES, place=data.place), model(X, EDGES))
    assert torch.equal(places.places(EDGES, 30), data.place)


def test_places_are_remembered_for_a_tensor_and_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    edges, batch, calls = EDGES.clone(), torch.zeros(30, dtype=torch.int64), []
    monkeypatch.setattr(places, "structure_order", lambda edges, size: calls.append(size) or torch.arange(size))
    for _ in range(2):
        places.places(edges, 30, batch)
    assert calls == [30]
    places.places(edges, 30)
    edges[0, 0] = 7
    places.places(edges, 30)
    assert calls == [30] * 3


def test_attention_and_network_use_the_places() -> None:
    place = torch.randperm(30, generator=torch.Generator().manual_seed(1))
    model = geco()
    assert isinstance(model, GECO)
    mine, natural = (model.attention(X, EDGES, place=p).top(3, k=5)[1] for p in (place, torch.arange(30)))
    assert not torch.allclose(mine, natural)
    network = Network("geco", 5, "node", 2, hidden_channels=8, options={"permutation": "structure"}).eval()
    waved(network)
    with_place, without = (network(Data(x=X, edge_index=EDGES, **more)) for more in ({"place": place}, {}))
    assert not torch.allclose(with_place, without, atol=1e-4)


@pytest.mark.parametrize("place", [torch.arange(29), torch.rand(30), torch.zeros(30, 1, dtype=torch.int64)])
def test_wrong_places_are_refused(place: Tensor) -> None:
    with pytest.raises(ValueError, match=r"place must be whole numbers of shape \(30,\)"):
        placed(rings_of(30, None, X.device), EDGES, None, place)


def test_unknown_orders_are_refused() -> None:
    for make in (lambda: GECO(5, 8, 2, permutation="random"), lambda: HybridStack(5, 8, 2, permutation="random")):
        with pytest.raises(
            ValueError, match=r"permutation 'random' is not known\. There are natural, static, dynamic, structure"
        ):
            make()
