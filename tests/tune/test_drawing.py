from __future__ import annotations

import optuna

from geco.train.config import Config, DataConfig, ModelConfig
from geco.tune.drawing import distributions, today, values_of
from geco.tune.space import Choice, Real, Whole

SPACE = {
    "optim.lr": Real(1e-3, 1e-1, log=True),
    "model.dropout": Real(0.0, 0.6, step=0.1),
    "model.layers": Whole(2, 6, step=2),
    "data.encodings": Choice(((), ("degree",))),
}


def test_what_is_drawn_is_within_the_space() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    for _ in range(30):
        values = values_of(study.ask(distributions(SPACE)).params, SPACE)
        assert values.keys() == SPACE.keys()
        assert all(SPACE[name].holds(value) for name, value in values.items())


def test_a_study_begins_where_the_configuration_is() -> None:
    config = Config(DataConfig(encodings=("degree",)), ModelConfig(dropout=0.35, layers=4))
    first = today(config, SPACE)
    assert first == {"optim.lr": 0.01, "model.layers": 4, "data.encodings": '["degree"]'}
    study = optuna.create_study()
    known = {name: distributions(SPACE)[name] for name in first}
    study.add_trial(optuna.create_trial(state=optuna.trial.TrialState.WAITING, params=first, distributions=known))
    values = values_of(study.ask(distributions(SPACE)).params, SPACE)
    assert {name: values[name] for name in first} == {**first, "data.encodings": ("degree",)}
