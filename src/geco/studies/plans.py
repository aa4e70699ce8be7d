"""From which N smooth waves beat FFTs: ``python -m geco.studies.plans`` times a step of `GECOConv` by either plan.

`geco.nn.ops.limits.LONG_RING` is read off this table: ratios below 1 say that waves are faster.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import torch

from geco.console import print_table
from geco.nn.ops import limits
from geco.nn.ops.long_ring import harmonic_limit
from geco.studies.contenders import make, random_graph
from geco.studies.measure import best_of

NODES = [1024, 1031, 2048, 4096, 4099, 8192, 16384, 65536]


def step(nodes: int, limit: Callable[[int], int], channels: int = 108) -> float:
    """Return the time of a step when filters of up to ``limit(N)`` harmonics count as smooth."""
    contender = make("geco conv", random_graph(nodes), nodes, channels)
    x, top = torch.randn(nodes, channels, requires_grad=True), torch.randn(nodes, channels)
    with mock.patch("geco.nn.ops.plan.harmonic_limit", limit), mock.patch.object(limits, "SHORT_RING", 0):
        return best_of(lambda: contender.step(x).backward(top), 10)


def main() -> None:
    """Run the study from the command line."""
    rows = [["N", "waves / FFTs"]]
    with mock.patch.object(limits, "LONG_RING", 0):
        rows += [[f"{n:,}", f"{step(n, harmonic_limit.__wrapped__) / step(n, lambda _: 0):.2f}"] for n in NODES]
    print_table(rows)


if __name__ == "__main__":
    main()
