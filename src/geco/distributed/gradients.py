"""The gradient of a batch whose graphs are dealt out: the sum of what the processes have, in one exchange."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from geco.distributed.runtime import Workers

__all__ = ["sum_gradients"]


@torch.no_grad()
def sum_gradients(parameters: Iterable[nn.Parameter], workers: Workers, loss: float) -> float:
    """Put the sum over all processes in the place of every gradient, and return that of their losses.

    Each process gives its share of the batch's loss, so nothing is divided. A weight that no process has a gradient of
    keeps none, so that the optimiser leaves it alone.

    Args:
        parameters: of the network, in the same order on all processes.
        workers: the processes.
        loss: share of this process.

    Example:
        >>> from geco.distributed.runtime import ALONE
        >>> sum_gradients([nn.Parameter(torch.ones(2))], ALONE, 0.5)
        0.5
    """
    if workers.size == 1:
        return loss
    weights = [p for p in parameters if p.requires_grad]
    there = weights[0].new_tensor([loss, *(p.grad is not None for p in weights)])
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in weights]
    summed = workers.total(torch.cat([there, *(grad.reshape(-1) for grad in grads)]))
    total, found, flat = summed.split([1, len(weights), summed.numel() - 1 - len(weights)])
    parts: tuple[Tensor, ...] = flat.split([p.numel() for p in weights])
    for p, part, anywhere in zip(weights, parts, found.tolist(), strict=True):
        p.grad = part.view_as(p) if anywhere else None
    return float(total)
