r"""A smooth function of many places from its values at few: on every block of places a polynomial through Chebyshev
points.

Shapes: N places, b blocks, T places of a block, p points of a block, R functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from geco.nn.graph.remembered import cached

__all__ = ["interpolated"]

POINTS = 16  # p: polynomials of degree 15
FEWEST = 32  # blocks to begin with
SAMPLE = 4  # blocks that are looked at first
SHARE = 8  # places per point below which the function had better be evaluated everywhere
# Share of the largest coefficient that the last ones may have, so that derivatives are known to float32 too.
TAIL = 1e-12


def interpolated(function: Callable[[Tensor], Tensor], length: int) -> Tensor | None:
    r"""Return a function at places 0 to N - 1, :math:`f(aT + t) = \sum_j f(aT + x_j)\, \ell_j(t)` on block a, in
    float32.

    The blocks are made shorter until the last of the polynomials' coefficients vanish, so the result is the function to
    rounding, and so are gradients, which pass through the values at the points. Those are in float64.

    Args:
        function: of places ``(P, 1)`` in float64, also between whole numbers and up to a block beyond the last, to
            ``(P, R)``.
        length: N.

    Returns:
        ``(R, N)``; None if that takes more than one point for `SHARE` places.

    Example:
        >>> interpolated(lambda place: torch.sin(place / 1e4), 10_000).shape
        torch.Size([1, 10000])
    """
    blocks = FEWEST
    while blocks * POINTS * SHARE <= length:
        rows = -(-length // blocks)
        points, to_rows, to_coefficients = _basis(rows)
        places = (torch.arange(blocks).unsqueeze(1) * rows + points).unsqueeze(2)  # (b, p, 1)
        for some in (places[:: blocks // SAMPLE], places):  # most functions that are too rough are so everywhere
            values = function(some.reshape(-1, 1)).view(len(some), POINTS, -1)  # (b, p, R)
            if not _ends(to_coefficients @ values.detach()):
                break
        else:
            each = values.permute(2, 0, 1).reshape(-1, POINTS).float() @ to_rows  # (R * b, T)
            return each.view(values.shape[2], -1)[:, :length]
        blocks *= 2
    return None


def _ends(coefficients: Tensor) -> bool:
    """Return whether the last coefficients of all polynomials vanish, ``(b, p, R)``."""
    size = coefficients.abs()
    return float(size[:, -2:].max()) <= TAIL * float(size.max())


@cached(16)
def _basis(rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the points ``(p,)``, the polynomials through them at T places ``(p, T)``, from values to coefficients."""
    angle = math.pi * (torch.arange(POINTS, dtype=torch.float64) + 0.5) / POINTS
    degree = torch.arange(POINTS, dtype=torch.float64).unsqueeze(1)
    to_coefficients = torch.cos(degree * angle) * (2.0 / POINTS)
    to_coefficients[0] /= 2.0
    place = torch.linspace(-1.0, 1.0, rows, dtype=torch.float64) if rows > 1 else torch.zeros(1, dtype=torch.float64)
    to_rows = to_coefficients.t() @ torch.cos(degree * torch.acos(place))
    return (angle.cos() + 1.0) * (rows - 1) / 2.0, to_rows.float(), to_coefficients
