"""Polynormer in its two phases: local epochs, then all of it from the best of them, killed and gone on bit by bit."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from geco.errors import CheckpointError, Interrupted, UsageError
from geco.nn.baselines.models import PolynormerBody
from geco.store import read_entry
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig, read_toml
from geco.train.engine import Trainer
from geco.train.trained_run import load_run
from tests.train.runs import MANY, ONE, assert_same, left_by

LOCAL = 5
CONFIG = Config(
    DataConfig("test", batch_size=16),
    ModelConfig("polynormer", hidden=8, layers=2, dropout=0.3, local_epochs=LOCAL),
    OptimConfig(lr=0.05, schedule="constant", warmup=0),
    TrainConfig(epochs=9, threads=1),
    seed=3,  # whose best local epoch is not the last one
)


def changed(config: Config = CONFIG, **train: Any) -> Config:
    return replace(config, train=replace(config.train, **train))


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


class Watched(Trainer):
    """Keeps the weights that each epoch begins with, the optimiser's steps, and which part of the network is on."""

    def _epoch(self) -> dict[str, float]:
        self.begun: list[Any] = getattr(self, "begun", [])
        steps = {int(values["step"]) for values in self.optimizer.state_dict()["state"].values()}
        found = super()._epoch
        before = weights(self)
        line = found()
        assert isinstance(self.model.body, PolynormerBody)
        self.begun.append((before, steps, self.model.body._global))
        return line


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_the_second_phase_begins_with_the_best_local_epoch(average: float, tmp_path: Path) -> None:
    config = replace(CONFIG, optim=replace(CONFIG.optim, average=average))
    local = Trainer(changed(config, epochs=LOCAL), ONE, tmp_path / "local")
    local.fit()
    best = local.state.best["epoch"]
    assert best < LOCAL  # else going on from the last one would be the same
    both = Watched(config, ONE)
    both.fit()
    assert [on for *_, on in both.begun] == [False] * LOCAL + [True] * 4
    after_best, after_last = both.begun[best], both.begun[LOCAL]
    for name, value in after_best[0].items():
        assert torch.equal(after_last[0][name], value), name
    assert after_last[1] == after_best[1] == {best}  # the optimiser, too
    first, last = both.begun[0][0], weights(both)
    for name, moved in (("pred_global", False), ("global_attn.0", False), ("pred_local", True)):
        keys = [key for key in first if key.startswith(f"body.{name}") and key.endswith("weight")]
        assert keys
        assert all(torch.equal(first[key], both.begun[LOCAL][0][key]) != moved for key in keys), name
        assert any(not torch.equal(both.begun[LOCAL][0][key], last[key]) for key in keys) != moved, name


@pytest.mark.parametrize(
    ("save_every", "moments"),
    [
        (1, (4, 1, 2)),  # in the last local epoch, in the first of the second phase, later in it
        (4, (7, 2)),  # in the second phase, where the newest checkpoint is of the first one
    ],
)
@pytest.mark.parametrize("data", [ONE, MANY], ids=["one", "many"])
def test_killed_anywhere_and_gone_on_bit_by_bit(
    data: Any, save_every: int, moments: tuple[int, ...], tmp_path: Path
) -> None:
    config = changed(save_every=save_every)
    Trainer(config, data, tmp_path / "whole").fit()
    wanted = left_by(tmp_path / "whole")

    class Killed(Exception):
        pass

    def kill(step: int) -> Any:
        left = iter(range(step))

        class Mortal(Trainer):
            def step(self, group: Any) -> float:
                if next(left, None) is None:
                    raise Killed  # leaves what was saved before
                return super().step(group)

        return Mortal

    steps, folder = Trainer(config, data).batches.steps, tmp_path / "run"
    for epochs in moments:
        mortal = kill(epochs * steps)(config, data, folder, resume=True)
        with pytest.raises(Killed):
            mortal.fit()
    Trainer(config, data, folder, resume=True).fit()
    assert_same(left_by(folder), wanted)


def test_stopped_between_the_phases_and_gone_on(tmp_path: Path) -> None:
    Trainer(CONFIG, ONE, tmp_path / "whole").fit()
    stops = iter([False] * (2 * LOCAL - 1) + [True])  # asked after every step and every epoch
    with pytest.raises(Interrupted):
        Trainer(CONFIG, ONE, tmp_path / "run", stop=lambda: next(stops)).fit()
    Trainer(CONFIG, ONE, tmp_path / "run", resume=True).fit()
    assert_same(left_by(tmp_path / "run"), left_by(tmp_path / "whole"))


def test_in_memory_as_on_disk(tmp_path: Path) -> None:
    assert Trainer(CONFIG, ONE).fit() == Trainer(CONFIG, ONE, tmp_path / "run").fit()


def test_patience_waits_for_the_second_phase() -> None:
    trainer = Trainer(changed(patience=1, epochs=20), ONE)
    trainer.fit()
    assert LOCAL < trainer.state.epoch < 20
    assert trainer.state.waits[LOCAL] <= 1  # counted from the beginning of the phase
    assert max(trainer.state.waits[:LOCAL]) >= 1  # which would have ended the first one


def test_the_last_local_epoch_is_judged() -> None:
    trainer = Trainer(changed(eval_every=3), ONE)
    trainer.fit()
    assert [line["epoch"] for line in trainer.state.history] == [3, LOCAL, 6, 9]


@pytest.mark.parametrize("local_epochs", [0, LOCAL])
def test_a_run_predicts_with_the_part_that_was_judged(local_epochs: int, tmp_path: Path) -> None:
    config = replace(CONFIG, model=replace(CONFIG.model, local_epochs=local_epochs), train=TrainConfig(epochs=6))
    trainer = Trainer(config, ONE, tmp_path / "run")
    result = trainer.fit()
    network = load_run(tmp_path / "run").network
    assert isinstance(network.body, PolynormerBody)
    assert network.body._global == (result["epoch"] > (local_epochs or 2))
    trainer.model.load_state_dict(read_entry(tmp_path / "run" / "best").arrays)
    trainer.model.set_epoch(result["epoch"] - 1, 6)
    data = next(iter(trainer.batches.sample(0, 1)))
    assert torch.equal(network(data), trainer.model.eval()(data))


def test_runs_of_before_go_on_as_they_were(tmp_path: Path) -> None:
    """Their settings do not name the phase: a third of the epochs, and no reload."""
    old = replace(CONFIG, model=replace(CONFIG.model, local_epochs=0))
    stops = iter([False] * 5 + [True])
    with pytest.raises(Interrupted):
        Trainer(old, ONE, tmp_path / "run", stop=lambda: next(stops)).fit()
    file = tmp_path / "run" / "config.toml"
    text = file.read_text()
    file.write_text(text.replace("local_epochs = 0\n", ""))
    assert file.read_text() != text
    assert read_toml(file, run=True).model.local_epochs == 0
    Trainer(old, ONE, tmp_path / "run", resume=True).fit()
    Trainer(old, ONE, tmp_path / "whole").fit()
    assert_same(left_by(tmp_path / "run"), left_by(tmp_path / "whole"))
    assert not (tmp_path / "run" / "local").exists()


def test_more_epochs_may_follow(tmp_path: Path) -> None:
    Trainer(changed(epochs=7), ONE, tmp_path / "run").fit()
    found = Trainer(CONFIG, ONE, tmp_path / "run", resume=True).fit()
    assert found == Trainer(CONFIG, ONE).fit()
    other = replace(CONFIG, model=replace(CONFIG.model, local_epochs=6))
    with pytest.raises(CheckpointError, match=r"model\.local_epochs: 5 there, 6 now"):
        Trainer(other, ONE, tmp_path / "run", resume=True)


def test_settings(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UsageError, match=r"local-epochs is for --model\.name polynormer, got gcn"):
        ModelConfig("gcn", local_epochs=3)
    with pytest.raises(UsageError, match="local-epochs must be at least 0, got -1"):
        ModelConfig("polynormer", local_epochs=-1)
    with caplog.at_level(logging.WARNING):
        Trainer(changed(epochs=LOCAL), ONE)
    assert "the global part of the network is never trained" in caplog.text
