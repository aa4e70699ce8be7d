r"""Columns of numbers as they come, brought to one size: which are left alone, which have heavy tails, and moments.

Shapes: N rows, C columns.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

__all__ = ["log_units", "mean_and_deviation", "settled", "uneven"]

HEAVY = 9.0  # fourth moment over the squared variance: 1.8 if uniform, 3 if normal, 9 if exponential
NEAR = 3.0  # means of up to this and deviations of 1/3 to 3 are near enough to 0 and 1 for any network


def settled(rows: Tensor) -> Tensor:
    """Return which columns need nothing: zeros and ones, and sparse ones within -1 and 1, such as weighted words.

    Args:
        rows: ``(N, C)``.

    Example:
        >>> settled(torch.tensor([[0.0, 0.3, 40.0], [1.0, 0.0, 17.0], [1.0, 0.0, 23.0]]))
        tensor([ True,  True, False])
    """
    return torch.tensor([_settled(column.double()) for column in rows.T], dtype=torch.bool)


def log_units(rows: Tensor) -> Tensor:
    r"""Return the unit u of each column with heavy tails, whose numbers are read as
    :math:`\mathrm{sign}(x) \log(1 + |x| / u)`: the median size of what is not zero; 0 for other columns.

    Args:
        rows: ``(N, C)``.

    Example:
        >>> log_units(torch.tensor([[1.0] * 99 + [1000.0], list(range(100))]).T)
        tensor([1., 0.])
    """
    return torch.tensor([_log_unit(column.double()) for column in rows.T], dtype=torch.float32)


def uneven(rows: Tensor) -> bool:
    """Tell whether there is a column far from mean 0 and deviation 1, or with heavy tails, that is not settled.

    Args:
        rows: ``(N, C)``.

    Example:
        >>> uneven(torch.randn(1000, 2)), uneven(5000 * torch.randn(1000, 2)), uneven(torch.eye(10))
        (False, True, False)
    """
    return any(_far(column) and not _settled(column) for column in map(Tensor.double, rows.T if len(rows) else ()))


def mean_and_deviation(blocks: Iterable[Tensor], columns: int) -> tuple[Tensor, Tensor, int]:
    """Return mean and deviation of each column, ``(C,)`` float64, and the number of rows.

    Args:
        blocks: the rows in blocks ``(n, C)``, so that they need not lie in memory all at once.
        columns: C.

    Example:
        >>> mean_and_deviation([torch.tensor([[1.0]]), torch.tensor([[3.0], [5.0]])], 1)[0]
        tensor([3.], dtype=torch.float64)
    """
    count = 0
    mean = torch.zeros(columns, dtype=torch.float64)
    spread = torch.zeros(columns, dtype=torch.float64)
    for block in blocks:
        x = block.double().cpu()
        if len(x):
            var, middle = torch.var_mean(x, 0, correction=0)
            step, count = middle - mean, count + len(x)
            mean = mean + step * (len(x) / count)
            spread = spread + len(x) * (var + step**2 * (1 - len(x) / count))  # sum of squares about the mean
    return mean, (spread / max(1, count)).sqrt(), count


def _settled(column: Tensor) -> bool:
    zeros = column == 0
    within = bool((column.abs() <= 1).all())
    return within and (bool((zeros | (column == 1)).all()) or 2 * int(zeros.sum()) > len(column))


def _log_unit(column: Tensor) -> float:
    sizes = column[column != 0].abs()
    return float(sizes.median()) if len(sizes) and _tails(column) > HEAVY else 0.0


def _tails(column: Tensor) -> float:
    var, mean = torch.var_mean(column, correction=0)
    return float(((column - mean) ** 2 / var).square().mean()) if float(var) > 0 else 0.0


def _far(column: Tensor) -> bool:
    var, mean = torch.var_mean(column, correction=0)
    return not (abs(float(mean)) <= NEAR and 1 / NEAR <= float(var.sqrt()) <= NEAR and _tails(column) <= HEAVY)
