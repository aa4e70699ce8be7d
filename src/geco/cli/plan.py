"""``geco plan``: memory, traffic and time of a worker, on paper, before anybody rents one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

from tyro.conf import arg

from geco.console import print_table
from geco.errors import UsageError
from geco.sizing import traffic, units, work
from geco.sizing.job import FilterName, Job, Order, Propagation
from geco.sizing.memory import memory as memory_of
from geco.sizing.plan import Machine, Plan, fewest
from geco.sizing.units import bytes_in_words, seconds_in_words

__all__ = ["plan"]

Count = Annotated[float, arg(metavar="COUNT", help_behavior_hint="(required)")]
Amount = Annotated[str, arg(metavar="AMOUNT")]
Share = Annotated[float | None, arg(metavar="SHARE", help_behavior_hint="")]


def plan(
    *,
    nodes: Count,
    edges: Count,
    features: int = 128,
    targets: int = 1,
    hidden: int = 64,
    layers: int = 2,
    order: int = 2,
    filter: FilterName = "mean",
    support: int = 128,
    dropout: float = 0.5,
    permutation: Order = "static",
    workers: int = 1,
    cut: Share = None,
    propagation: Propagation = "auto",
    memory: Amount = "80GB",
    bandwidth: Amount = "100Gb",
    speed: Amount = "1T",
) -> None:
    """Say what training GECO on one graph would take of each worker: memory, traffic and time of an epoch.

    Args:
        nodes: of the graph, such as 111e6.
        edges: directed, as they are trained on: a link that runs both ways counts twice.
        features: columns of the features.
        targets: classes or values to predict.
        hidden: width.
        layers: depth.
        order: K, convolutions of a layer.
        filter: of the global block; mean is what `geco train` takes for one graph.
        support: farthest distance that windows see, in nodes.
        dropout: of the body.
        permutation: node order: static, or natural, which needs no copies.
        workers: GPUs or processes that share the graph.
        cut: share of a worker's edges that come from other workers' nodes; 1 - 1/workers, nodes dealt at random, if not
            given.
        propagation: how ÂX reaches other workers: halo, rows to who wants them; channels, for which each has all edges;
            auto, what sends less.
        memory: of a worker, such as 80GB or 16GiB.
        bandwidth: of a worker, such as 200Gb (bits a second) or 25GB (bytes a second).
        speed: floating-point operations a second that a worker sustains; an assumption until it is measured.
    """
    job = Job(
        _whole("nodes", nodes), _whole("edges", edges), features, targets, hidden, layers, order, filter, support,
        dropout, permutation, workers, cut, propagation,
    )  # fmt: skip
    _show(Plan(job, Machine(units.memory(memory), units.bandwidth(bandwidth), units.speed(speed))))


def _whole(name: str, value: float) -> int:
    if not math.isfinite(value) or value != int(value) or value < 0:
        raise UsageError(f"--{name} must be a whole number that is not negative, such as 111e6; got {value:g}")
    return int(value)


def _show(found: Plan) -> None:
    """Print tables and verdict."""
    job, machine = found.job, found.machine
    print(f"{job.nodes:,} nodes, {job.edges:,} edges, {job.features:,} features; GECO, {job.layers} layers of "
          f"{job.hidden}, filter {job.filter}, order {job.order}, {job.permutation} node order")  # fmt: skip
    shared = "all edges, for its share of the channels" if job.by_channels else f"{job.own_edges:,} edges"
    who = f"each of {job.workers:,} workers" if job.workers > 1 else "one worker"
    print(f"{who}: {job.rows:,} nodes, {shared}, {job.remote:,} rows of others\n")
    print_table(_rows("memory", memory_of(job), bytes_in_words))
    print()
    if job.workers > 1:
        print_table(_rows("sent in an epoch", traffic.epoch(job), bytes_in_words))
        print()
    print_table(_rows("operations in an epoch", work.epoch(job), _operations))
    print()
    _print_time(found)
    print(_verdict(job, machine))


def _rows(title: str, parts: dict[str, float], words: Callable[[float], str]) -> list[list[str]]:
    shown = [[name, words(value)] for name, value in parts.items() if value > 0]
    return [[title, "each worker"], *shown, ["together", words(sum(parts.values()))]]


def _operations(count: float) -> str:
    return f"{count:.2e}"


def _print_time(found: Plan) -> None:
    sending = f", {seconds_in_words(found.sending)} to send" if found.job.workers > 1 else ""
    print(f"an epoch, training and evaluation: {seconds_in_words(found.computing)} to compute{sending}")


def _verdict(job: Job, machine: Machine) -> str:
    """Return whether it fits, and how many workers would do."""
    needed, there = Plan(job, machine).needed, machine.memory
    least = fewest(job, there)
    has = f"{bytes_in_words(needed)} of {bytes_in_words(there)} on each worker"
    if needed <= there:
        enough = "" if least in (None, job.workers) else f"; {least:,} would do"
        return f"fits: {has}{enough}"
    more = "no number of workers would do, for what each needs whole" if least is None else f"{least:,} workers would"
    return f"does not fit: {has}; {more}"
