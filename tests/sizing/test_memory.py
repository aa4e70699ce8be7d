from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
from torch import Tensor

from geco.nn.graph.adjacency import Adjacency
from geco.nn.ops import fft_rings, limits
from geco.sizing import memory
from geco.sizing.job import Job
from geco.studies.measure import held_bytes
from tests.sizing.runs import dataset_of, in_child, job_of, trainer_of

FILTERS = ("none", "mean", "waves", "windows", "paper")


@pytest.mark.parametrize("filter", FILTERS)
def test_parameters_are_those_of_the_network(filter: str) -> None:
    for more in ({"order": 2}, {"order": 3, "hidden": 24, "layers": 3}):
        case = {"nodes": 50, "degree": 4, "filter": filter, "hidden": 16, **more}
        assert memory.parameters(job_of(case)) == trainer_of(case, dataset_of(case)).parameters


def test_constants_are_those_of_the_code() -> None:
    assert (memory.KEPT, memory.CHUNK) == (limits.KEPT_BYTES, fft_rings.CHUNK)


def really_held(case: dict[str, Any]) -> tuple[float, Job]:
    """Return the bytes that autograd holds in a step of the engine beyond weights and graph."""
    trainer, job = trainer_of(case, dataset_of(case)), job_of(case)
    data, mask = next(iter(trainer.batches.train(0)))
    trainer._loss(data, mask)  # prepares the graph
    known = [*trainer.model.parameters(), *trainer.model.buffers(), *data.to_dict().values()]
    for adjacency in [each for each in gc.get_objects() if type(each) is Adjacency]:
        known += [adjacency.source, adjacency.target, adjacency.value, *adjacency.forward, *adjacency.transpose]
    known = [each for each in known if isinstance(each, Tensor)]
    return held_bytes(lambda: trainer._loss(data, mask), known), job


# N D = 2^21 numbers are 8 MiB: gates are kept; a prime N; much more than harmonics, windows and tables take (0.5 MB)
CASES = [
    {"filter": "mean"},
    {"filter": "mean", "permutation": "natural", "dropout": 0.0},
    {"filter": "mean", "layers": 1, "targets": 40},
    {"filter": "none", "layers": 3},
    {"filter": "waves", "order": 1},
    {"filter": "windows", "support": 16},
    {"filter": "windows", "support": 16, "order": 3, "permutation": "natural"},
    {"filter": "paper", "permutation": "natural"},
    {"filter": "paper", "hidden": 40, "layers": 1},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case.values())))
def test_what_is_held_is_what_autograd_holds(case: dict[str, Any]) -> None:
    """Within 5 %: harmonics, windows and tables of waves, whose size does not depend on N, are not counted."""
    found, job = really_held({"nodes": 65_537, "degree": 2, "hidden": 32, **case})
    silent = 0.4 * 4 * job.targets * job.nodes  # the formula takes all nodes for labelled, 60 % are
    assert memory.held(job) - silent == pytest.approx(found, rel=0.05)


def test_gates_beyond_the_limit_are_not_held() -> None:
    small, large = (Job(nodes, 0, hidden=64, order=2, layers=1, dropout=0.0) for nodes in (2**16, 2**16 + 1))
    assert memory.held(small) - memory.held(large) > 2**25 - 2**12


LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="resident memory is read from /proc")


def growth(case: dict[str, Any], *sizes: int) -> tuple[dict[str, int], list[Job]]:
    """Return by how many bytes a process grows from one number of nodes to another, and both jobs: in the difference
    the program cancels.
    """
    cases = [{"nodes": nodes, "dropout": 0.0, **case} for nodes in sizes]
    small, large = in_child(cases)
    jobs = [job_of(each, run["edges"]) for each, run in zip(cases, (small, large), strict=True)]
    return {key: large[key] - small[key] for key in small}, jobs


@LINUX
@pytest.mark.slow
def test_the_graph_and_its_preparation_are_what_a_process_takes() -> None:
    """Within 12 %: of 110 MB some 10 MB are the allocator's."""
    found, (small, large) = growth({"degree": 40, "hidden": 4, "layers": 1, "filter": "mean"}, 30_000, 90_000)
    told = memory.graph(large) - memory.graph(small)
    assert told == pytest.approx(found["ready"] - found["before"], rel=0.12)
    preparing = memory.preparing(large) - memory.preparing(small)
    assert told + preparing == pytest.approx(found["preparing"] - found["before"], rel=0.12)


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("case", [{"filter": "mean"}, {"filter": "windows", "permutation": "natural"}], ids=str)
def test_the_peak_of_a_step_is_what_a_process_takes(case: dict[str, Any]) -> None:
    """Within 12 %: measured when the formula was written, mean 1 % below, windows 8 % below."""
    found, (small, large) = growth({"degree": 8, "hidden": 64, **case}, 70_000, 140_000)
    told = [memory.held(job) + memory.passing(job) for job in (small, large)]
    assert told[1] - told[0] == pytest.approx(found["peak"] - found["ready"], rel=0.12)


def test_more_workers_need_less_but_for_what_is_whole() -> None:
    whole, shared = (Job(10**6, 10**7, hidden=64, workers=workers, cut=0.1, propagation="halo") for workers in (1, 10))
    assert memory.weights(whole) == memory.weights(shared)
    assert memory.held(shared) == pytest.approx(memory.held(whole) / 10)
    assert memory.graph(shared) == pytest.approx(memory.graph(whole) / 10)
    assert memory.foreign(shared) == 4 * 64 * 10**5  # a tenth of a tenth of ten million edges


def test_by_channels_each_has_all_edges_and_two_blocks_of_its_channels() -> None:
    shared = Job(10**6, 10**7, hidden=64, workers=10)
    assert shared.by_channels
    assert memory.graph(shared) > 44 * 10**7
    assert memory.foreign(shared) == 4 * 64 * 2 * 10**5
