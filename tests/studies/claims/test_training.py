from __future__ import annotations

from pathlib import Path

import pytest
import torch

from geco.data.embedded.echo import echo
from geco.errors import DataError
from geco.studies.claims.study import Training
from geco.studies.claims.training import absent, dataset_of, fitted, partly
from geco.train.build import build
from geco.train.config import Config, DataConfig, ModelConfig


def test_a_part_is_of_the_training_graphs_alone_and_always_the_same() -> None:
    dataset = echo(2, graphs=40)
    part, again = partly(dataset, 0.5), partly(dataset, 0.5)
    train = part.split().train
    assert len(train) == 16
    assert torch.isin(train, dataset.split().train).all()
    assert torch.equal(train, again.split().train)
    for name in ("valid", "test"):
        assert torch.equal(getattr(part.split(), name), getattr(dataset.split(), name))
    assert partly(dataset, 1.0) is dataset


@pytest.mark.parametrize("model", [ModelConfig("gcn"), ModelConfig("hybrid", mixer="attention"), ModelConfig("geco")])
def test_the_width_is_the_one_nearest_to_the_budget(model: ModelConfig) -> None:
    dataset, budget = echo(2, graphs=20), 30_000

    def weights(hidden: int) -> int:
        config = Config(model=ModelConfig(**{**vars(model), "hidden": hidden}))
        return sum(p.numel() for p in build(config, dataset).parameters())

    found = fitted(Config(model=model), dataset, budget).model.hidden
    assert found == min(range(12, 120, 4), key=lambda hidden: abs(weights(hidden) - budget))


def test_data_is_never_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    wanted = Training(Config(data=DataConfig("cora")))
    assert str(tmp_path / "cora") in absent(wanted, tmp_path)
    with pytest.raises(DataError, match="downloads are off"):
        dataset_of(wanted, tmp_path)
    assert absent(Training(Config(data=DataConfig("echo"))), tmp_path) == ""
