"""What Weights & Biases and MLflow are told, by modules that only listen."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from geco.data.embedded.synthetic import erdos_renyi
from geco.errors import Interrupted, UsageError
from geco.train.config import Config, ModelConfig, TrainConfig
from geco.train.engine import Trainer

Heard = list[tuple[Any, ...]]


def config(board: str) -> Config:
    train = TrainConfig(epochs=3, **{board: True})  # type: ignore[arg-type]
    return Config(model=ModelConfig("mlp", hidden=4), train=train)


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Heard:
    heard: Heard = []

    def init(**options: Any) -> Any:
        heard.append(("init", options["id"], options["name"], options["config"]["model"]["hidden"]))
        log = lambda values, step: heard.append(("log", step, values))  # noqa: E731
        return SimpleNamespace(id="r1", log=log, finish=lambda: heard.append(("finish",)))

    module = ModuleType("wandb")
    module.init = init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    return heard


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Heard:
    heard: Heard = []

    class MlflowClient:
        def log_metric(self, run: str, name: str, value: float, step: int) -> None:
            heard.append((run, name, value, step))

        def set_terminated(self, run: str) -> None:
            heard.append(("end", run))

    module: Any = ModuleType("mlflow")
    module.MlflowClient = MlflowClient
    module.start_run = lambda run_name: SimpleNamespace(info=SimpleNamespace(run_id="m1"))
    module.log_params, module.end_run = (lambda params: heard.append(("params", params["model.hidden"]))), lambda: None
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return heard


def stopped_and_gone_on(board: str, folder: Path) -> dict[str, Any]:
    """Train one epoch, stop, and go on to the end."""
    stops = iter([False, True])
    with pytest.raises(Interrupted):
        Trainer(config(board), erdos_renyi(30, degree=3), folder, stop=lambda: next(stops)).fit()
    return Trainer(config(board), erdos_renyi(30, degree=3), folder, resume=True).fit()


def test_weights_and_biases(wandb: Heard, tmp_path: Path) -> None:
    result = stopped_and_gone_on("wandb", tmp_path / "run")
    first, again = [row for row in wandb if row[0] == "init"]
    assert first == ("init", None, f"{tmp_path.name}/run", 4)
    assert again[1] == "r1", "going on continues the run"
    told = {row[1]: row[2] for row in wandb if row[0] == "log"}
    assert sorted(told) == [1, 2, 3]
    assert told[result["epoch"]]["test"] == result["test"]
    assert {"loss", "valid", "seconds/train"} <= told[1].keys()
    assert wandb[-1] == ("finish",)


def test_mlflow(mlflow: Heard, tmp_path: Path) -> None:
    result = stopped_and_gone_on("mlflow", tmp_path / "run")
    assert [row for row in mlflow if row[0] == "params"] == [("params", "4")]
    assert ("m1", "test", result["test"], result["epoch"]) in mlflow
    assert [row[3] for row in mlflow if row[1] == "valid"] == [1, 2, 3]
    assert mlflow[-1] == ("end", "m1")


@pytest.mark.parametrize(("board", "title"), [("wandb", "Weights & Biases"), ("mlflow", "MLflow")])
def test_what_to_install(board: str, title: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, board, None)
    with pytest.raises(UsageError, match=rf'--train\.{board} needs {title}: pip install "geco-graph\[{board}\]"'):
        Trainer(config(board), erdos_renyi(30, degree=3), tmp_path / "run")
    assert not (tmp_path / "run").exists()
