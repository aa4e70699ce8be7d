"""A study for machines: command, versions, what was tried, and what each trial came to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from geco import __version__
from geco.machine import environment
from geco.store import write_file
from geco.tune.slots import GONE, latest
from geco.tune.space_file import space_toml

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from geco.tune.tuner import Tuner

__all__ = ["study_record", "write_record"]

FACTS = ("epoch", "epochs", "seconds", "parameters", "memory")


def write_record(tuner: Tuner, command: str) -> None:
    """Write the record of a study into its folder."""
    text = json.dumps(study_record(tuner, command), indent=1) + "\n"
    write_file(tuner.folder / "record.json", text.encode())


def study_record(tuner: Tuner, command: str) -> dict[str, Any]:
    """Return all that is known of a study, in JSON's types.

    Args:
        tuner: of the study.
        command: which asked for it.
    """
    trials = tuner.study.get_trials(deepcopy=False)
    last = [trial for _, trial in sorted(latest(tuner.study).items())]
    return {
        "command": command,
        "geco": __version__,
        "environment": environment(),
        "metric": tuner.dataset.info.metric,
        "pruner": tuner.plan.pruner,
        "settings": tuner.plan.config.to_json(),
        "space": space_toml(tuner.plan.space),
        "workers": len({repr(trial.user_attrs.get("worker")) for trial in trials}),
        "cut_short": len(trials) - len(last),
        "best": tuner.best.user_attrs["slot"] + 1 if tuner.complete else None,
        "trials": [_trial(tuner, trial) for trial in last],
    }


def _trial(tuner: Tuner, trial: FrozenTrial) -> dict[str, Any]:
    facts = trial.user_attrs
    reason = {"reason": facts.get("reason", GONE)} if trial.state.name == "FAIL" else {}
    told = {name: facts[name] for name in FACTS if name in facts}
    settings = {name: list(v) if isinstance(v, tuple) else v for name, v in tuner.values(trial).items()}
    ended = {"state": trial.state.name.lower(), "valid": trial.value, **reason}
    return {"trial": facts["slot"] + 1, **ended, **told, "settings": settings}
