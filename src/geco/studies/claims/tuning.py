"""A tuning of a study, by `geco.tune` as `geco tune` does it, and a training with the settings that won."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from geco.console import print_line
from geco.data.dataset import GraphDataset
from geco.errors import DataError, GecoError, Interrupted
from geco.studies.claims.study import Result, Training, Tuning, Winner
from geco.tune.slots import latest
from geco.tune.space import default_space
from geco.tune.space_file import with_values
from geco.tune.storage import check_optuna
from geco.tune.tuner import Plan, Tuner

__all__ = ["tune", "won"]


def tune(tuning: Tuning, dataset: GraphDataset, folder: Path) -> Result:
    """Train the trials that are missing in a folder and return the best settings; of a tuning without any, why.

    Args:
        tuning: of which network, and how many trials.
        dataset: of all of them.
        folder: of the study.
    """
    check_optuna()
    config = tuning.training.config
    plan = Plan(config, default_space(config.model, dataset.info.level), tuning.trials)
    tuner = Tuner(plan, dataset, folder)
    try:
        tuner.run(lambda: False, _quietly, lambda trial: print_line(tuner.line(trial)))
        best = tuner.best
    except Interrupted:
        raise
    except GecoError as error:
        return {"failed": str(error)}
    trials = latest(tuner.study).values()
    ends = Counter(trial.state.name.lower() for trial in trials)
    seconds = sum(trial.user_attrs.get("seconds", 0.0) for trial in trials)
    found = {"valid": best.value, "metric": dataset.info.metric, "settings": tuner.values(best)}
    return {**found, "trials": len(trials), "ends": dict(ends), "tuned": round(seconds, 2)}


def won(winner: Winner, known: Mapping[str, Result]) -> Training:
    """Return the training with the settings that won, or refuse it if nothing has."""
    found = known.get(winner.of, {"failed": "it is not done"})
    if "failed" in found:
        raise DataError(f"the tuning {winner.of} found no settings: {found['failed']}")
    config = with_values(winner.training.config, found["settings"], winner.of)
    return replace(winner.training, config=config)


@contextlib.contextmanager
def _quietly(number: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show nothing of a trial while it runs."""
    yield lambda line: None
