"""What a run would cost, from one step of it."""

from __future__ import annotations

import time

from geco.data.dataset import GraphDataset
from geco.machine import available_memory, resident
from geco.train.config import Config
from geco.train.engine import Trainer
from geco.train.summary import about_data, about_network, period

__all__ = ["estimate"]


def estimate(config: Config, dataset: GraphDataset) -> list[str]:
    """Take one step and one evaluation, keep nothing, and return what to expect, a line each."""
    free = available_memory()
    trainer = Trainer(config, dataset)
    data, mask = next(iter(trainer.batches.train(0)))
    trainer.step([(0, data, mask)])  # warms up
    begin = time.perf_counter()
    trainer.step([(0, data, mask)])
    step = time.perf_counter() - begin
    trainer.score(("valid",))
    score = time.perf_counter() - begin - step
    epoch = step * trainer.batches.steps + score / config.train.eval_every
    there = f"; {free / 2**30:.2f} GiB were available at the start" if free is not None else ""
    return [
        about_data(dataset, config.data.split),
        *about_network(trainer),
        f"{trainer.batches.steps:,} steps an epoch, {step:.3f} s each",
        f"about {period(epoch)} an epoch, {period(epoch * config.train.epochs)} for {config.train.epochs} epochs",
        f"peak memory {_peak()}, data included{there}",
        "nothing was written",
    ]


def _peak() -> str:
    try:
        return f"{resident() / 2**30:.2f} GiB"
    except OSError:
        return "unknown on this system"
