"""What TensorBoard is told, and which settings of a run may change."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from geco.data.synthetic import erdos_renyi
from geco.errors import CheckpointError, GecoError, Interrupted
from geco.train.config import Config, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.runlog import RunFolder

BOARD = Config(model=ModelConfig("mlp", hidden=4), train=TrainConfig(epochs=3, tensorboard=True))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Put a writer that only listens in the place of TensorBoard's."""
    heard: list[tuple[Any, ...]] = []

    class SummaryWriter:
        def __init__(self, folder: str, purge_step: int) -> None:
            heard.append(("from", purge_step))

        def add_scalar(self, name: str, value: float, epoch: int) -> None:
            heard.append((name, value, epoch))

        def close(self) -> None:
            heard.append(("closed",))

    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    return heard


def test_every_evaluation_is_told(told: list[tuple[Any, ...]], tmp_path: Path) -> None:
    result = Trainer(BOARD, erdos_renyi(30, degree=3), tmp_path / "run").fit()
    assert [row[2] for row in told if row[0] == "valid"] == [1, 2, 3]
    assert ("test", result["test"], result["epoch"]) in told
    assert told[-1] == ("closed",)


def test_going_on_forgets_what_came_after_the_checkpoint(told: list[tuple[Any, ...]], tmp_path: Path) -> None:
    stops = iter([False, False, True])
    with pytest.raises(Interrupted):
        Trainer(BOARD, erdos_renyi(30, degree=3), tmp_path / "run", stop=lambda: next(stops)).fit()
    before = len(told)
    Trainer(BOARD, erdos_renyi(30, degree=3), tmp_path / "run", resume=True).fit()
    assert [row for row in told[before:] if row[0] == "from"] == [("from", 2)]  # epoch 1 is not forgotten
    assert [row[2] for row in told[before:] if row[0] == "valid"] == [2, 3]


def test_without_tensorboard_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(GecoError, match="pip install"):
        Trainer(BOARD, erdos_renyi(30, degree=3), tmp_path / "run")
    plain = replace(BOARD, train=replace(BOARD.train, tensorboard=False))
    Trainer(plain, erdos_renyi(30, degree=3), tmp_path / "other").fit()


@pytest.mark.parametrize(("name", "refused"), [("geco", False), ("hyena", False), ("gcn", False), ("polynormer", True)])
def test_more_epochs_may_follow_if_none_depends_on_their_number(name: str, refused: bool, tmp_path: Path) -> None:
    config = Config(model=ModelConfig(name), optim=OptimConfig(schedule="constant"), train=TrainConfig(epochs=3))
    RunFolder(tmp_path / "run", config, resume=False).close()
    longer = replace(config, train=TrainConfig(epochs=4))
    wrong = pytest.raises(CheckpointError, match=r"train\.epochs: 3 there, 4 now")
    with wrong if refused else contextlib.nullcontext():
        RunFolder(tmp_path / "run", longer, resume=True).close()
