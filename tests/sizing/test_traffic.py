from __future__ import annotations

import pytest
import torch

from geco.nn.conv import GlobalContext
from geco.sizing import traffic
from geco.sizing.job import Job
from geco.sizing.memory import parameters

# Numbers that the busiest of four processes sent in a forward pass of a layer of order 2 and width 16, on a ring of
# neighbours two to either side, 16 rows of others a process, or of random edges: `python -m geco.studies.traffic`.
COUNTED = [
    ("mean", 4096, 4, "rows or channels for the edges", 64),
    ("mean", 4096, None, "rows or channels for the edges", 24_576),
    ("mean", 16_384, None, "rows or channels for the edges", 98_304),
    ("paper", 4096, 4, "nodes to channels and back", 36_864),
    ("paper", 16_384, 4, "nodes to channels and back", 147_456),
]


@pytest.mark.parametrize(("filter", "nodes", "remote", "what", "sent"), COUNTED)
def test_numbers_are_those_that_were_counted(filter: str, nodes: int, remote: int | None, what: str, sent: int) -> None:
    cut = None if remote is None else remote / (2 * nodes)  # of 8 N / P edges
    job = Job(nodes, 8 * nodes, hidden=16, filter=filter, workers=4, cut=cut)
    assert traffic.layer(job)[what] == 4 * sent


def test_a_literal_layer_by_channels_sends_k_plus_three_exchanges() -> None:
    """61,440 numbers, as was counted."""
    layer = traffic.layer(Job(4096, 8 * 4096, hidden=16, filter="paper", workers=4))
    assert layer["rows or channels for the edges"] + layer["nodes to channels and back"] == 4 * 61_440


def test_an_exchange_is_a_block_of_which_a_worker_keeps_its_own() -> None:
    nodes, channels, workers = 12, 8, 4
    mine = torch.arange(nodes * channels).view(nodes, channels)[: nodes // workers]
    assert traffic.exchange(nodes, channels, workers) == mine[:, channels // workers :].numel()


def test_windows_send_the_rows_that_were_counted() -> None:
    waves, windows = (Job(4096, 0, hidden=16, filter=name, workers=4) for name in ("waves", "windows"))
    sums = [traffic.HARMONICS[job.filter] * 16 * 3 * 16 * 1.5 for job in (waves, windows)]
    assert traffic.ring(waves) == sums[0]
    assert traffic.ring(windows) - sums[1] == 4 * 8192


def test_default_filters_send_the_same_for_any_number_of_nodes() -> None:
    for name in ("mean", "waves", "windows"):
        jobs = [Job(nodes, 0, hidden=32, filter=name, workers=4) for nodes in (10**5, 10**8)]
        assert traffic.layer(jobs[0]) == traffic.layer(jobs[1])


@pytest.mark.parametrize("name", ["mean", "waves", "windows"])
def test_harmonics_are_those_of_a_fresh_filter(name: str) -> None:
    said = GlobalContext(8, 4, filter=name).plan([100_000]).why
    assert f"of {traffic.HARMONICS[name]} harmonics" in said


def test_windows_reach_into_both_neighbours() -> None:
    one, two = (Job(10**6, 0, hidden=32, filter="windows", support=s, workers=4) for s in (10, 11))
    assert traffic.ring(two) - traffic.ring(one) == 4 * 2 * 2 * 32  # bytes, convolutions, sides, channels


def test_edges_send_a_row_for_each_node_of_others() -> None:
    sent = traffic.layer(Job(1000, 4000, hidden=32, workers=4, cut=0.1))
    assert sent["rows or channels for the edges"] == 100 * 32 * 4


def test_an_epoch_has_every_pass_of_every_layer_and_the_gradients_once() -> None:
    job = Job(1000, 4000, hidden=32, layers=3, workers=4)
    each, found = traffic.layer(job), traffic.epoch(job)
    assert all(found[name] == 12 * sent for name, sent in each.items())
    assert found["gradients of the weights"] == 1.5 * 4 * parameters(job)


def test_one_worker_sends_nothing() -> None:
    assert traffic.epoch(Job(1000, 4000)) == traffic.epoch(Job(1000, 4000, filter="paper")) == {}
