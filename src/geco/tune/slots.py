"""Which trial is next, and what became of those before: a study of T trials has T slots, and each is trained to an end.

A trial whose process is gone is noted as failed, and its slot is trained again with the same settings, up to `DEATHS`
times. What is drawn for a slot is a function of (seed, number of the slot, trials that have ended), so that one worker
that was stopped goes on with the trials it would have come to.
"""

from __future__ import annotations

import contextlib
import platform
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from geco.tune.storage import HEARTBEAT, quiet, stored

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial, Trial

__all__ = ["DEATHS", "GONE", "Slots", "latest"]

DEATHS = 3  # times a slot's process may be gone until it is left as failed
GONE = "its process was gone: killed, or out of memory"


def latest(study: Study) -> dict[int, FrozenTrial]:
    """Return the last trial of each slot, by its number."""
    return {trial.user_attrs["slot"]: trial for trial in study.get_trials(deepcopy=False)}


class Slots:
    """The slots of a study as one worker sees them.

    Args:
        study: an open one.
        folder: it is kept in.
        total: slots it shall have; those it has already stay.
        space: what Optuna draws from.
        first: settings of slot 0, as far as they are known.
        seed: of what is drawn.
    """

    def __init__(
        self, study: Study, folder: Path, total: int, space: dict[str, BaseDistribution], first: dict[str, Any],
        seed: int,
    ) -> None:  # fmt: skip
        self.study, self.folder, self.total, self.space = study, folder, total, space
        self.first, self.seed = first, seed
        self.lock = FileLock(folder / ".slots.lock")
        self.host, self.name = platform.node(), uuid.uuid4().hex[:12]
        self.alive = FileLock(self._sign(self.name))

    def __enter__(self) -> Slots:
        """Be seen as alive by the others."""
        self.alive.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        """Be gone."""
        self.alive.release()
        self._sign(self.name).unlink(missing_ok=True)

    def claim(self) -> Trial | None:
        """Return a trial to train, with its settings drawn; None if there is none at the moment."""
        with self.lock, stored(self.folder / "study.db"), quiet():
            self._bury()
            slots = latest(self.study)
            waiting = {trial.number: slot for slot, trial in slots.items() if trial.state.name == "WAITING"}
            if not waiting and len(slots) >= self.total:
                return None
            number = waiting[min(waiting)] if waiting else len(slots)  # Optuna takes the oldest that waits
            if not waiting:
                self._add(number, self.first if number == 0 else {})
            self.study.sampler = _sampler(self.seed, number)
            trial = self.study.ask(self.space)
            self.study._storage.record_heartbeat(trial._trial_id)  # type: ignore[attr-defined]
            trial.set_user_attr("worker", [self.host, self.name])  # last: without it, nobody trains this
            return trial

    @property
    def open(self) -> bool:
        """Whether another worker is training, who may be killed and leave its slot to us."""
        states = {trial.state.name for trial in latest(self.study).values()}
        return bool(states & {"WAITING", "RUNNING"})

    def end(self, trial: Trial, state: str, value: float | None = None, **facts: Any) -> bool:
        """Note how a trial ended; False if it was given up as gone before, and is another worker's now.

        Facts are written one by one: a process that is killed between two of them leaves a trial that failed without a
        reason, or to be trained again, if ``again`` comes before ``reason``.
        """
        import optuna

        with self.lock, stored(self.folder / "study.db"):
            try:
                for name, fact in facts.items():
                    trial.set_user_attr(name, fact)
                self.study.tell(trial, value, optuna.trial.TrialState[state])
            except (optuna.exceptions.UpdateFinishedTrialError, ValueError):
                return False
            self._again()
            return True

    @contextlib.contextmanager
    def beating(self, trial: Trial) -> Iterator[None]:
        """Give signs of life while a trial is trained."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(HEARTBEAT):
                with contextlib.suppress(Exception):  # a file that is locked for long: the next sign may do
                    self.study._storage.record_heartbeat(trial._trial_id)  # type: ignore[attr-defined]

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _bury(self) -> None:
        """Note trials whose process is gone as failed, and let their slots be trained again."""
        import optuna

        optuna.storages.fail_stale_trials(self.study)  # of other machines, by their heartbeats
        for trial in self.study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
            if self._gone(trial):
                with contextlib.suppress(optuna.exceptions.UpdateFinishedTrialError):
                    self.study._storage.set_trial_state_values(trial._trial_id, optuna.trial.TrialState.FAIL)
        self._again()

    def _gone(self, trial: FrozenTrial) -> bool:
        host, name = trial.user_attrs.get("worker", (self.host, ""))
        if host != self.host or name == self.name:
            return False
        if not name:  # it was being claimed
            return True
        try:
            with FileLock(self._sign(name), timeout=0):
                self._sign(name).unlink(missing_ok=True)
        except Timeout:
            return False
        return True

    def _again(self) -> None:
        """Have each slot wait once more whose last trial was cut short: it failed and has no reason of its own."""
        for number, trial in latest(self.study).items():
            facts = trial.user_attrs
            if trial.state.name != "FAIL" or ("reason" in facts and not facts.get("again")):
                continue
            deaths = facts.get("deaths", 0) + (not facts.get("again"))
            if deaths < DEATHS:
                self._add(number, trial.params, deaths=deaths)

    def _add(self, number: int, params: dict[str, Any], **facts: Any) -> None:
        import optuna

        known = {name: self.space[name] for name in params}
        state = optuna.trial.TrialState.WAITING
        about = {"slot": number, **facts}
        self.study.add_trial(optuna.create_trial(state=state, params=params, distributions=known, user_attrs=about))

    def _sign(self, name: str) -> Path:
        return self.folder / f".worker-{name}.lock"


def _sampler(seed: int, number: int) -> Any:
    """Return what draws a slot: at random for the first ten, then by what the trials so far say."""
    from optuna.samplers import TPESampler

    from geco.train.build import seed_of

    return TPESampler(seed=seed_of(seed, number) % 2**32)
