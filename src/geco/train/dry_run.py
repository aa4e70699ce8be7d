"""What a run would cost, from one step of it."""

from __future__ import annotations

import time

import torch
from torch import nn
from torch_geometric.data import Data

from geco.data.dataset import GraphDataset
from geco.machine import available_memory, resident
from geco.nn import GlobalContext
from geco.train.config import Config
from geco.train.engine import Trainer

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
        f"{trainer.parameters:,} parameters",
        *_plan(trainer.model, data),
        f"{trainer.batches.steps:,} steps an epoch, {step:.3f} s each",
        f"about {epoch:.1f} s an epoch, {epoch * config.train.epochs / 60:.1f} min for {config.train.epochs} epochs",
        f"peak memory {_peak()}, data included{there}",
        "nothing was written",
    ]


def _plan(model: nn.Module, data: Data) -> list[str]:
    """Return which algorithm computes the global context of a batch; nothing if the network has none."""
    context = next((module for module in model.modules() if isinstance(module, GlobalContext)), None)
    sizes = torch.bincount(data.batch).tolist() if "batch" in data else [data.num_nodes]
    return [] if context is None else [f"global context by {context.plan(sizes)}"]


def _peak() -> str:
    try:
        return f"{resident() / 2**30:.2f} GiB"
    except OSError:
        return "unknown on this system"
