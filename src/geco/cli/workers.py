"""``geco train --nproc P``, and ``geco train`` under torchrun: the same training in several processes."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from geco.cli.settings import TrainOptions
from geco.cli.stopping import asked_to_stop
from geco.console import show_log
from geco.distributed.launch import Place, launch
from geco.distributed.runtime import check_timeout, joined

if TYPE_CHECKING:
    from geco.data.dataset import GraphDataset
    from geco.distributed.runtime import Workers

__all__ = ["as_worker", "over_workers"]

Train = Callable[[TrainOptions, "GraphDataset", Callable[[], bool], "Workers"], None]


def over_workers(train: Train, options: TrainOptions) -> None:
    """Train in ``--nproc`` processes of this machine; data is made ready before they start to wait for each other.

    Args:
        train: what each does with its options, the data, whether to stop, and the others.
        options: of `geco train`.
    """
    from geco.cli.main import explained
    from geco.data import load_dataset
    from geco.train.batches import check_workers
    from geco.train.build import encoded

    check_timeout(options.timeout)
    config = options.resolved(options.seeds[0])
    dataset = load_dataset.load(config.data.name, options.data_dir, offline=options.offline)
    check_workers(dataset, options.nproc)
    encoded(dataset, config)
    with asked_to_stop() as stopped:
        launch(
            partial(as_worker, train), options, options.nproc, timeout=options.timeout, restarts=options.max_restarts,
            stopped=stopped, explain=explained,
        )  # fmt: skip


def as_worker(train: Train, options: TrainOptions, place: Place) -> None:
    """Train in one of several processes, of which the first one writes and shows; arguments as above, and its place."""
    from geco.train.batches import check_workers
    from geco.train.build import prepared

    options = replace(options, resume="auto") if place.attempt else options
    _take_share_of_machine(options, place)
    parent = multiprocessing.parent_process()
    with _voice(place), asked_to_stop(answer=b"", patient=True) as stopped:
        dataset = prepared(options.resolved(options.seeds[0]), options.data_dir, options.offline)
        check_workers(dataset, place.size)
        with joined(place.rank, place.size, options.timeout, place.meeting) as workers:
            stop = stopped if parent is None else lambda: stopped() or not parent.is_alive()
            train(options, dataset, stop, workers)


def _take_share_of_machine(options: TrainOptions, place: Place) -> None:
    """Take a GPU of one's own where there are any; and threads that leave others some, as torchrun sees to."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_device(place.local % torch.cuda.device_count())
    if place.meeting != "env://" and not options.train.threads and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // place.size))


@contextlib.contextmanager
def _voice(place: Place) -> Iterator[None]:
    """Show what the first process prints and logs, and nothing of the others."""
    if place.rank == 0:
        from tqdm import tqdm

        tqdm.set_lock(threading.RLock())  # its own is of the whole machine and is complained of where one is killed
        with show_log():
            yield
        return
    logger = logging.getLogger("geco")
    level = logger.level
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            logger.setLevel(level)
