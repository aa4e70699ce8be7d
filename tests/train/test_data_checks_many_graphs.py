"""Many graphs, some of them empty, of one node, or without labels."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Split
from geco.data.embedded.synthetic import erdos_renyi
from geco.errors import DataError
from geco.nn.network.network import Network
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer
from tests.train.runs import ONE

QUICK = Config(DataConfig("t", batch_size=6), ModelConfig(hidden=8), OptimConfig(warmup=0), TrainConfig(epochs=2))
FLAGS = ("--train.epochs", "2", "--model.hidden", "8", "--data.batch-size", "6")


def graphs(sizes: list[int], info: Info | None = None) -> GraphDataset:
    """Return paths of these sizes with a class each, all in the training part, the first four also validated on."""
    rows = []
    for number, n in enumerate(sizes):
        ends = torch.arange(max(0, n - 1))
        rows.append(
            {"x": torch.randn(n, 3), "edge_index": torch.stack([ends, ends + 1]), "y": torch.tensor([number % 2])}
        )
    numbers = torch.arange(len(sizes))
    chosen = Split(numbers[4:], numbers[:2], numbers[2:4])
    return collect(info or Info("paths", "graph", "class", 2, "accuracy"), rows, [chosen])


@pytest.mark.parametrize("place", [0, 2, 5])
@pytest.mark.parametrize("body", ["geco", "gcn", "gps", "transformer"])
@pytest.mark.parametrize("pool", ["mean", "sum", "max"])
def test_empty_graph_in_a_batch(place: int, body: str, pool: str) -> None:
    """First, in the middle or last, an empty graph has a row, and the others are as without it."""
    sizes = [3, 4, 5, 2, 6]
    full = graphs([*sizes[:place], 0, *sizes[place:]]).batch(range(6))
    network = Network(
        body,
        3,
        "graph",
        2,
        hidden_channels=8,
        head={"pool": pool},
        options={"permutation": "natural"} if body == "geco" else None,
    )
    network.eval()
    with torch.no_grad():
        found = network(full)
        full.batch = full.batch - (full.batch > place).long()
        full._num_graphs = 5
        wanted = network(full)
    assert found.shape == (6, 2)
    assert bool(found.isfinite().all())
    assert torch.allclose(torch.cat([found[:place], found[place + 1 :]]), wanted, atol=1e-5)


def test_empty_graphs_in_training() -> None:
    """Empty graphs train along with others; a batch of nothing else is refused at the start."""
    some = graphs([5, 0, 4, 3, 0, 6, 3, 4, 5, 3, 4, 0, 3, 5])
    assert 0 <= Trainer(QUICK, some).fit()["test"] <= 1
    with pytest.raises(DataError, match=r"one of 2 may have fewer than 1 nodes; choose another --data\.batch-size"):
        Trainer(QUICK, graphs([0, 0, 4, 3, 5, 6, 3, 4, 5, 3]))
    none = replace(ONE, arrays={**ONE.arrays, "ptr/node": torch.tensor([0, 0]), "ptr/edge": torch.tensor([0, 0])})
    with pytest.raises(DataError, match="its graphs have 0"):
        Trainer(QUICK, none)


def test_graphs_of_one_node() -> None:
    """A graph of one node trains in a batch with others; where it may be alone, it is refused at the start with
    advice.
    """
    config = replace(QUICK, data=DataConfig("t", batch_size=5))
    sizes = [5, 1, 4, 3, 1, 6, 3, 4, 5, 3, 4]
    assert 0 <= Trainer(config, graphs(sizes)).fit()["test"] <= 1
    with pytest.raises(DataError, match=r"one of 1 may have fewer than 2 nodes; choose another --data\.batch-size"):
        Trainer(QUICK, graphs(sizes))  # 7 graphs in batches of 6: one is alone, and may be that of one node
    alone = torch.tensor([0])
    info = Info("one", "node", "class", 2, "accuracy")
    one = collect(
        info, [{"x": torch.ones(1, 2), "edge_index": torch.empty(2, 0, dtype=torch.int64), "y": torch.zeros(1)}]
    )
    parts = {f"split/0/{part}": alone for part in ("train", "valid", "test")}
    with pytest.raises(DataError, match="fewer than 2 nodes"):
        Trainer(QUICK, replace(one, arrays={**one.arrays, **parts}))


def test_infinite_target() -> None:
    """NaN in y is a missing label; infinite values are refused."""
    dataset = graphs([3] * 10, Info("values", "graph", "class", 2, "accuracy"))
    info = Info("values", "graph", "values", 1, "mae")
    y = torch.randn(10, 1)
    y[5] = math.nan
    assert Trainer(QUICK, replace(dataset, info=info, arrays={**dataset.arrays, "graph/y": y})).fit()["test"] >= 0
    y[6] = math.inf
    with pytest.raises(
        DataError, match=r"1 of 10 labels are out of range, the first is inf in row 6; they must be finite"
    ):
        Trainer(QUICK, replace(dataset, info=info, arrays={**dataset.arrays, "graph/y": y}))


def test_unlabelled_graphs() -> None:
    """A part without labels is refused also where the nodes of many graphs have them."""
    dataset = erdos_renyi(10, degree=2, graphs=12)
    assert dataset.info.level == "graph"
    info = replace(dataset.info, level="node")
    arrays = {k: v for k, v in dataset.arrays.items() if k != "graph/y"} | {"node/y": torch.full((120,), -1)}
    with pytest.raises(DataError, match="no labelled graph in the train part"):
        Trainer(QUICK, replace(dataset, info=info, arrays=arrays))
    arrays["node/y"][::10] = 1  # one node of each graph
    assert Trainer(QUICK, replace(dataset, info=info, arrays=arrays)).fit()["test"] >= 0
