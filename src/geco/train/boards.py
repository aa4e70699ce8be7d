"""Boards that a run reports to besides its own files, each by one setting: TensorBoard, Weights & Biases, MLflow.

None is imported unless it is asked for. Where their servers are is for their own variables (WANDB_MODE,
MLFLOW_TRACKING_URI) to say.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from geco.errors import UsageError
from geco.store import write_file
from geco.train.settings import Config, TrainConfig

__all__ = ["BOARDS", "Board", "check_boards", "flat", "open_boards"]

BOARDS = {  # setting of train: what is imported, the name people know, the extra that installs it
    "tensorboard": ("torch.utils.tensorboard", "TensorBoard", "board"),
    "wandb": ("wandb", "Weights & Biases", "wandb"),
    "mlflow": ("mlflow", "MLflow", "mlflow"),
}


class Board(Protocol):
    """Takes the numbers of an evaluation by name."""

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        """Take numbers of an epoch."""
        ...

    def close(self) -> None:
        """Send what is left."""
        ...


class TensorBoard:
    """Writes ``tensorboard/`` in the run folder, and drops what it holds from the epoch ``start`` on."""

    def __init__(self, path: Path, config: Config, start: int) -> None:
        self.writer = _imported("tensorboard").SummaryWriter(str(path / "tensorboard"), purge_step=start)

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        """Take numbers of an epoch."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, epoch)

    def close(self) -> None:
        """Send what is left."""
        self.writer.close()


class WeightsAndBiases:
    """A run of the project ``geco``; going on continues it."""

    def __init__(self, path: Path, config: Config, start: int) -> None:
        known = _known(path, "wandb") if start else None
        about = {"project": "geco", "name": _title(path), "dir": str(path), "config": config.to_json()}
        self.run = _imported("wandb").init(**about, id=known, resume="allow" if known else None)
        _keep(path, "wandb", self.run.id)

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        """Take numbers of an epoch."""
        self.run.log(dict(values), step=epoch)

    def close(self) -> None:
        """Send what is left."""
        self.run.finish()


class MLflow:
    """A run of the experiment that MLflow's variables name; going on continues it."""

    def __init__(self, path: Path, config: Config, start: int) -> None:
        mlflow, known = _imported("mlflow"), _known(path, "mlflow") if start else None
        self.client = mlflow.MlflowClient()
        self.run = known or self._begin(mlflow, path, config)
        _keep(path, "mlflow", self.run)

    def _begin(self, mlflow: Any, path: Path, config: Config) -> str:
        run: str = mlflow.start_run(run_name=_title(path)).info.run_id
        mlflow.log_params({name: str(value) for name, value in flat(config.to_json(), ".").items()})
        mlflow.end_run()
        return run

    def log(self, values: Mapping[str, float], epoch: int) -> None:
        """Take numbers of an epoch."""
        for name, value in values.items():
            self.client.log_metric(self.run, re.sub(r"[^\w\-. /]", "_", name), value, step=epoch)

    def close(self) -> None:
        """Say that it ended."""
        self.client.set_terminated(self.run)


MADE: dict[str, Callable[[Path, Config, int], Board]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
}


def check_boards(config: TrainConfig) -> None:
    """Refuse a board that is asked for and not installed."""
    for name in BOARDS:
        if getattr(config, name):
            _imported(name)


def open_boards(path: Path, config: Config, start: int) -> list[Board]:
    """Return the boards that are asked for.

    Args:
        path: the run folder.
        config: of the run.
        start: first epoch that will be told; 0 for a new run.
    """
    return [MADE[name](path, config, start) for name in BOARDS if getattr(config.train, name)]


def flat(table: Mapping[str, Any], between: str = "/") -> dict[str, Any]:
    """Return a table of tables as one, its names joined.

    Example:
        >>> flat({"lr": 0.1, "scores": {"test": {"cat": 0.5}}})
        {'lr': 0.1, 'scores/test/cat': 0.5}
    """
    found: dict[str, Any] = {}
    for name, value in table.items():
        inner = flat(value, between) if isinstance(value, Mapping) else None
        found |= {name: value} if inner is None else {f"{name}{between}{key}": v for key, v in inner.items()}
    return found


def _imported(name: str) -> Any:
    module, title, extra = BOARDS[name]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f'--train.{name} needs {title}: pip install "geco-graph[{extra}]"') from error


def _title(path: Path) -> str:
    return "/".join(path.absolute().parts[-2:])  # say mine/seed-0


def _known(path: Path, name: str) -> str | None:
    """Return the number a board gave the run, if it did."""
    file = path / "boards.json"
    return json.loads(file.read_text()).get(name) if file.is_file() else None


def _keep(path: Path, name: str, number: str) -> None:
    file = path / "boards.json"
    known = json.loads(file.read_text()) if file.is_file() else {}
    write_file(file, json.dumps({**known, name: number}).encode())
