"""Curves of a run in Python, and what is told while it trains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geco.data.embedded.synthetic import erdos_renyi
from geco.errors import UsageError
from geco.train.config import Config, DataConfig, ModelConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.trained_run import load_run

CONFIG = Config(DataConfig(batch_size=10), ModelConfig("mlp", hidden=4), train=TrainConfig(epochs=3))


def test_plot_shows_all_seeds_of_the_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs Matplotlib, of the extra plot")
    losses = []
    for seed in (0, 1):
        told: list[dict[str, Any]] = []
        trainer = Trainer(
            replace(CONFIG, seed=seed), erdos_renyi(40, degree=3), tmp_path / f"seed-{seed}", tell=told.append
        )
        trainer.fit()
        losses.append([line["loss"] for line in told])
    run = load_run(tmp_path)
    score, loss = run.plot().axes
    assert list(loss.lines[0].get_ydata()) == pytest.approx([(a + b) / 2 for a, b in zip(*losses, strict=True)])
    assert score.get_ylabel() == run.info.metric
    with pytest.raises(UsageError, match="there is no curve 'lost' in these runs; choose of valid, test, loss"):
        run.plot(["lost"])


def test_told_are_the_best_so_far_and_the_share_of_the_epoch() -> None:
    lines: list[dict[str, Any]] = []
    shares: list[float] = []
    trainer = Trainer(CONFIG, erdos_renyi(20, degree=3, graphs=40), tell=lines.append)
    trainer.pulse = shares.append
    trainer.fit()
    best = [max(line["valid"] for line in lines[: i + 1]) for i in range(3)]
    assert [line["best"]["valid"] for line in lines] == best
    steps = trainer.batches.steps
    assert steps > 1
    assert shares == pytest.approx([(i + 1) / steps for i in range(3 * steps)])
    assert all("best" not in line for line in trainer.state.history), "the log stays as it is"
