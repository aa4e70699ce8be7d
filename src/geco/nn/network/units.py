r"""Outputs in the units of what is predicted, while the network itself learns numbers of one size.

Shapes: N rows, T targets.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Units"]


class Units(nn.Module):
    r"""Numbers of deviation 1 to values in their own units, :math:`y_t = \mu_t + \sigma_t z_t`.

    Mean and deviation are those of each target in the training part, given once to `fit` and kept with the weights.
    Errors in y divided by :math:`\sigma_t` are those in z, so that a loss of them weighs all targets alike.

    Args:
        num_targets: T.

    Shapes:
        (N, T) to (N, T).

    Example:
        >>> units = Units(1)
        >>> units.fit(torch.tensor([[10.0], [30.0], [torch.nan]]))
        >>> units(torch.tensor([[0.0], [1.0]]))
        tensor([[20.],
                [30.]])
    """

    mean: Tensor
    std: Tensor

    def __init__(self, num_targets: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(num_targets))
        self.register_buffer("std", torch.ones(num_targets))

    @torch.no_grad()
    def fit(self, targets: Tensor) -> None:
        """Take mean and deviation of each target's known values; of a constant one the mean alone.

        Args:
            targets: of the training part, ``(N, T)``, NaN where missing.
        """
        y = targets.double().view(len(targets), -1)
        known = ~y.isnan()
        count = known.sum(0).clamp(min=1)
        mean = y.nan_to_num(0.0).sum(0) / count
        std = (((y - mean) ** 2).where(known, 0.0).sum(0) / count).sqrt()
        self.mean.copy_(mean)
        self.std.copy_(torch.where(std > 1e-6 * mean.abs(), std, 1.0))

    def forward(self, z: Tensor) -> Tensor:
        """Return values in their units."""
        out: Tensor = z.float() * self.std + self.mean
        return out
