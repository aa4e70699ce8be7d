"""Whether a run can fit into memory at all, before it starts, and what it took in the end.

The need is a lower bound, so a run that is refused would certainly have failed; one that is not may still fail.
"""

from __future__ import annotations

import torch

from geco.errors import ResourceError
from geco.machine import available_memory, peak_memory
from geco.train.config import Config

__all__ = ["check_memory", "least", "peak"]


def least(config: Config, columns: int, nodes: float) -> int:
    """Return fewer bytes than training any of the networks takes beyond the data.

    Args:
        config: width, depth, precision and whether there is a second pass.
        columns: of the features. The first layer has a weight for each and each channel, the others one for each pair
            of channels; a weight has a gradient and two moments.
        nodes: in a step. Every layer keeps two rows or more of each until the backward pass, of both passes if there
            are two.

    Example:
        >>> least(Config(), columns=0, nodes=1000) == 16 * 64**2 + 1000 * 2 * 2 * 64 * 4
        True
    """
    width, layers, item = config.model.hidden, config.model.layers, 2 if config.train.amp == "bf16" else 4
    passes = 2 if config.train.consistency else 1
    return 16 * width * (columns + (layers - 1) * width) + int(passes * nodes * layers * 2 * width * item)


def check_memory(config: Config, columns: int, nodes: float, device: torch.device) -> None:
    """Refuse what cannot fit."""
    need = least(config, columns, nodes)
    free = None
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
    elif device.type == "cpu":
        free = available_memory()
    if free is not None and need > free:
        raise ResourceError(
            f"training takes over {need / 2**30:.3g} GiB of memory beside its data, {free / 2**30:.3g} GiB are there; "
            "lower --model.hidden, --model.layers or --data.batch-size"
        )


def peak(device: torch.device) -> int | None:
    """Return the peak memory so far in bytes: of the GPU if it trains there, else of the process; None if unknown."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else peak_memory()
