from __future__ import annotations

import pytest
import torch

from geco.nn.conv import GlobalContext
from geco.sizing import traffic
from geco.sizing.job import Job
from geco.sizing.memory import parameters


@pytest.mark.parametrize(("item", "sent"), [(8, 983_040), (4, 491_520)])
def test_an_exchange_is_what_was_counted_on_the_wire(item: int, sent: int) -> None:
    """By four processes of gloo, 4,096 nodes by 32 channels, order 2, in float64 and float32."""
    assert traffic.exchange(4096, 32, order=2, workers=4) * item == sent


def test_an_exchange_is_five_blocks_of_which_a_worker_keeps_its_own() -> None:
    nodes, channels, workers = 12, 8, 4
    block = torch.arange(nodes * channels).view(nodes, channels)
    mine = block[: nodes // workers]
    gone = mine[:, channels // workers :].numel()
    assert traffic.exchange(nodes, channels, order=2, workers=workers) == 5 * gone


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
    assert sent["nodes fetched for the edges"] == 100 * 32 * 4


def test_an_epoch_has_every_pass_of_every_layer_and_the_gradients_once() -> None:
    job = Job(1000, 4000, hidden=32, layers=3, workers=4)
    each, found = traffic.layer(job), traffic.epoch(job)
    assert all(found[name] == 12 * sent for name, sent in each.items())
    assert found["gradients of the weights"] == 1.5 * 4 * parameters(job)


def test_one_worker_sends_nothing() -> None:
    assert traffic.epoch(Job(1000, 4000)) == traffic.epoch(Job(1000, 4000, filter="paper")) == {}
