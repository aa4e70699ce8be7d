"""Real runs whose memory is measured: ``python -m tests.sizing.runs`` reads cases as JSON, and prints what each takes.

In a process of its own whose allocator gives back what is freed, so that resident memory is what is alive.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from typing import Any

import torch

from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import erdos_renyi
from geco.machine import reset_peak, resident
from geco.sizing.job import Job
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer

Case = dict[str, Any]  # nodes, degree, and settings of Job


def job_of(case: Case, edges: int = 0) -> Job:
    """Return what a case is on paper."""
    return Job(edges=edges, **{"features": 8, "targets": 2, **{k: v for k, v in case.items() if k != "degree"}})


def dataset_of(case: Case) -> GraphDataset:
    """Return a random graph of a case."""
    job = job_of(case)
    return erdos_renyi(job.nodes, degree=case["degree"], features=job.features, classes=job.targets)


def trainer_of(case: Case, dataset: GraphDataset) -> Trainer:
    """Return the engine on a graph."""
    job = job_of(case)
    model = ModelConfig(
        hidden=job.hidden, layers=job.layers, order=job.order, filter=job.filter, support=job.support,
        dropout=job.dropout, permutation=job.permutation,
    )  # fmt: skip
    return Trainer(Config(DataConfig("test"), model, OptimConfig(), TrainConfig(threads=1)), dataset)


def measured(case: Case) -> dict[str, int]:
    """Return resident memory in bytes: before there is a graph, the peak while it is prepared, with all ready for a
    step, and the peak of a step.
    """
    gc.collect()
    before = resident("VmRSS")
    dataset = dataset_of(case)
    reset_peak()
    trainer = trainer_of(case, dataset)
    data, mask = next(iter(trainer.batches.train(0)))
    with torch.no_grad():
        trainer.model(data)  # which prepares the graph
    gc.collect()
    preparing, ready = resident(), resident("VmRSS")
    trainer.step([(0, data, mask)])
    reset_peak()
    trainer.step([(0, data, mask)])
    found = {"before": before, "preparing": preparing, "ready": ready, "peak": resident(), "edges": dataset.num_edges}
    return found


def in_child(cases: list[Case]) -> list[dict[str, int]]:
    """Return what `measured` says of each case."""
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "tests.sizing.runs"]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    measured({"nodes": 5000, "degree": 2, "hidden": 8})  # what is loaded once
    print(json.dumps([measured(case) for case in json.load(sys.stdin)]))
