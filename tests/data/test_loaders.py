"""Batches: the same graphs in the same order whatever the number of workers, a function of seed and epoch."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info
from geco.data.embedded.synthetic import erdos_renyi
from geco.data.loaders import FullGraphLoader, GraphLoader
from geco.errors import DataError, UsageError


def dataset_of(count: int, nodes: int = 40, seed: int = 0) -> GraphDataset:
    """Return paths of 1 to `nodes` nodes."""
    sizes = torch.randint(1, nodes + 1, (count,), generator=torch.Generator().manual_seed(seed)).tolist()
    graphs = [
        {"x": torch.randn(n, 9), "edge_index": torch.arange(n - 1).repeat(2, 1), "y": torch.zeros(1)} for n in sizes
    ]
    return collect(Info("paths", "graph", "values", 1, "mae"), graphs)


PATHS = dataset_of(100)


def numbers(loader: GraphLoader, epoch: int) -> list[int]:
    return torch.cat(loader.batches(epoch)).tolist()


@given(st.integers(0, 100), st.integers(1, 30), st.booleans(), st.booleans(), st.booleans(), st.integers(-5, 5))
def test_every_graph_once(count: int, size: int, shuffle: bool, group: bool, drop: bool, seed: int) -> None:
    chosen = torch.randperm(100)[:count]
    loader = GraphLoader(PATHS, chosen, size, seed, shuffle, group, drop)
    batches = loader.batches(3)
    assert len(batches) == len(loader) == (count // size if drop else -(-count // size))
    found = torch.cat([*batches, torch.arange(0)])
    assert len(found.unique()) == len(found) == (count - count % size if drop else count)
    assert set(found.tolist()) <= set(chosen.tolist())
    assert all(len(batch) == size for batch in batches) or (
        sorted(len(b) for b in batches)[1:] == [size] * (len(batches) - 1)
    )


def test_order_is_a_function_of_seed_and_epoch() -> None:
    for group in (False, True):
        loader = GraphLoader(PATHS, range(100), 7, seed=3, group_by_size=group)
        first = [numbers(loader, epoch) for epoch in range(3)]
        torch.manual_seed(9)
        assert [numbers(loader, epoch) for epoch in (2, 1, 0)] == first[::-1]  # no hidden state
        assert first[0] != first[1] != first[2]
        assert numbers(GraphLoader(PATHS, range(100), 7, seed=4), 0) != first[0]
    assert numbers(GraphLoader(PATHS, [5, 3, 9], 2, shuffle=False), 8) == [5, 3, 9]


def test_order_is_even() -> None:
    """Each graph comes at each place about equally often."""
    loader = GraphLoader(PATHS, range(8), 8)
    counts = torch.zeros(8, 8)
    for epoch in range(800):
        counts[torch.arange(8), loader.batches(epoch)[0]] += 1
    assert (counts - 100).abs().max() < 4.5 * (100 * 7 / 8) ** 0.5


def test_groups_by_size() -> None:
    many = dataset_of(2000, nodes=300)

    def spread(batches: list[Tensor]) -> float:
        return float(torch.stack([many.sizes[batch].float().std() for batch in batches[:-1]]).mean())

    loader = GraphLoader(many, range(2000), 10, group_by_size=True)
    assert spread(loader.batches(0)) < 0.2 * spread(GraphLoader(many, range(2000), 10).batches(0))
    mates = [{frozenset(batch.tolist()) for batch in loader.batches(epoch)} for epoch in (0, 1)]
    assert not mates[0] & mates[1]  # other batches each epoch
    means = torch.stack([many.sizes[batch].float().mean() for batch in loader.batches(0)])
    assert (
        abs(float(torch.corrcoef(torch.stack([means, torch.arange(200.0)]))[0, 1])) < 0.3
    )  # small and large ones mixed


def test_resumes_in_the_middle_of_an_epoch() -> None:
    for workers in (0, 1):
        loader = GraphLoader(PATHS, range(100), 9, workers=workers)
        whole = [batch.graph_id.tolist() for batch in loader.epoch(5)]
        assert [batch.graph_id.tolist() for batch in loader.epoch(5, start=4)] == whole[4:]
        assert list(loader.epoch(5, start=12)) == []
        loader.close()


@pytest.fixture
def working() -> Iterator[GraphLoader]:
    loader = GraphLoader(PATHS, range(100), 6, seed=1, workers=2)
    yield loader
    loader.close()


def pids(loader: GraphLoader) -> list[int]:
    return [worker.pid for worker in loader._loader._iterator._workers]  # type: ignore[union-attr,attr-defined]


def wait_for_end(processes: list[int], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while any(os.path.exists(f"/proc/{pid}") for pid in processes):
        assert time.monotonic() < end, "worker processes are still there"
        time.sleep(0.05)


def test_workers_change_nothing(working: GraphLoader) -> None:
    alone = GraphLoader(PATHS, range(100), 6, seed=1)
    before = torch.get_rng_state()
    seen = []
    for epoch in range(3):
        for found, wanted in zip(working.epoch(epoch), alone.epoch(epoch), strict=True):
            assert sorted(found.keys()) == sorted(wanted.keys())
            assert found.num_graphs == wanted.num_graphs
            keys = set(wanted.keys()) - {"num_nodes"}
            assert all(torch.equal(found[key], wanted[key]) for key in keys)
        seen.append(pids(working))
    assert torch.equal(torch.get_rng_state(), before)
    assert seen[0] == seen[1] == seen[2]  # the same processes


def test_workers_after_a_break_and_after_close(working: GraphLoader) -> None:
    wanted = [batch.graph_id.tolist() for batch in GraphLoader(PATHS, range(100), 6, seed=1).epoch(1)]
    next(iter(working.epoch(0)))
    assert [batch.graph_id.tolist() for batch in working.epoch(1)] == wanted
    first = pids(working)
    working.close()
    wait_for_end(first)
    assert [batch.graph_id.tolist() for batch in working.epoch(1)] == wanted
    assert pids(working) != first


def test_two_epochs_at_once_are_refused(working: GraphLoader) -> None:
    first = working.epoch(0)
    next(first)
    next(working.epoch(1))
    with pytest.raises(UsageError, match="used for two at once"):
        next(first)


def test_close_in_the_middle_of_an_epoch(working: GraphLoader) -> None:
    epoch = working.epoch(0)
    next(epoch)
    processes = pids(working)
    working.close()
    wait_for_end(processes, 5)  # though the epoch is still there
    with pytest.raises(UsageError, match="closed in an epoch"):
        next(epoch)
    assert len(list(working.epoch(0))) == len(working)


def test_interrupt_is_left_to_the_main_process(working: GraphLoader) -> None:
    wanted = [batch.graph_id.tolist() for batch in GraphLoader(PATHS, range(100), 6, seed=1).epoch(0)]
    for _ in range(10):  # new processes each time, hit while they start
        found = []
        for batch in working.epoch(0):
            if not found:
                for pid in pids(working):
                    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
                        os.kill(pid, number)
            found.append(batch.graph_id.tolist())
        assert found == wanted
        working.close()
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1}


@pytest.mark.slow
def test_dead_worker_is_reported() -> None:
    program = """
import os, signal, time
from geco.data.loaders import GraphLoader
from geco.data.embedded.synthetic import erdos_renyi
loader = GraphLoader(erdos_renyi(5, degree=2, graphs=100), range(100), 1, workers=2)
for number, batch in enumerate(loader.epoch(0)):
    if number == 0:
        os.kill(loader._loader._iterator._workers[0].pid, signal.SIGKILL)
    time.sleep(0.01)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode != 0
    assert re.search("died|killed", done.stderr)  # torch's own signal handler may be first


@pytest.mark.slow
def test_workers_end_with_a_killed_program() -> None:
    program = """
from geco.data.loaders import GraphLoader
from geco.data.embedded.synthetic import erdos_renyi
loader = GraphLoader(erdos_renyi(5, degree=2, graphs=100), range(100), 1, workers=2)
for batch in loader.epoch(0):
    print(*(worker.pid for worker in loader._loader._iterator._workers), flush=True)
    input()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    process.kill()
    process.communicate()
    assert len(workers) == 2
    wait_for_end(workers, 30)


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"workers": -1}, {"indices": [100]}, {"indices": [-1]}])
def test_wrong_use_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"got|has graphs 0 to 99"):
        GraphLoader(**{"dataset": PATHS, "indices": [0], "batch_size": 1, **wrong})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="graph numbers"):
        GraphLoader(PATHS, torch.ones(100, dtype=torch.bool), 1)


def test_full_graph_has_masks() -> None:
    dataset = erdos_renyi(50, degree=3)
    loader = FullGraphLoader(dataset)
    (graph,) = loader.epoch(4)
    assert len(loader) == 1
    assert torch.equal(graph.edge_index, dataset[0].edge_index)
    split = dataset.split()
    for mask, part in ((graph.train_mask, split.train), (graph.val_mask, split.valid), (graph.test_mask, split.test)):
        assert torch.equal(mask.nonzero().view(-1), part.sort().values)
    assert list(loader.epoch(4, start=1)) == []
    with pytest.raises(DataError, match="paths has 100 graphs, not one; use GraphLoader"):
        FullGraphLoader(PATHS)
    with pytest.raises(DataError, match="split 1 was asked for"):
        FullGraphLoader(dataset, split=1)


def calls(count: int) -> int:
    """Return the number of function calls that making a batch takes."""
    seen = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal seen
        seen += event.endswith("call")

    sys.setprofile(see)
    try:
        PATHS.batch(range(count))
    finally:
        sys.setprofile(None)
    return seen


def test_batches_are_made_without_a_loop_over_graphs() -> None:
    calls(2)
    assert calls(2) == calls(100)


@pytest.mark.slow
def test_batches_are_made_quickly() -> None:
    """128 graphs of the size of Peptides' (151 nodes, 307 edges) against PyG's way."""
    graphs = []
    for seed in range(128):
        generator = torch.Generator().manual_seed(seed)
        n = int(torch.randint(50, 253, (), generator=generator))
        ends = torch.randint(0, n, (2, 2 * n), generator=generator)
        x, edge_attr = (
            torch.randint(0, 9, (n, 9), generator=generator),
            torch.randint(0, 5, (2 * n, 3), generator=generator),
        )
        graphs.append({"x": x, "edge_index": ends, "edge_attr": edge_attr, "y": torch.zeros(1, 10)})
    dataset = collect(Info("like-peptides", "graph", "labels", 10, "ap"), graphs)
    single = list(dataset)
    ours, theirs = [], []
    for _ in range(40):  # by turns, so that a busy moment hits both
        start = time.perf_counter()
        dataset.batch(range(128))
        middle = time.perf_counter()
        Batch.from_data_list(single)
        ours.append(middle - start)
        theirs.append(time.perf_counter() - middle)
    print(f"128 graphs: {1e3 * min(ours):.2f} ms, PyG {1e3 * min(theirs):.2f} ms")
    assert min(ours) < min(theirs)
