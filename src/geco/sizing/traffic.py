r"""Bytes that a worker sends in one pass through a layer, and in an epoch; it receives as many.

A backward pass sends what the forward pass sent, the other way. An all-reduce of b bytes over P workers in a ring sends
:math:`2 b (P - 1) / P`.

Shapes: N nodes, D channels, K order, P workers, B harmonics, S support.
"""

from __future__ import annotations

from geco.sizing.job import Job
from geco.sizing.memory import FLOAT, parameters

__all__ = ["all_reduced", "convolutions", "epoch", "exchange", "layer", "propagation", "ring"]

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


def exchange(nodes: int, channels: int, workers: int) -> float:
    r"""Return the numbers a worker sends when a block of nodes becomes one of channels or back, :math:`N D (P - 1) /
    P^2`: of its :math:`N D / P` it keeps one in P.

    Example:
        >>> exchange(4096, 32, workers=4)
        24576.0
    """
    return nodes * channels * (workers - 1) / workers**2


def convolutions(job: Job) -> float:
    r"""Return the bytes a worker sends for the convolutions of a literal filter: the value and K - 1 gates go to
    channels, the result back, :math:`K + 1` exchanges. With ÂX by channels a layer has :math:`K + 3`.
    """
    return FLOAT * (job.order + 1) * exchange(job.nodes, job.hidden, job.workers)


def propagation(job: Job) -> float:
    """Return the bytes a worker sends for ÂX: the rows that others want, taken to be as many as it wants itself, or X
    to channels and ÂX back.
    """
    if job.by_channels:
        return FLOAT * 2 * exchange(job.nodes, job.hidden, job.workers)
    return FLOAT * job.remote * job.hidden


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
    found = {"rows or channels for the edges": propagation(job)}
    if job.literal:
        found["nodes to channels and back"] = convolutions(job)
    else:
        found["sums and ends of the ring"] = ring(job)
    return {**found, "moments of BatchNorm": moments}


def epoch(job: Job) -> dict[str, float]:
    """Return the bytes a worker sends in an epoch: each layer in all `PASSES`, and the gradients of the weights
    once.
    """
    found = {name: len(PASSES) * job.layers * sent for name, sent in layer(job).items()}
    return {**found, "gradients of the weights": all_reduced(FLOAT * parameters(job), job.workers)} if found else {}
