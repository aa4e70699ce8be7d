"""Faults of `geco train --nproc`, in processes that import this by its name."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial

import pytest

from geco.cli.settings import TrainOptions
from geco.cli.train import train_until
from geco.cli.workers import as_worker
from geco.distributed.launch import Place
from geco.train import checkpoint
from geco.train.engine import Trainer
from tests.train.runs import on_call

PLACES = {"step": (Trainer, "step", 6), "saving": (checkpoint, "save", 2)}


def faulty(fault: str, rank: int, place: str, options: TrainOptions, where: Place) -> None:
    """Train, with a signal to one rank at a moment of the first attempt."""
    if where.rank == rank and not where.attempt:
        on_call(pytest.MonkeyPatch(), *PLACES[place], lambda: os.kill(os.getpid(), getattr(signal, fault)))
    as_worker(train_until, options, where)


def with_fault(fault: str, rank: int, place: str) -> Callable[[TrainOptions, Place], None]:
    return partial(faulty, fault, rank, place)
