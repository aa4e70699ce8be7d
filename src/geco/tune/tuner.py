"""A worker of a study: trains trials until every slot of it is at its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from filelock import FileLock

from geco.data.dataset import GraphDataset
from geco.errors import GecoError, Interrupted, NumericalError, ResourceError, UsageError
from geco.store import write_file
from geco.train.config import Config
from geco.train.metrics import METRICS, check_metric
from geco.tune.drawing import distributions, today, values_of
from geco.tune.pruning import PrunerName, pruner
from geco.tune.slots import GONE, Slots, latest
from geco.tune.space import Space
from geco.tune.space_file import space_toml, with_values
from geco.tune.storage import check_optuna, open_study, stored
from geco.tune.trial import NO_LIMITS, Ended, Limits, Stopped, train_trial

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial, Trial

__all__ = ["Display", "Plan", "Tuner", "with_metric"]

POLL = 1.0  # seconds between two looks at what other workers do
ERRORS: dict[int, type[GecoError]] = {1: GecoError, 5: NumericalError, 6: ResourceError}


class Display(Protocol):
    """Shows a trial while it is trained: called with its number, gives what is called with each evaluation."""

    def __call__(self, number: int) -> AbstractContextManager[Callable[[dict[str, Any]], None]]:
        """Begin to show a trial."""
        ...


@dataclass(frozen=True)
class Plan:
    """What a study is asked for.

    Args:
        config: settings of every trial but those that are tried; its seed is that of all trials and of what is drawn.
        space: what is tried.
        trials: how many.
        pruner: when a trial is left early.
        limits: of one trial.
        seconds: after which no trial goes on; 0 for no limit.
    """

    config: Config
    space: Space
    trials: int
    pruner: PrunerName = "median"
    limits: Limits = NO_LIMITS
    seconds: float = 0.0

    def about(self, dataset: GraphDataset) -> dict[str, Any]:
        """Return what makes a study another one: not how many trials it has, nor where they run."""
        config = self.config.to_json()
        for name in ("device", "threads", "tensorboard", "wandb", "mlflow"):
            del config["train"][name]
        space = {name: repr(setting) for name, setting in self.space.items()}
        data = {"metric": dataset.info.metric, "fingerprint": dataset.fingerprint}
        return {"settings": config, "space": space, "pruner": self.pruner, "data": data}


class Tuner:
    """One worker of the study in a folder.

    Args:
        plan: what is asked for.
        dataset: without encodings, with the metric that counts.
        folder: of the study; made if it is not there.
    """

    def __init__(self, plan: Plan, dataset: GraphDataset, folder: Path) -> None:
        check_optuna()
        self.plan, self.dataset, self.folder = plan, dataset, folder
        self.higher = METRICS[dataset.info.metric].better == "higher"
        about = plan.about(dataset)
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".slots.lock"):
            self.study = open_study(folder / "study.db", about, self.higher)
            write_file(folder / "space.toml", space_toml(plan.space).encode())
        self.study.pruner = pruner(plan.pruner, plan.config)
        first, seed = today(plan.config, plan.space), plan.config.seed
        self.slots = Slots(self.study, folder, plan.trials, distributions(plan.space), first, seed)

    def run(self, stopped: Callable[[], bool], show: Display, tell: Callable[[FrozenTrial], None]) -> None:
        """Train trials until there are as many as asked for, or the time is up; `Interrupted` if it is stopped.

        Args:
            stopped: asked after every step whether to stop.
            show: shows a trial while it runs.
            tell: called with every trial that this worker ended.
        """
        begin = time.monotonic()

        def late() -> bool:
            return bool(self.plan.seconds) and time.monotonic() - begin > self.plan.seconds

        with stored(self.folder / "study.db"), self.slots:
            while not late() and not stopped():
                trial = self.slots.claim()
                if trial is not None:
                    self._one(trial, lambda: stopped() or late(), show, tell)
                elif self.slots.open:
                    time.sleep(POLL)
                else:
                    return
        if stopped():
            raise Interrupted(f"stopped; all trials are kept in {self.folder}, the same command goes on")

    def _one(self, trial: Trial, stop: Callable[[], bool], show: Display, tell: Callable[[FrozenTrial], None]) -> None:
        number = trial.user_attrs["slot"]
        try:
            with self.slots.beating(trial), show(number) as heard:
                ended = train_trial(
                    trial, partial(self.config, trial.params), self.dataset, self.plan.limits, heard, stop
                )
        except (Stopped, KeyboardInterrupt, SystemExit) as end:
            self.slots.end(trial, "FAIL", again=True, reason="stopped")  # in this order: see Slots.end
            if not isinstance(end, Stopped):
                raise
            return
        self._note(trial, number, ended, tell)

    def _note(self, trial: Trial, number: int, ended: Ended, tell: Callable[[FrozenTrial], None]) -> None:
        if self.slots.end(trial, ended.state, ended.value, **ended.facts):
            tell(latest(self.study)[number])

    def config(self, params: dict[str, Any]) -> Config:
        """Return the settings that a trial is trained with."""
        return with_values(self.plan.config, values_of(params, self.plan.space), "the trial")

    @property
    def best(self) -> FrozenTrial:
        """The trial that validates best, the first of equals; without one, an error with the commonest reason."""
        with stored(self.folder / "study.db"):
            ended, slots = self.complete, latest(self.study).values()
        if ended:
            sign = 1 if self.higher else -1
            return max(ended, key=lambda trial: sign * (trial.value or 0.0))
        failed = [trial.user_attrs for trial in slots if trial.state.name == "FAIL"]
        if not failed:
            raise ResourceError(f"no trial in {self.folder} is finished yet; give more --timeout")
        reasons = [facts.get("reason", GONE) for facts in failed]
        reason = max(reasons, key=reasons.count)
        code = next(facts.get("code", 6) for facts in failed if facts.get("reason", GONE) == reason)
        raise ERRORS.get(code, UsageError)(
            f"no trial in {self.folder} was finished, so nothing won; {reasons.count(reason)} of {len(failed)} that "
            f"failed: {reason}"
        )

    def line(self, trial: FrozenTrial) -> str:
        """Return what became of a trial, beside the best so far."""
        facts, total = trial.user_attrs, max(self.plan.trials, len(latest(self.study)))
        what = {"COMPLETE": "", "PRUNED": "left at epoch {epochs}, ", "FAIL": "failed: {reason}, "}[trial.state.name]
        what = what.format(**{"epochs": "?", "reason": GONE, **facts})
        score = f"{trial.value:.4f}, " if trial.value is not None else ""
        settings = ", ".join(f"{name.partition('.')[2]} {value}" for name, value in self.values(trial).items())
        found = f"trial {facts['slot'] + 1} of {total}: {what}{score}{facts.get('seconds', 0):.0f} s"
        return f"{found}; {self.said(self.best) if self.complete else 'none is complete yet'}; {settings}"

    def said(self, best: FrozenTrial) -> str:
        """Return which trial is the best, in a few words."""
        number, total = best.user_attrs["slot"] + 1, max(self.plan.trials, len(latest(self.study)))
        return f"best {self.dataset.info.metric} {best.value:.4f} of validation in trial {number} of {total}"

    def values(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return the settings of a trial that were drawn, by name."""
        return values_of(trial.params, self.plan.space)

    @property
    def complete(self) -> list[FrozenTrial]:
        """The trials that were trained to the end, by slot."""
        return [trial for _, trial in sorted(latest(self.study).items()) if trial.state.name == "COMPLETE"]


def with_metric(dataset: GraphDataset, metric: str) -> GraphDataset:
    """Return a data set that is scored by another metric, if one is given that suits it."""
    info = dataset.info
    if not metric or metric == info.metric:
        return dataset
    check_metric(metric, info.level, info.target, info.num_targets)
    return replace(dataset, info=replace(info, metric=metric))
