"""What tests of studies share: small data, small plans, and what a study came to."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from geco.data.embedded.synthetic import erdos_renyi
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.tune.slots import latest
from geco.tune.space import Choice, Real, Whole
from geco.tune.storage import open_study
from geco.tune.tuner import Plan, Tuner

DATA = erdos_renyi(60, degree=4, seed=1)
SPACE = {
    "optim.lr": Real(1e-3, 1e-1, log=True),
    "model.dropout": Real(0.0, 0.6, step=0.2),
    "model.hidden": Choice((4, 8)),
    "model.layers": Whole(1, 2),
}
BASE = Config(
    DataConfig("test"), ModelConfig(hidden=8, layers=1), OptimConfig(warmup=1), TrainConfig(epochs=4, threads=1)
)
PLAN = Plan(BASE, SPACE, trials=3)


@cache
def empty() -> bytes:
    """Return the file of a study that was just made, which takes Optuna a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.db"
        open_study(path, {}, higher=True)
        return path.read_bytes()


@contextlib.contextmanager
def nothing(number: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show nothing."""
    yield lambda line: None


def run(folder: Path, trials: int = 3, stopped: Callable[[], bool] = lambda: False, **changes: Any) -> Tuner:
    """Work on a study until it is at its end."""
    tuner = Tuner(replace(PLAN, trials=trials, **changes), DATA, folder)
    tuner.run(stopped, nothing, lambda trial: None)
    return tuner


def came_to(tuner: Tuner) -> dict[int, Any]:
    """Return of each slot its settings, how it ended, and its scores by epoch."""
    return {
        number: (trial.params, trial.state.name, trial.value, trial.intermediate_values)
        for number, trial in sorted(latest(tuner.study).items())
    }
