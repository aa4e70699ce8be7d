"""What tests with several processes share: small graphs like molecules, and children that train together."""

from __future__ import annotations

import multiprocessing.util
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Target
from geco.data.splits import random_split
from geco.distributed.runtime import Workers, joined
from geco.errors import GecoError

PATIENCE = 20.0  # seconds that processes wait for each other
LIMIT = 120.0  # seconds of a test's processes
# What is said where others are gone: at once, or with torch's detailed checks maybe after the time-out.
GONE = "the other processes (can no longer be reached|did not answer)"


def molecules(target: Target = "values", graphs: int = 30, dtype: torch.dtype = torch.float32) -> GraphDataset:
    """Return small graphs of 1 to 9 nodes, some without edges, of which some targets are missing."""
    metric = {"values": "mae", "labels": "auroc", "class": "accuracy"}[target]
    width = 3 if target == "class" else 2
    info = Info("molecules", "graph", target, width, metric)
    return collect(info, [_molecule(number, target, dtype) for number in range(graphs)], [random_split(graphs)])


def _molecule(number: int, target: Target, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(number)
    nodes = 1 + number % 9
    path = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    edges = torch.cat([path, path.flip(0)], 1)
    x = torch.randn(nodes, 3, generator=draw).to(dtype) + 1
    if target == "class":
        y = torch.randint(0, 3, (1,), generator=draw)
    else:
        y = torch.stack([x[:, 0].sum(), x[:, 1].mean()])[None]
        y = (y > 1).to(dtype) if target == "labels" else y
        y[0, 0] = torch.nan if number % 4 == 1 else y[0, 0]
    attr = torch.randn(edges.shape[1], 2, generator=draw).to(dtype)
    return {"x": x, "edge_index": edges, "edge_attr": attr, "y": y}


def together(size: int, work: Callable[[Workers], object], patience: float = PATIENCE) -> list[tuple[int, str]]:
    """Do work in so many children that know each other; return the exit code and the error of each."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        pids = [_child(rank, size, work, home, patience) for rank in range(size)]
        codes = [_wait(pid) for pid in pids]
        return [(code, (home / f"{rank}.err").read_text()) for rank, code in enumerate(codes)]


def _wait(pid: int) -> int:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, 9)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _child(rank: int, size: int, work: Callable[[Workers], object], home: Path, patience: float) -> int:
    (home / f"{rank}.err").write_text("")
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        multiprocessing.util._run_after_forkers()  # else it shares files through a thread that only its parent has
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
        with (home / f"{rank}.err").open("a") as sys.stderr:
            os.dup2(sys.stderr.fileno(), 2)
            try:
                with joined(rank, size, patience, (home / "store").as_uri()) as workers:
                    work(workers)
                code = 0
            except GecoError as error:
                print(error, file=sys.stderr)
                code = error.exit_code
            except BaseException:
                traceback.print_exc()
    finally:
        os._exit(code)
