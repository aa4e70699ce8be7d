"""Several processes: DDP finds a gradient for every parameter, and all ranks agree."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel

from geco import GECO
from tests.conftest import random_edges


def worker(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = GECO(5, 8, 2, 3, permutation="dynamic", adjacency="attention")
    parallel = DistributedDataParallel(
        model
    )  # without find_unused_parameters: an unused one would fail the second step
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        model.set_epoch(step)
        optimiser.zero_grad()
        x = torch.randn(30, 5, generator=torch.Generator().manual_seed(10 * step + rank))
        parallel(x, random_edges(30, seed=rank)).square().mean().backward()
        optimiser.step()
    torch.save(torch.cat([p.detach().flatten() for p in model.parameters()]), f"{folder}/{rank}.pt")
    del parallel  # before its group
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.dist
def test_data_parallel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "OFF")  # with DETAIL, torch 2.13's DDP crashes, of a linear layer too
    multiprocessing.spawn(worker, (str(tmp_path),), nprocs=2)
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in (0, 1))
    assert torch.equal(first, second)
