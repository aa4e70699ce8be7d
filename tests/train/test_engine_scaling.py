"""One skewed column does not drown the others, of people's own graphs and without a setting."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info
from geco.data.splits import random_split
from geco.train.config import Config, ModelConfig, TrainConfig
from geco.train.engine import Trainer


def social(n: int = 500, classes: int = 4) -> GraphDataset:
    """Return friends of the same class, with four traits that tell it and numbers of followers up to millions."""
    g = torch.Generator().manual_seed(0)
    y = torch.randint(0, classes, (n,), generator=g)
    ends = torch.randint(0, n, (2, 8 * n), generator=g)
    kept = (y[ends[0]] == y[ends[1]]) | (torch.rand(8 * n, generator=g) < 0.25)
    traits = torch.randn(classes, 4, generator=g)[y] + torch.randn(n, 4, generator=g)
    followers = (7 + 2.5 * torch.randn(n, 1, generator=g)).exp()
    graph = {"edge_index": torch.cat([ends[:, kept], ends[:, kept].flip(0)], 1), "num_nodes": n, "y": y}
    info = Info("social", "node", "class", classes, "accuracy")
    dataset = collect(info, [{**graph, "x": torch.cat([traits, followers], 1)}])
    split = random_split(n, (0.5, 0.25, 0.25))
    return replace(
        dataset, arrays={**dataset.arrays, **{f"split/0/{part}": rows for part, rows in vars(split).items()}}
    )


@pytest.mark.parametrize("name", ["gcn", pytest.param("geco", marks=pytest.mark.slow)])
def test_a_skewed_column(name: str, caplog: pytest.LogCaptureFixture) -> None:
    def score(**model: object) -> float:
        settings = ModelConfig(name, hidden=16, filter="mean", **model)  # type: ignore[arg-type]
        result = Trainer(Config(model=settings, train=TrainConfig(epochs=30, threads=1)), social()).fit()
        return float(result["test"])

    ours, by_hand = score(), score(standardise=True)
    assert not caplog.records, "no word of large values: they are scaled"
    assert ours >= by_hand - 0.03
    assert ours > score(scaling="none") + 0.2
