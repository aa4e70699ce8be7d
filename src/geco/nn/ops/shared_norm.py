r"""BatchNorm over rows that several processes hold: each has some of the graphs of a batch, mean and variance are those
of all, :math:`\mu = \sum_r \frac{n_r}{n} \mu_r`, :math:`\sigma^2 = \sum_r \frac{n_r}{n} (\sigma_r^2 + (\mu_r -
\mu)^2)`, and so are their gradients.

So a batch that is dealt out to any number of processes is normalised as one process does it, up to rounding.

Shapes: n rows of C columns, n_r of them here; P processes.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm

from geco.nn.ops.global_context import moments, track

__all__ = ["Others", "SharedBatchNorm", "share_norms"]


class Others(Protocol):
    """What a norm needs of the other processes."""

    @property
    def counted(self) -> bool:
        """Whether the rows of this process count; those of a stand-in for an empty part do not."""

    def gathered(self, values: Tensor) -> Tensor:
        """Return the numbers of every process, ``(n,)`` to ``(P, n)``."""


class SharedBatchNorm(nn.BatchNorm1d):
    """BatchNorm whose training counts the rows of all processes; in evaluation mode it is a plain one.

    All processes call it, and go back through it, in the same order, also one whose rows do not count. A single row in
    all is normalised as in evaluation mode.

    Args:
        norm: BatchNorm whose weights and statistics it has.
        others: the processes.
        place: among the norms of a network, by which processes see that they are at the same one.
    """

    def __init__(self, norm: nn.BatchNorm1d, others: Others, place: int) -> None:
        super().__init__(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats)
        self.weight, self.bias = norm.weight, norm.bias
        self.running_mean, self.running_var = norm.running_mean, norm.running_var
        self.num_batches_tracked, self.training = norm.num_batches_tracked, norm.training
        self.others, self.place = others, place

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the rows that are here."""
        if not self.training:
            return super().forward(x)
        with torch.autocast(x.device.type, enabled=False):
            h = x.to(torch.promote_types(x.dtype, torch.float32))
            mean, var, rows = _Moments.apply(h, self)  # type: ignore[no-untyped-call]
            if rows > 1:
                track(self, mean, var, rows)
                h = (h - mean) * torch.rsqrt(var + self.eps)
                h = h if self.weight is None else h * self.weight + self.bias
            else:
                stored = (self.running_mean, self.running_var, self.weight, self.bias)
                h = nn.functional.batch_norm(h, *stored, training=False, eps=self.eps)
            return h.to(x.dtype)

    def merged(self, mean: Tensor, var: Tensor, rows: int) -> tuple[Tensor, Tensor, int]:
        """Return mean and (biased) variance of all rows, and their number."""
        own = rows if self.others.counted else 0
        count = torch.tensor([own], dtype=torch.float64, device=mean.device)
        each = self._gathered(2 * self.place, torch.cat([count, mean.double(), var.double()]))
        counts, means, variances = each[:, :1], *each[:, 1:].chunk(2, 1)
        total = int(counts.sum())
        share = counts / max(1, total)
        middle = (share * means).sum(0)
        spread = (share * (variances + (means - middle).square())).sum(0)
        return middle.to(mean.dtype), spread.to(var.dtype), max(1, total)

    def summed(self, dmean: Tensor, dvar: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of mean and variance from all rows; zeros where those of this process do not count."""
        sums = self._gathered(2 * self.place + 1, torch.cat([dmean.double(), dvar.double()])).sum(0)
        first, second = (sums if self.others.counted else torch.zeros_like(sums)).chunk(2)
        return first.to(dmean.dtype), second.to(dvar.dtype)

    def _gathered(self, mark: int, values: Tensor) -> Tensor:
        """Return the values of all processes, which must be at the same norm and on the same way, there or back."""
        each = self.others.gathered(torch.cat([values.new_tensor([mark]), values]))
        assert bool((each[:, 0] == mark).all()), f"processes are at different norms: {each[:, 0].tolist()}"
        return each[:, 1:]


class _Moments(torch.autograd.Function):
    """Mean and variance of each column over the rows of all processes, and the number of rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, norm: SharedBatchNorm) -> tuple[Tensor, Tensor, int]:
        own = moments(x) if len(x) else (x.new_zeros(x.shape[1]),) * 2
        mean, var, rows = norm.merged(*own, len(x))
        ctx.norm, ctx.rows = norm, rows
        ctx.save_for_backward(x, mean)
        return mean, var, rows

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        x, mean = ctx.saved_tensors
        dmean, dvar = ctx.norm.summed(*grads[:2])
        return (2 * dvar * (x - mean) + dmean) / ctx.rows, None


def share_norms(network: nn.Module, others: Others) -> None:
    """Put a `SharedBatchNorm` in the place of every BatchNorm of a network; names and weights stay.

    PyG's own, which may take a single row as in evaluation mode, now does so if there is one in all.

    Args:
        network: the same on all processes.
        others: the processes.

    Example:
        >>> from types import SimpleNamespace
        >>> network = nn.Sequential(nn.BatchNorm1d(1))
        >>> share_norms(network, SimpleNamespace(counted=True, gathered=lambda own: torch.stack([own, own])))
        >>> network(torch.tensor([[1.0], [3.0]])).tolist(), network[0].running_mean  # of four rows: 1, 3, 1, 3
        ([[-0.9999949932098389], [0.9999949932098389]], tensor([0.2000]))
    """
    found = [(parent, name, child) for parent in network.modules() for name, child in parent.named_children()]
    place = 0
    for parent, name, child in found:
        if type(child) is nn.BatchNorm1d:
            setattr(parent, name, SharedBatchNorm(child, others, place))
            place += 1
        if isinstance(parent, BatchNorm):
            parent.allow_single_element = False
