"""One trial: a training with the one engine, on the training and validation parts only, within its limits."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from gc import collect
from typing import TYPE_CHECKING, Any

import torch

from geco.data.dataset import GraphDataset
from geco.errors import GecoError, ResourceError, UsageError
from geco.machine import reset_peak, resident
from geco.train.build import device_of, encoded
from geco.train.config import Config
from geco.train.engine import Trainer
from geco.train.metrics import METRICS
from geco.tune.pruning import reported

if TYPE_CHECKING:
    from optuna.trial import Trial

__all__ = ["NO_LIMITS", "Ended", "Limits", "Stopped", "check_limits", "train_trial"]

GIB = 2**30
OOM = ("allocate memory", "bad_alloc", "memory allocation", "out of memory")  # torch has no type for it but on GPUs


class Stopped(Exception):
    """The study is to stop: the trial is not at its end."""


@dataclass(frozen=True)
class Limits:
    """What one trial may take; 0 is no limit."""

    seconds: float = 0.0
    gib: float = 0.0


NO_LIMITS = Limits()


@dataclass(frozen=True)
class Ended:
    """How a trial ended: COMPLETE with its best validation score, PRUNED, or FAIL for a reason; and what else is kept
    of it, with the exit code of that reason.
    """

    state: str
    value: float | None
    facts: dict[str, Any]


def check_limits(limits: Limits, config: Config) -> None:
    """Refuse limits that mean nothing or cannot be watched here."""
    for flag, value in (("--trial-timeout", limits.seconds), ("--trial-memory", limits.gib)):
        if not (math.isfinite(value) and value >= 0):
            raise UsageError(f"{flag} must be a finite number 0 or more, 0 for no limit; got {value}")
    if limits.gib and device_of(config).type == "cpu":
        try:
            reset_peak()
        except OSError as error:
            raise UsageError("--trial-memory cannot be watched on this system; leave it out") from error


def train_trial(
    trial: Trial,
    config: Callable[[], Config],
    dataset: GraphDataset,
    limits: Limits,
    tell: Callable[[dict[str, Any]], None],
    stop: Callable[[], bool],
) -> Ended:
    """Train one trial and return how it ended; `Stopped` if the study is to stop.

    Args:
        trial: Optuna's, which is told the validation score as it goes.
        config: makes the settings, or refuses them.
        dataset: without encodings.
        limits: for this trial, looked at after every step.
        tell: called with every evaluation.
        stop: asked after every step whether the study is to stop.
    """
    begin = time.monotonic()
    watch = _Watch(limits, begin)
    facts: dict[str, Any] = {}
    try:
        found = _trained(trial, config(), dataset, watch, tell, stop, facts)
        ended = Ended("COMPLETE", found, facts) if math.isfinite(found) else _failed(f"its score is {found}", 5, facts)
    except _Pruned:
        ended = Ended("PRUNED", None, facts)
    except GecoError as error:
        ended = _failed(str(error), error.exit_code, facts)
    except ValueError as error:  # settings that do not go together, as `geco.nn` refuses them
        ended = _failed(str(error), UsageError.exit_code, facts)
    except (MemoryError, RuntimeError) as error:
        memory = isinstance(error, MemoryError) or any(word in str(error).lower() for word in OOM)
        what, code = ("out of memory", ResourceError.exit_code) if memory else (type(error).__name__, 1)
        ended = _failed(f"{what}: {str(error).partition(chr(10))[0]}".removesuffix(": "), code, facts)
    finally:
        collect()  # the network goes before the next one comes
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return Ended(ended.state, ended.value, {**ended.facts, "seconds": round(time.monotonic() - begin, 2)})


class _Pruned(Exception):
    """Left early."""


def _failed(reason: str, code: int, facts: dict[str, Any]) -> Ended:
    return Ended("FAIL", None, {**facts, "reason": " ".join(reason.split()), "code": code})


class _Watch:
    """Looks at what a trial takes."""

    def __init__(self, limits: Limits, begin: float) -> None:
        self.limits, self.begin = limits, begin
        self.cuda = torch.cuda.is_available()
        if self.cuda:
            torch.cuda.reset_peak_memory_stats()
        with contextlib.suppress(OSError):
            reset_peak()

    def memory(self, device: torch.device) -> int | None:
        """Return the peak since the trial began in bytes: of the GPU, or of the process with its data."""
        if device.type == "cuda":
            return torch.cuda.max_memory_allocated(device)
        with contextlib.suppress(OSError):
            return resident()
        return None

    def look(self, device: torch.device) -> None:
        """Refuse to go on beyond a limit."""
        seconds = time.monotonic() - self.begin
        if self.limits.seconds and seconds > self.limits.seconds:
            raise ResourceError(f"it took over --trial-timeout {self.limits.seconds:g} s")
        took = self.memory(device) if self.limits.gib else None
        if took is not None and took > self.limits.gib * GIB:
            raise ResourceError(f"it took {took / GIB:.2f} GiB, over --trial-memory {self.limits.gib:g}")


def _trained(
    trial: Trial,
    config: Config,
    dataset: GraphDataset,
    watch: _Watch,
    tell: Callable[[dict[str, Any]], None],
    stop: Callable[[], bool],
    facts: dict[str, Any],
) -> float:
    """Return the best validation score; what is known of the training goes into the facts as it comes."""

    def look() -> bool:
        watch.look(trainer.device)
        if stop():
            raise Stopped
        return False

    def heard(line: dict[str, Any]) -> None:
        best = line["best"]
        facts.update(epoch=best["epoch"], epochs=line["epoch"])
        tell(line)
        if reported(config, line["epoch"]) and math.isfinite(best["valid"]):
            trial.report(best["valid"], line["epoch"])
            if line["epoch"] < config.train.epochs and trial.should_prune():
                raise _Pruned

    trainer = Trainer(config, encoded(dataset, config), tell=heard, stop=look, parts=("valid",))
    facts.update(parameters=trainer.parameters, better=METRICS[trainer.metric].better)
    try:
        return float(trainer.fit()["valid"])
    finally:
        facts["memory"] = watch.memory(trainer.device)
