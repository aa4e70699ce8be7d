"""Starts processes of one group on this machine, for tests, and reads what each of them found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing

from geco.distributed.exchange import Ranks, Traffic

Worker = Callable[[Ranks], dict[str, Any]]


def in_processes(worker: Worker, size: int, folder: Path) -> list[dict[str, Any]]:
    """Run a function in so many processes, one of them without a group, and return what it returned in each."""
    if size == 1:
        return [worker(Ranks(traffic=Traffic()))]
    folder.mkdir(parents=True, exist_ok=True)
    multiprocessing.spawn(_start, (worker, size, str(folder)), nprocs=size)
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]


def _start(rank: int, worker: Worker, size: int, folder: str) -> None:
    os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"  # another collective than the others' is an error, not a wait
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=timedelta(seconds=60)
    )
    found = worker(Ranks.of(traffic=Traffic()))
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()
