r"""Bytes of a worker, part by part: what stays, and what a step needs for a while. All numbers are float32 unless said.

What a formula counts is what `geco.train.engine` and the layers hold today on one worker; with P workers each has its
share of the rows. `tests/sizing/test_memory.py` compares them with real runs.

Shapes: N nodes, n of them on a worker, m edges into these, C features, D channels, K order, L layers, T targets.
"""

from __future__ import annotations

from itertools import pairwise

from geco.sizing.job import Job

__all__ = ["foreign", "graph", "held", "held_numbers", "memory", "parameters", "passing", "preparing", "weights"]

FLOAT = 4
PROGRAM = 450e6  # Python, torch and PyG before there are data
EDGE, NODE = 44, 25  # bytes: see `graph`
PREPARED = 126  # bytes an edge: see `preparing`
UNITS, FEATURES, DISTANCES = 64, 33, 32  # of a filter: hidden units; features of places; those of windows' distances
KEPT = 32 * 2**20  # bytes of gates that a layer holds at most: `geco.nn.ops.limits.KEPT_BYTES`
PLACES = 2048 * (5 * UNITS + FEATURES) * 8  # bytes of the paper's network where it is evaluated: see `held`
CHUNK = 2**22  # numbers that FFTs work on at a time: `geco.nn.ops.fft_rings.CHUNK`
PASSING = {"none": 2, "mean": 2, "waves": 2, "windows": 4, "paper": 6}  # rows of D numbers: see `passing`


def parameters(job: Job) -> int:
    r"""Return the number of weights.

    The encoder has :math:`(C + 1) D`, the head :math:`(D + 1) T`. A layer has BatchNorm's :math:`4 D`, a projection of
    :math:`(2 D + 1)(K + 1) D`, two LayerNorms of :math:`2 D` and an FFN of :math:`2 (D + 1) D`, and its filter: a
    network of sines, and a map from its hidden units to the K D filters.

    Example:
        >>> parameters(Job(nodes=10, edges=10, features=8, hidden=16, layers=1, targets=2, filter="mean"))
        2434
    """
    d, maps = job.hidden, 1 if job.filter == "none" else job.order + 1
    layer = 4 * d + (2 * d + 1) * maps * d + 4 * d + 2 * (d + 1) * d + _filter(job)
    return (job.features + 1) * d + job.layers * layer + (d + 1) * job.targets


def _filter(job: Job) -> int:
    mixed = job.order * job.hidden
    if job.filter == "waves":
        return _sines(16, UNITS, UNITS) + 2 * UNITS + UNITS * mixed
    if job.filter == "windows":  # waves of 16 units and windows
        return _sines(16, 16) + 16 + 16 * mixed + _sines(DISTANCES, UNITS, UNITS) + 2 * UNITS + UNITS * mixed
    if job.filter == "paper":
        return _sines(FEATURES, UNITS, UNITS, UNITS) + UNITS + UNITS * mixed
    return 0


def _sines(*widths: int) -> int:
    return sum((a + 1) * b for a, b in pairwise(widths))


def weights(job: Job) -> float:
    """Return the bytes of the weights, their gradients and AdamW's two moments, all whole on every worker."""
    return 4 * FLOAT * parameters(job)


def graph(job: Job) -> float:
    r"""Return the bytes of the data: :math:`8 C n + 25 n + 44 m`.

    Features are there twice, as the data set has them and laid out for the products. An edge is two int32 in the data
    set (8), two int64 (16), its weight (4), and a column (4) and a weight (4) of the adjacency in CSR and as much of
    its transpose; that is 44. With :math:`2^{31}` edges or nodes or more, all of these whole numbers are int64: 60. A
    node has row starts (8), class and split (9 to 20) and places on the ring (8): 25 measured.
    """
    edge = EDGE if max(job.nodes, job.own_edges) < 2**31 else EDGE + 16
    return job.rows * (2 * FLOAT * job.features + NODE) + job.own_edges * edge


def preparing(job: Job) -> float:
    """Return the bytes that are needed once, before the first step, to make edges run both ways and sort them: 126 an
    edge beside what stays, measured.
    """
    return PREPARED * job.own_edges


def held_numbers(job: Job) -> float:
    r"""Return how many numbers a node has between forward and backward, :math:`D (L a + 1 + [p > 0]) + 2 L + T + 2`.

    A layer holds its input X, :math:`\hat A X` and the global block's output for backward, so :math:`a = 3`; all else
    is made again. In any order but ``natural``, X is there in ring order as well (:math:`+1`) and each layer has the
    places back (2). Windows hold the values between the convolutions (:math:`+K - 1`). Without a global block
    :math:`a = 6`: X, its output, [X, ÂX] and that normalised. The 1 is the last layer's output, p the encoder's
    dropout; the loss holds T + 2 where all nodes have labels.

    Example:
        >>> held_numbers(Job(nodes=10, edges=10, hidden=100, layers=2, filter="windows", dropout=0.0))
        1107
    """
    permuted = job.permutation != "natural" and job.filter != "none"
    a = 6 if job.filter == "none" else 3 + permuted + (job.order - 1) * (job.filter == "windows")
    return job.hidden * (job.layers * a + 1 + (job.dropout > 0)) + 2 * job.layers * permuted + job.targets + 2


def held(job: Job) -> float:
    r"""Return the bytes held between forward and backward: `held_numbers`, and of each layer

    * its gates (:math:`K D n`; for the paper's filter the value too) where these take no more than 32 MiB;
    * of the paper's filter the transforms of its hidden units or, where these are fewer, of its filters, and then both:
      :math:`2 N \min(64, K D) + 64 N [K D \le 64]`, whole on every worker. The 2 is for N with a large prime factor;
      others take half of it. Its network is held at 2,048 places in float64, 6 MB.
    """
    own = 0.0
    if job.filter in ("mean", "waves", "paper"):
        gates = FLOAT * (job.order + (job.filter == "paper")) * job.hidden * job.rows
        own += gates if gates <= KEPT else 0
    if job.filter == "paper":
        filters = job.order * job.hidden
        own += PLACES + FLOAT * job.nodes * (2 * min(UNITS, filters) + (UNITS if filters <= UNITS else 0))
    return FLOAT * held_numbers(job) * job.rows + job.layers * own


def passing(job: Job) -> float:
    r"""Return the bytes that a step needs for a while beside all that is held, at its peak in backward.

    That is in the last layer: gradients of its two inputs beside the one that arrives, while its output is gone
    (:math:`2 D n`); with windows also what the convolution above hands down (:math:`4 D n`); with FFTs gates, value and
    their gradients are laid out channel by channel (:math:`6 D n`, and eleven chunks of :math:`2^{22}` numbers or one
    channel). Before that, gradients of the loss are 2 T a node where all have labels; the larger counts.
    """
    chunks = 11 * max(CHUNK, job.nodes) if job.filter == "paper" else 0
    return FLOAT * (max(PASSING[job.filter] * job.hidden, 2 * job.targets) * job.rows + chunks)


def foreign(job: Job) -> float:
    """Return the bytes of what ÂX needs of other workers, one layer's at a time, or of its gradient: the rows that are
    fetched, or X and ÂX by channels.
    """
    rows = 2 * job.rows if job.by_channels else job.remote
    return FLOAT * rows * job.hidden


def memory(job: Job) -> dict[str, float]:
    """Return the bytes of each part, in words for people; `held` and `passing` are there at the same time, `preparing`
    only before.

    Example:
        >>> sorted(memory(Job(nodes=1000, edges=5000)))[0]
        'activations held for backward'
    """
    step = held(job) + passing(job) + foreign(job)
    return {
        "program": PROGRAM,
        "weights, gradients, optimiser": weights(job),
        "graph: features, edges, orders": graph(job),
        "activations held for backward": held(job),
        "beside them for a while": passing(job),
        "of other workers, for the edges": foreign(job),
        "preparing the edges, if more": max(0.0, preparing(job) - step),
    }
