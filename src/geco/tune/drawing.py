"""From a search space to the settings of a trial, by Optuna's names for both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from geco.train.config import Config
from geco.tune.space import Choice, Real, Setting, Space, Whole

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

__all__ = ["distributions", "today", "values_of"]


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """Return what Optuna draws each setting from."""
    return {name: _distribution(setting) for name, setting in space.items()}


def values_of(params: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Return settings as they are trained with from what was drawn.

    Example:
        >>> values_of({"optim.lr": 0.01234567, "model.act": "gelu"}, {"optim.lr": Real(0.001, 0.1),
        ...                                                           "model.act": Choice(("relu", "gelu"))})
        {'optim.lr': 0.01235, 'model.act': 'gelu'}
    """
    return {name: _value(params[name], setting) for name, setting in space.items() if name in params}


def today(config: Config, space: Space) -> dict[str, Any]:
    """Return what a configuration has of a space, as it would be drawn: where a study begins.

    Example:
        >>> today(Config(), {"model.hidden": Choice((32, 64)), "model.layers": Whole(3, 4)})
        {'model.hidden': 64}
    """
    found = {}
    for name, setting in space.items():
        section, _, key = name.partition(".")
        value = getattr(getattr(config, section), key)
        if setting.holds(value):
            found[name] = _label(value) if isinstance(setting, Choice) else value
    return found


def _distribution(setting: Setting) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(setting, Choice):
        return CategoricalDistribution([_label(value) for value in setting.values])
    if isinstance(setting, Whole):
        return IntDistribution(setting.low, setting.high, log=setting.log, step=setting.step)
    return FloatDistribution(setting.low, setting.high, log=setting.log, step=setting.step)


def _label(value: Any) -> Any:
    """Return a value as Optuna stores it, which has no lists."""
    return json.dumps(value) if isinstance(value, tuple) else value


def _value(drawn: Any, setting: Setting) -> Any:
    if isinstance(setting, Choice):
        return next(value for value in setting.values if _label(value) == drawn)
    return setting.plain(drawn) if isinstance(setting, Real) else drawn
