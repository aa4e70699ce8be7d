"""When a trial is left early: its best validation score so far beside what others had at the same epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from geco.train.config import Config

if TYPE_CHECKING:
    from optuna.pruners import BasePruner

__all__ = ["PrunerName", "pruner", "reported"]

PrunerName = Literal["median", "hyperband", "none"]
STARTUP = 5  # trials that end before the median counts
REPORTS = 40  # scores of a trial that others are compared with, at most


def pruner(name: PrunerName, config: Config) -> BasePruner:
    """Return Optuna's pruner: the median from a fifth of the epochs on, Hyperband with brackets by a third each.

    Args:
        name: median, hyperband, or none, which leaves no trial early.
        config: how long a trial is.
    """
    import optuna
    from optuna.pruners import HyperbandPruner, MedianPruner, NopPruner

    class BySlot(HyperbandPruner):
        """Brackets by the slot of a trial, which a trial that is trained again keeps, and not by its number; what
        failed is in none.
        """

        def _get_bracket_id(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> int:
            if trial.state == optuna.trial.TrialState.FAIL:
                return -1
            plain = optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING)
            plain.number = trial.user_attrs.get("slot", trial.number)
            return super()._get_bracket_id(study, plain)

    epochs = config.train.epochs
    makers: dict[str, Callable[[], BasePruner]] = {
        "median": lambda: MedianPruner(STARTUP, max(1, epochs // 5, min(epochs // 2, config.optim.warmup))),
        "hyperband": lambda: BySlot(max(1, epochs // 9), epochs),
        "none": NopPruner,
    }
    return makers[name]()


def reported(config: Config, epoch: int) -> bool:
    """Tell whether an epoch's score is one that others are compared with: the same epochs for all trials.

    Example:
        >>> [epoch for epoch in range(1, 201) if reported(Config(), epoch)][:3]
        [5, 10, 15]
    """
    train = config.train
    every = train.eval_every * math.ceil(train.epochs / train.eval_every / REPORTS)
    return epoch % every == 0
