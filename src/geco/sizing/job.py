"""What is asked: a training of GECO on one graph, shared out over workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from geco.errors import UsageError

__all__ = ["FilterName", "Job", "Order", "Propagation"]

FilterName = Literal["windows", "waves", "mean", "none", "paper"]
Order = Literal["static", "natural"]
Propagation = Literal["auto", "halo", "channels"]
LEAST = {
    "nodes": 2,
    "edges": 0,
    "features": 1,
    "targets": 1,
    "hidden": 1,
    "layers": 1,
    "workers": 1,
    "order": 1,
    "support": 1,
}


@dataclass(frozen=True)
class Job:
    """One graph, the network and the workers; float32, AdamW, settings that are not named as `geco train` has them.

    Args:
        nodes: N.
        edges: M, directed, as they are trained on: a link that runs both ways counts twice.
        features: C, columns of x.
        targets: T, classes or values.
        hidden: D.
        layers: L.
        order: K.
        filter: of the global block.
        support: S of windows.
        dropout: of the body.
        permutation: ``natural`` has nodes on the ring as they come; every other order makes copies in ring order.
        workers: P.
        cut: share of a worker's edges that come from nodes of other workers; None is 1 - 1/P, nodes dealt at random.
        propagation: how ÂX reaches other workers: ``halo``, rows to who wants them, ``channels``, or what sends less.

    Example:
        >>> job = Job(nodes=1000, edges=5000, workers=4, cut=0.2)
        >>> job.rows, job.own_edges, job.remote
        (250, 1250, 250)
    """

    nodes: int
    edges: int
    features: int = 128
    targets: int = 1
    hidden: int = 64
    layers: int = 2
    order: int = 2
    filter: FilterName = "mean"
    support: int = 128
    dropout: float = 0.5
    permutation: Order = "static"
    workers: int = 1
    cut: float | None = None
    propagation: Propagation = "auto"

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise UsageError(f"--{name} must be at least {least}, got {getattr(self, name)}")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"--dropout must be in [0, 1), got {self.dropout}")
        if self.cut is not None and not 0 <= self.cut <= 1:
            raise UsageError(f"--cut is a share of the edges, from 0 to 1; got {self.cut}")

    @property
    def rows(self) -> int:
        """Nodes of the worker that has most, N / P rounded up."""
        return -(-self.nodes // self.workers)

    @property
    def literal(self) -> bool:
        """Whether workers change between nodes and channels for the convolutions, as a filter without harmonics or
        windows needs it.
        """
        return self.filter == "paper" and self.workers > 1

    @property
    def wanted(self) -> int:
        """Nodes of other workers that a worker's edges come from: one for each cut edge, and no more than there are."""
        if self.workers == 1:
            return 0
        cut = 1 - 1 / self.workers if self.cut is None else self.cut
        return min(round(cut * -(-self.edges // self.workers)), self.nodes - self.rows)

    @property
    def by_channels(self) -> bool:
        """Whether ÂX is made by each worker for its channels of all nodes. `auto` is what sends less: the rows that are
        wanted, or all rows to channels and back, :math:`2 n (P - 1) / P`.
        """
        if self.propagation == "auto":
            return self.wanted > 2 * self.rows * (self.workers - 1) / self.workers
        return self.propagation == "channels" and self.workers > 1

    @property
    def own_edges(self) -> int:
        """Edges that a worker has: those into its nodes, or by channels all."""
        return self.edges if self.by_channels else -(-self.edges // self.workers)

    @property
    def remote(self) -> int:
        """Nodes of other workers whose rows a worker fetches."""
        return 0 if self.by_channels else self.wanted
