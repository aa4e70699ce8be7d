"""Rates over a run."""

from __future__ import annotations

from geco.train.config import OptimConfig
from geco.train.optim import rate


def test_schedule() -> None:
    config = OptimConfig(schedule="plateau", plateau_patience=2, warmup=0)
    assert [rate(config, 9, 99, waits) for waits in ([], [0, 1], [0, 1, 2], [1, 2, 3, 4])] == [1.0, 1.0, 0.5, 0.25]
    linear = OptimConfig(schedule="linear", warmup=0)
    assert [rate(linear, e, 10) for e in (0, 5, 10)] == [1.0, 0.5, 0.0]
