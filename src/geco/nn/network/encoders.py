r"""Encoders: what nodes and edges bring along becomes vectors of D channels.

Shapes: N rows (nodes or edges), C columns, D channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from geco.nn.network.scaling import log_units, mean_and_deviation, settled
from geco.nn.resolve import check_name

__all__ = ["Categories", "Constant", "Features", "Init", "make_encoder"]

Init = Literal["xavier", "normal"]


class Categories(nn.Module):
    r"""Categories to vectors, :math:`h_i = \sum_c E_c[x_{ic}]`, with a table :math:`E_c` for each column.

    Atoms and bonds of the Open Graph Benchmark, nodes and edges of syntax trees are such columns. The tables stand
    below one another in one matrix, so that one lookup serves all columns, and equal rows are looked up once: 20,000
    atoms of peptides are 34 different ones.

    Args:
        counts: number of categories of each column.
        channels: D.
        init: ``xavier`` of each table, as OGB has it for molecules, or ``normal`` of deviation 1, as for syntax trees.
        clipped: columns whose numbers beyond the last category count as the last, such as a depth.
        name: of the array, for messages.

    Shapes:
        (N, C) integers to (N, D).

    Example:
        >>> Categories((119, 4), 8)(torch.tensor([[6, 0], [8, 1]], dtype=torch.uint8)).shape
        torch.Size([2, 8])
    """

    counts: Tensor
    first: Tensor  # row of each column's first category, (C,)
    radix: Tensor | None  # of the columns in a row's number, (C,); None if there are more than 2**62 rows

    def __init__(
        self,
        counts: Sequence[int],
        channels: int,
        *,
        init: Init = "xavier",
        clipped: Sequence[int] = (),
        name: str = "x",
    ) -> None:
        super().__init__()
        if not counts or min(counts) < 1 or channels < 1:
            raise ValueError(f"each of counts, and channels, must be at least 1, got {list(counts)} and {channels}")
        check_name("init", init, get_args(Init))
        if any(not 0 <= column < len(counts) for column in clipped):
            raise ValueError(f"clipped names columns {list(clipped)}, {name} has 0 to {len(counts) - 1}")
        self.init, self.clipped, self.name = init, list(clipped), name
        size = torch.tensor(counts, dtype=torch.int32)
        self.register_buffer("counts", size, persistent=False)
        self.register_buffer("first", size.cumsum(0, dtype=torch.int32) - size, persistent=False)
        radix = [math.prod(counts[column + 1 :]) for column in range(len(counts))]
        self.register_buffer("radix", torch.tensor(radix) if math.prod(counts) < 2**62 else None, persistent=False)
        self.weight = nn.Parameter(torch.empty(sum(counts), channels))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Reset the tables."""
        for table in self.weight.split(self.counts.tolist()):
            nn.init.xavier_uniform_(table) if self.init == "xavier" else nn.init.normal_(table)

    def forward(self, x: Tensor) -> Tensor:
        """Return a vector per row; a category without a vector is refused by its column."""
        x = self._checked(x)
        if self.radix is None:
            return self._look_up(x)
        number, kind = (x * self.radix).sum(1).unique(return_inverse=True)
        one = torch.empty_like(number).scatter_(0, kind, torch.arange(len(x), device=x.device))  # a row of each kind
        return self._look_up(x[one]).index_select(0, kind)

    def _look_up(self, x: Tensor) -> Tensor:
        return nn.functional.embedding_bag(x + self.first, self.weight, mode="sum")

    def _checked(self, x: Tensor) -> Tensor:
        if x.dim() != 2 or x.shape[1] != len(self.counts) or x.is_floating_point():
            raise ValueError(f"{self.name} must be integers (N, {len(self.counts)}), got {x.dtype} {tuple(x.shape)}")
        if len(x) == 0:
            return x
        if self.clipped:
            x = x.clone()
            x[:, self.clipped] = torch.minimum(x[:, self.clipped], (self.counts[self.clipped] - 1)).to(x.dtype)
        low, high = x.amin(0), x.amax(0)
        wrong = (low < 0) | (high >= self.counts)
        if bool(wrong.any()):
            column = int(wrong.nonzero()[0])
            got = int(low[column]) if low[column] < 0 else int(high[column])
            known = f"the model knows {int(self.counts[column])}, from 0"
            raise ValueError(f"column {column} of {self.name} has category {got}, {known}")
        return x

    def extra_repr(self) -> str:
        """Return how many categories there are."""
        return f"{self.counts.tolist()}, {self.weight.shape[1]}"


class Features(nn.Module):
    r"""Real numbers to vectors, :math:`h_i = W (x_i - \mu) / \sigma + b`.

    Superpixels (14 columns of a node, 2 of an edge) and protein associations (7 of an edge) are such numbers. LRGB's
    re-assessment standardises its inputs: :math:`\mu` and :math:`\sigma` are then those of the training part, given
    once to `fit` and kept with the weights. Otherwise they are 0 and 1. ``robust`` looks at each column: zeros and ones
    and sparse columns stay as they are, and one with heavy tails has its logarithm taken first, see
    `geco.nn.network.scaling`.

    Args:
        columns: C.
        channels: D.
        standardise: whether to shift and scale.
        robust: whether to do so column by column.
        name: of the array, for messages.

    Shapes:
        (N, C) to (N, D).

    Example:
        >>> Features(14, 8)(torch.randn(3, 14)).shape
        torch.Size([3, 8])
    """

    mean: Tensor
    std: Tensor
    log_unit: Tensor  # of columns with heavy tails, (C,); 0 of others

    def __init__(
        self, columns: int, channels: int, *, standardise: bool = False, robust: bool = False, name: str = "x"
    ) -> None:
        super().__init__()
        if columns < 1 or channels < 1:
            raise ValueError(f"columns and channels must be at least 1, got {columns} and {channels}")
        self.linear, self.name = nn.Linear(columns, channels), name
        self.standardise, self.robust = standardise or robust, robust
        if self.standardise:
            self.register_buffer("mean", torch.full((columns,), torch.nan))
            self.register_buffer("std", torch.full((columns,), torch.nan))
        if robust:
            self.register_buffer("log_unit", torch.zeros(columns))

    def reset_parameters(self) -> None:
        """Reset the weights; mean and deviation stay."""
        self.linear.reset_parameters()

    @torch.no_grad()
    def fit(self, blocks: Iterable[Tensor]) -> None:
        """Take mean and deviation from the rows of the training part; a constant column is only shifted.

        Args:
            blocks: the rows in blocks ``(n, C)``, so that they need not lie in memory all at once (if ``robust`` they
                do).
        """
        if not self.standardise:
            raise ValueError("this encoder does not standardise; make it with standardise=True")
        blocks = (self._checked(block) for block in blocks)
        still = torch.zeros(self.linear.in_features, dtype=torch.bool)
        if self.robust:
            given = list(blocks)
            rows = given[0] if len(given) == 1 else torch.cat([torch.empty(0, len(still)), *given])
            still = settled(rows)
            blocks = [rows]
            self.log_unit.copy_(torch.where(still, 0.0, log_units(rows)))
        mean, std, count = mean_and_deviation(map(self._drawn_in, blocks), len(still))
        if not count or not bool(std.isfinite().all()):
            raise ValueError(f"mean and deviation of {self.name} need rows of finite numbers, got {count} rows")
        self.mean.copy_(torch.where(still, 0.0, mean))
        self.std.copy_(torch.where(still | (std <= 1e-6 * mean.abs()), 1.0, std))

    def _drawn_in(self, x: Tensor) -> Tensor:
        """Return rows with the logarithm of columns that have heavy tails."""
        if not self.robust:
            return x
        unit = self.log_unit.to(x.device)
        return torch.where(unit > 0, x.sign() * (x.abs() / torch.where(unit > 0, unit, 1.0)).log1p(), x)

    def forward(self, x: Tensor) -> Tensor:
        """Return a vector per row."""
        x = self._checked(x).to(self.linear.weight.dtype)
        if self.standardise:
            if bool(self.std.isnan().any()):
                raise ValueError(
                    f"mean and deviation of {self.name} are not known yet; call fit with the training rows"
                )
            x = (self._drawn_in(x) - self.mean) / self.std
        out: Tensor = self.linear(x)
        return out

    def _checked(self, x: Tensor) -> Tensor:
        x = x[:, None] if x.dim() == 1 else x
        if x.dim() != 2 or x.shape[1] != self.linear.in_features:
            raise ValueError(
                f"{self.name} must be numbers (N, {self.linear.in_features}), got {x.dtype} {tuple(x.shape)}"
            )
        return x


class Constant(nn.Module):
    r"""One learned vector for all rows, :math:`h_i = e`: where they bring nothing along, as the nodes of ogbg-ppa.

    Args:
        channels: D.

    Shapes:
        (N, ...) of anything to (N, D), a view.

    Example:
        >>> Constant(8)(torch.zeros(3, 1)).shape
        torch.Size([3, 8])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        if channels < 1:
            raise ValueError(f"channels must be at least 1, got {channels}")
        self.weight = nn.Parameter(torch.empty(1, channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the vector, to deviation 1."""
        nn.init.normal_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the vector for each row of x, whatever it holds."""
        return self.weight.expand(len(x), -1)


def make_encoder(
    channels: int, columns: int = 0, categories: Sequence[int] = (), *,
    standardise: bool = False, robust: bool = False, init: Init = "xavier",
    clipped: Sequence[int] = (), name: str = "x",
) -> Categories | Features | Constant:  # fmt: skip
    """Return the encoder of an array by what it holds: categories, real numbers or nothing.

    Args:
        channels: D.
        columns: C, 0 where there is nothing.
        categories: number of categories of each column, empty where there are none; one column of one says nothing.
        standardise: see `Features`.
        robust: see `Features`; for what holds no real numbers it means nothing.
        init: see `Categories`.
        clipped: see `Categories`.
        name: of the array.

    Example:
        >>> [type(make_encoder(8, *holds)).__name__ for holds in [(14,), (2, (119, 4)), (1, (1,)), ()]]
        ['Features', 'Categories', 'Constant', 'Constant']
    """
    if categories and len(categories) != columns:
        raise ValueError(f"{name} has {columns} columns, but {len(categories)} numbers of categories")
    real = columns > 0 and not categories
    if standardise and not real:
        raise ValueError(f"{name} holds no real numbers to standardise; leave standardise out")
    if real:
        return Features(columns, channels, standardise=standardise, robust=robust, name=name)
    if tuple(categories) in ((), (1,)):
        return Constant(channels)
    return Categories(categories, channels, init=init, clipped=clipped, name=name)
