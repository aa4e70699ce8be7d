"""Parameter groups and the course of the learning rate, a pure function of where training is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn, optim
from torch.optim.swa_utils import AveragedModel

from geco.nn.filters.base import Filter
from geco.train.config import OptimConfig

__all__ = ["averaged", "make_optimizer", "rate", "set_rate"]


def make_optimizer(model: nn.Module, config: OptimConfig) -> optim.Optimizer:
    """Return the optimiser with its groups: matrices, which decay; the rest; and GECO's filters, with a rate of their
    own.

    Example:
        >>> groups = make_optimizer(nn.Linear(2, 3), OptimConfig(lr=0.1)).param_groups
        >>> [(len(group["params"]), group["weight_decay"]) for group in groups]
        [(1, 0.0005), (1, 0.0)]
    """
    filters = {id(p) for m in model.modules() if isinstance(m, Filter) for p in m.parameters()}
    rest = [p for p in model.parameters() if id(p) not in filters and p.requires_grad]
    groups = [
        {"params": [p for p in rest if p.dim() >= 2], "weight_decay": config.weight_decay, "scale": 1.0},
        {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0, "scale": 1.0},
        {"params": [p for p in model.parameters() if id(p) in filters], "weight_decay": 0.0, "scale": config.filter_lr},
    ]
    kind = optim.AdamW if config.name == "adamw" else optim.Adam
    return kind([group for group in groups if group["params"]], lr=config.lr)


def rate(config: OptimConfig, epoch: float, epochs: int, waits: Sequence[int] = ()) -> float:
    """Return the learning rate as a multiple of the configured one.

    Args:
        config: schedule and warm-up.
        epoch: epochs done, with a fraction in the middle of one.
        epochs: of the whole run.
        waits: for ``plateau``, epochs without a better validation score at each validation so far.

    Example:
        >>> [round(rate(OptimConfig(warmup=2), e, 10), 3) for e in (0, 1, 2, 6, 10)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if epoch < config.warmup:
        return epoch / config.warmup
    done = (epoch - config.warmup) / max(1, epochs - config.warmup)
    if config.schedule == "cosine":
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    if config.schedule == "linear":
        return max(0.0, 1 - done)
    if config.schedule == "plateau":
        return 0.5 ** sum(1 for wait in waits if wait and wait % config.plateau_patience == 0)
    return 1.0


def set_rate(optimizer: optim.Optimizer, config: OptimConfig, factor: float) -> None:
    """Give every group its learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = config.lr * factor * group["scale"]


def averaged(model: nn.Module, decay: float) -> AveragedModel:
    r"""Return the running mean of a model's weights and of what its norms have seen,
    :math:`\bar w \leftarrow d\,\bar w + (1 - d)\,w` at each ``update_parameters(model)``.

    The first updates have a smaller d, :math:`(1 + n) / (10 + n)` at the n-th, so that the start is soon forgotten.

    Example:
        >>> model = nn.Linear(1, 1)
        >>> mean = averaged(model, 0.5)
        >>> mean.update_parameters(model)
        >>> bool(mean.module.weight == model.weight)
        True
    """

    @torch.no_grad()
    def update(means: Sequence[Tensor], values: Sequence[Tensor], count: Tensor | int) -> None:
        d = min(decay, (1 + int(count)) / (10 + int(count)))
        for mean, value in zip(means, values, strict=True):
            if mean.is_floating_point():
                mean.lerp_(value, 1 - d)
            else:  # a count of batches
                mean.copy_(value)

    return AveragedModel(model, multi_avg_fn=update, use_buffers=True)
