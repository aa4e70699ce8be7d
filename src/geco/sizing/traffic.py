r"""Bytes that a worker sends in one pass through a layer, and in an epoch; it receives as many.

A backward pass sends what the forward pass sent, the other way. An all-reduce of b bytes over P workers in a ring sends
:math:`2 b (P - 1) / P`.

Shapes: N nodes, D channels, K order, P workers, B harmonics, S support.
"""

from __future__ import annotations

from geco.sizing.job import Job
from geco.sizing.memory import FLOAT, halo, parameters

__all__ = ["all_reduced", "epoch", "exchange", "layer", "ring"]

DOUBLE = 8
HARMONICS = {"none": 0, "mean": 1, "waves": 96, "windows": 80, "paper": 0}  # of a fresh filter
PASSES = {"training, there": 1, "training, back": 1, "statistics": 1, "evaluation": 1}  # through a layer, an epoch


def all_reduced(count: float, workers: int) -> float:
    """Return what a worker sends so that all have the sum of ``count`` bytes.

    Example:
        >>> all_reduced(100.0, 4)
        150.0
    """
    return 2 * count * (workers - 1) / workers


def exchange(nodes: int, channels: int, order: int, workers: int) -> float:
    r"""Return the numbers a worker sends in a layer with a literal filter, :math:`(K + 3) N D (P - 1) / P^2`.

    A block of n nodes by D channels becomes one of N nodes by D / P channels, or back: of its :math:`N D / P` numbers a
    worker keeps one in P. That happens to X (to channels, for ÂX), to ÂX after BatchNorm (back, for the projection), to
    the value and K - 1 gates (to channels) and to the result (back).

    Example:
        >>> exchange(4096, 32, order=2, workers=4)
        122880.0
    """
    return (order + 3) * nodes * channels * (workers - 1) / workers**2


def ring(job: Job) -> float:
    r"""Return the bytes a worker sends for the global block of a layer by harmonics and windows.

    Of waves all workers need the sums over all nodes: 2 B rows of float64, of X, ÂX and the K - 1 values in between,
    :math:`16 B (K + 1) D` bytes to all-reduce. A window of support S reaches S nodes into the next worker's stretch of
    the ring on either side, for each of K convolutions: 2 S rows. Neither depends on N.
    """
    sums = all_reduced(2 * DOUBLE * HARMONICS[job.filter] * (job.order + 1) * job.hidden, job.workers)
    reach = min(2 * job.support, job.nodes - job.rows) if job.filter == "windows" else 0
    return sums + FLOAT * job.order * reach * job.hidden


def layer(job: Job) -> dict[str, float]:
    """Return the bytes a worker sends in one pass through a layer, by what they are for; nothing for one worker."""
    if job.workers == 1:
        return {}
    moments = all_reduced(2 * DOUBLE * 2 * job.hidden, job.workers)  # sums and squares of [X, ÂX]
    if job.exchanged:
        found = {"nodes to channels and back": FLOAT * exchange(job.nodes, job.hidden, job.order, job.workers)}
    else:
        found = {"nodes fetched for the edges": halo(job), "sums and ends of the ring": ring(job)}
    return {**found, "moments of BatchNorm": moments}


def epoch(job: Job) -> dict[str, float]:
    """Return the bytes a worker sends in an epoch: each layer in all `PASSES`, and the gradients of the weights
    once.
    """
    found = {name: len(PASSES) * job.layers * sent for name, sent in layer(job).items()}
    return {**found, "gradients of the weights": all_reduced(FLOAT * parameters(job), job.workers)} if found else {}
