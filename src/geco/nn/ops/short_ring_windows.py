r"""Filters over distances laid around short rings and transformed there, with the rings' own cosines and sines.

Shapes: S sizes of a block, the largest of n nodes, m = n // 2 + 1 pairs, h harmonics, G rings; s support; K order, D
channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from geco.nn.functional import node_places, row_starts, segment_matmul
from geco.nn.graph.remembered import cached
from geco.nn.ops.short_ring_pairs import RingBlock, paired_places

__all__ = ["Csr", "WindowLayout", "window_layout"]

Csr = tuple[Tensor, Tensor, Tensor]  # row pointers, column and value of each entry


@dataclass(frozen=True)
class WindowLayout:
    """Where distances come to stand on the rings of a block.

    Args:
        put: from distances to places of a ring of each size, ``(2 * S * m, 2 s + 1)`` in CSR, float64.
        take: its transpose, in the type of the rings.
        weight: times each harmonic counts in the inverse transform, ``(2, S, m, 1)``: of cosines and, negative, of
            sines.
    """

    put: Csr
    take: Csr
    weight: Tensor

    def add_to(self, spectra: Sequence[Tensor], taps: Tensor, block: RingBlock) -> None:
        """Add the harmonics of filters ``(2 s + 1, K * D)`` to each ring's two parts, ``(G * h, K * D)``."""
        around = segment_matmul(*self.put, taps).to(self.weight.dtype)
        found = block.distinct().analysis(around).mul_(self.weight)  # (2, S, h, K * D)
        for part, each in zip(spectra, found, strict=True):
            part.view(-1, *each.shape[1:]).add_(each.index_select(0, block.which))

    def back(self, dspectra: Sequence[Tensor], block: RingBlock) -> Tensor:
        """Return the gradient of the filters, ``(2 s + 1, K * D)``."""
        found = dspectra[0].new_zeros(2, len(block.distinct_sizes), block.waves, dspectra[0].shape[1])
        for part, each in zip(dspectra, found, strict=True):
            each.index_add_(0, block.which, part.view(-1, *each.shape[1:]))
        return segment_matmul(*self.take, block.distinct().synthesis(found.mul_(self.weight)))


@cached(64)
def window_layout(sizes: tuple[int, ...], support: int, dtype: torch.dtype, device: torch.device) -> WindowLayout:
    """Return where distances -s to s stand on rings of these sizes, ascending."""
    size = torch.tensor(sizes)
    start = size.cumsum(0) - size
    nodes, filled = paired_places(size, start)
    at = node_places(nodes, filled)
    distance = torch.arange(-support, support + 1)
    row = at[start.unsqueeze(1) + distance % size.unsqueeze(1)]  # (S, 2 s + 1)
    value = torch.ones(row.numel(), dtype=torch.float64)
    by = torch.argsort(row.flatten(), stable=True)
    put = (row_starts(row.flatten(), len(nodes)), by % len(distance), value)
    take = (torch.arange(len(distance) + 1) * len(size), row.t().flatten(), value.to(dtype))
    k, n = torch.arange(sizes[-1] // 2 + 1), size.unsqueeze(1)
    weight = torch.where((k == 0) | (2 * k == n), 1.0, 2.0).to(torch.float64) / n
    both = torch.stack([weight, -weight]).unsqueeze(3).to(device, dtype)
    return WindowLayout(_to(put, device), _to(take, device), both)


def _to(matrix: Csr, device: torch.device) -> Csr:
    row, column, value = matrix
    return row.to(device), column.to(device), value.to(device)
