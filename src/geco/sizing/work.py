r"""Floating-point operations of a worker in an epoch: products, sums over edges and transforms, two for each product
and sum.

Norms, activations and dropout are not counted: they cost a pass over memory and few operations.

Shapes: n nodes of the worker, m edges into them, C features, D channels, K order, T targets, B harmonics.
"""

from __future__ import annotations

import math

from geco.sizing.job import Job
from geco.sizing.memory import UNITS

__all__ = ["edges", "epoch", "products", "transforms"]

POLYNOMIALS = {"mean": 1, "waves": 20, "windows": 20}  # that span the waves within a block of a long ring
BLOCK, REACH = 2048, 2304  # rows of a block of the ring, and of its transform under windows
PRODUCTS, EDGES, TRANSFORMS = 6, 4, 5  # passes of an epoch, see `epoch`


def products(job: Job) -> float:
    r"""Return the operations of a layer's matrix products in a forward pass, for one node.

    The K gates are maps of [X, ÂX], :math:`4 K D^2`, and so is the value where windows or FFTs need it at every node;
    its waves need it at none. Waves are :math:`2 p D` for each of K + 1 sums and K results, with p polynomials. The FFN
    is :math:`4 D^2`. Without a global block there is one map.
    """
    d, k = job.hidden, job.order
    if job.filter == "none":
        return 8 * d * d
    maps = k + (job.filter in ("windows", "paper"))
    return 4 * maps * d * d + 2 * POLYNOMIALS.get(job.filter, 0) * (2 * k + 1) * d + 4 * d * d


def edges(job: Job) -> float:
    """Return the operations of ÂX in a layer, 2 D an edge; a worker with D / P channels of all nodes has all edges."""
    return 2 * job.own_edges * job.hidden / (job.workers if job.by_channels else 1)


def transforms(job: Job) -> float:
    r"""Return the operations of a layer's transforms in a forward pass, for one node.

    A real transform of length L takes :math:`2.5 L \log_2 L`, a product of two of them :math:`3 L`. With windows there
    are two transforms of 2,304 for 2,048 rows in each of K convolutions, of D channels; with the paper's filter two of
    length 2 N, and its filters are mixed from 64 transformed features, :math:`128 L` each.
    """
    d, k = job.hidden, job.order
    if job.filter == "windows":
        return k * d * (5 * math.log2(REACH) + 3) * REACH / BLOCK
    if job.filter == "paper":
        return 2 * k * d * (5 * math.log2(2 * job.nodes) + 3 + 2 * UNITS)
    return 0.0


def epoch(job: Job) -> dict[str, float]:
    """Return the operations of an epoch, by what they are for.

    Products are made forward, again in backward (nothing but inputs is held) and twice for the gradients; statistics of
    BatchNorm and the evaluation take a forward pass each: 6. Edges are summed once in each pass: 4. Transforms are one
    forward pass, two in backward and the two passes besides: 5. Encoder and head: forward, twice backward, twice
    besides.
    """
    ends = 5 * 2 * job.hidden * (job.features + job.targets)
    return {
        "products": job.rows * (job.layers * PRODUCTS * products(job) + ends),
        "sums over edges": EDGES * job.layers * edges(job),
        "transforms": TRANSFORMS * job.layers * job.rows * transforms(job),
    }
