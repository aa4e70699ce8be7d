"""What BatchNorm has seen, made for the very weights that are evaluated and kept.

Running statistics are those of weights that are gone: with one step an epoch and momentum 0.1, half of them is still
the initial 0 and 1 after seven epochs, and those of a running mean of weights belong to no network at all. Training
normalises by its own batches, so what is put in their place changes no step of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

__all__ = ["norms", "renew"]


def norms(network: nn.Module) -> list[_BatchNorm]:
    """Return the BatchNorms of a network that keep statistics.

    Example:
        >>> norms(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.LayerNorm(2)))
        [BatchNorm1d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)]
    """
    return [
        module for module in network.modules() if isinstance(module, _BatchNorm) and module.running_mean is not None
    ]


@torch.no_grad()
def renew(network: nn.Module, passes: Iterable[tuple[int, Any]]) -> None:
    r"""Replace the statistics of every BatchNorm by their means over passes as in training, dropout on:
    :math:`\mu = \frac{1}{P} \sum_p \mu_p`, :math:`\sigma^2 = \frac{1}{P} \sum_p \sigma_p^2` (unbiased, as torch tracks
    them).

    Each pass goes through statistics of its own, as a step does, so none depends on what was there before. Networks
    without BatchNorm are left alone and draw no batch.

    Args:
        network: its mode is as before afterwards.
        passes: P seeds of dropout, each with what the network is called with.

    Example:
        >>> norm = nn.BatchNorm1d(1)
        >>> renew(norm, [(0, torch.tensor([[1.0], [3.0]])), (1, torch.tensor([[5.0], [9.0]]))])
        >>> norm.running_mean, norm.running_var
        (tensor([4.5000]), tensor([5.]))
    """
    found = norms(network)
    if not found:
        return
    modes = [(module, module.training) for module in network.modules()]
    paces = [norm.momentum for norm in found]
    try:
        network.train()
        for norm in found:
            norm.reset_running_stats()
            norm.momentum = None  # a mean that gives every pass the same weight
        for seed, data in passes:
            torch.manual_seed(seed)
            network(data)
    finally:
        for norm, pace in zip(found, paces, strict=True):
            norm.momentum = pace
        for module, mode in modes:
            module.training = mode
