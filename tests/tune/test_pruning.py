from __future__ import annotations

from dataclasses import replace

import optuna
from optuna.trial import TrialState, create_trial

from geco.train.config import Config, TrainConfig
from geco.tune.pruning import REPORTS, pruner, reported


def test_trials_are_compared_at_the_same_few_epochs() -> None:
    for epochs, every in ((3, 1), (40, 1), (41, 1), (200, 1), (1000, 10)):
        config = Config(train=TrainConfig(epochs=epochs, eval_every=every))
        chosen = [epoch for epoch in range(every, epochs + 1, every) if reported(config, epoch)]
        assert 1 <= len(chosen) <= REPORTS
        assert all(epoch % every == 0 for epoch in chosen)


def _study(name: str, epochs: int = 20) -> optuna.Study:
    config = Config(train=TrainConfig(epochs=epochs))
    study = optuna.create_study(direction="maximize", pruner=pruner(name, config))  # type: ignore[arg-type]
    for slot in range(6):
        steps = {step: 0.5 + 0.01 * slot for step in range(1, epochs + 1)}
        study.add_trial(create_trial(value=0.5, intermediate_values=steps, user_attrs={"slot": slot}))
    return study


def _pruned_at(study: optuna.Study, value: float) -> int:
    """Return the step at which a trial with one value throughout is left, 0 for never."""
    study.add_trial(create_trial(state=TrialState.WAITING, user_attrs={"slot": 6}))
    trial = study.ask()
    for step in range(1, 21):
        trial.report(value, step)
        if trial.should_prune():
            return step
    return 0


def test_the_median_leaves_the_worse_half_after_warm_up() -> None:
    assert _pruned_at(_study("median"), 0.1) >= 4
    assert _pruned_at(_study("median"), 0.9) == 0


def test_none_leaves_none() -> None:
    assert _pruned_at(_study("none"), 0.1) == 0


def _hyperband() -> tuple[optuna.Study, list[int]]:
    """Return a study of 30 trials, of which the later half is worse, and the slots that were left early."""
    study = optuna.create_study(direction="maximize", pruner=pruner("hyperband", Config(train=TrainConfig(epochs=27))))
    left = []
    for slot in range(30):
        study.add_trial(create_trial(state=TrialState.WAITING, user_attrs={"slot": slot}))
        trial = study.ask()
        for step in range(1, 28):
            trial.report(0.9 - 0.01 * slot, step)
            if trial.should_prune():
                left.append(slot)
                study.tell(trial, state=TrialState.PRUNED)
                break
        else:
            study.tell(trial, 0.9 - 0.01 * slot)
    return study, left


def test_hyperband_leaves_what_is_worse_in_its_bracket() -> None:
    _, left = _hyperband()
    assert 0 not in left
    assert len(left) > 10


def test_a_trial_that_is_trained_again_keeps_its_bracket_and_failed_ones_have_none() -> None:
    study, _ = _hyperband()
    rule = study.pruner
    assert isinstance(rule, optuna.pruners.HyperbandPruner)
    brackets = set()
    for slot in range(20):
        trials = []
        for number in (slot, slot + 7, slot + 31):
            trial = create_trial(state=TrialState.RUNNING, user_attrs={"slot": slot})
            trial.number = number
            trials.append(trial)
        found = {rule._get_bracket_id(study, trial) for trial in trials}
        assert len(found) == 1
        brackets |= found
    assert len(brackets) > 1
    assert rule._get_bracket_id(study, create_trial(state=TrialState.FAIL, user_attrs={"slot": 1})) == -1


def test_warm_up_is_never_longer_than_half_a_trial() -> None:
    config = Config(train=TrainConfig(epochs=4))
    config = replace(config, optim=replace(config.optim, warmup=50))
    rule = pruner("median", config)
    assert isinstance(rule, optuna.pruners.MedianPruner)
    assert rule._n_warmup_steps == 2
