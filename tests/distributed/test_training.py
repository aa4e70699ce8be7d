"""A step of training over several ranks: equal weights, summed gradients, means over all, rows of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from geco.distributed.exchange import Ranks
from geco.distributed.gradients import sum_gradients
from geco.distributed.runtime import Workers
from geco.distributed.shard import shard
from geco.distributed.training import all_rows, check_same_weights, mean_over_ranks, own_part
from geco.errors import UsageError
from geco.nn.graph.prepare import prepare
from geco.nn.network.network import Network
from geco.nn.ops.shared_norm import share_norms
from tests.conftest import random_edges
from tests.distributed.workers import in_processes


def worker(ranks: Ranks) -> dict[str, Any]:
    found: dict[str, Any] = {"refused": ""}
    torch.manual_seed(0)
    layer = nn.Linear(3, 1)
    layer.register_parameter("unused", nn.Parameter(torch.ones(2)))
    check_same_weights(layer, ranks)
    x = torch.arange(15.0).view(5, 3)
    part = shard(prepare(x, torch.tensor([[0], [1]]), permutation=torch.tensor([4, 0, 3, 1, 2])), ranks)
    y = layer(x[part.nodes])
    loss = mean_over_ranks(y.square().sum(), len(y), ranks)
    loss.backward()
    found["loss"] = sum_gradients(layer.parameters(), Workers(ranks.rank, ranks.size), float(loss.detach()))
    assert layer.weight.grad is not None
    found |= {"grad": layer.weight.grad.flatten().tolist(), "unused": layer.unused.grad is None}
    found["rows"] = all_rows(y, part, ranks).flatten().tolist()
    exact = layer(x).square().mean()
    (wanted,) = torch.autograd.grad(exact, layer.weight)
    found |= {"exact": float(exact.detach()), "wanted": wanted.flatten().tolist(), "all": layer(x).flatten().tolist()}
    found["network"] = network(ranks)
    with torch.no_grad():
        layer.bias += 1e-7 * (ranks.rank == ranks.size - 1)
    try:
        check_same_weights(layer, ranks)
    except UsageError as error:
        found["refused"] = str(error)
    return found


def network(ranks: Ranks) -> float:
    """The error of a whole network with norms over all nodes after its skips, in training."""
    torch.manual_seed(0)
    whole, shared = (
        Network("geco", 4, "node", 2, hidden_channels=6, options={"filter": "mean", "norm": "batch_norm"})
        for _ in range(2)
    )
    shared.load_state_dict(whole.state_dict())
    data = Data(x=torch.randn(40, 4) * 3 + 1, edge_index=random_edges(40))
    part = shard(prepare(data.x, data.edge_index), ranks)
    assert part.rings.span is not None
    share_norms(shared, part.rings.span)  # type: ignore[arg-type]
    here = all_rows(shared(own_part(data, part)), part, ranks)
    return float((here - whole(data).detach()).abs().max())


def test_networks_that_see_edges_elsewhere_are_refused() -> None:
    data = Data(x=torch.randn(6, 4), edge_index=random_edges(6))
    part = own_part(data, shard(prepare(data.x, data.edge_index), Ranks()))
    with pytest.raises(ValueError, match="suits body='geco'"):
        Network("gcn", 4, "node", 2)(part)
    with pytest.raises(ValueError, match="level='graph'"):
        Network("geco", 4, "graph", 2)(part)


@pytest.mark.dist
@pytest.mark.parametrize("size", [1, 2, 3])
def test_steps(size: int, tmp_path: Path) -> None:
    every = in_processes(worker, size, tmp_path)
    for found in every:
        assert found["grad"] == pytest.approx(found["wanted"])
        assert found["rows"] == pytest.approx(found["all"])
        assert found["loss"] == pytest.approx(found["exact"])
        assert found["unused"]
        assert found["network"] < 1e-5
        assert (f"{size - 1} and rank 0 differ" in found["refused"]) == (size > 1)
    assert all(found["grad"] == every[0]["grad"] for found in every)
