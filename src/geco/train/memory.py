"""Whether a run can fit into memory at all, before it starts.

The need is a lower bound, so a run that is refused would certainly have failed; one that is not may still fail.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import torch

from geco.errors import ResourceError
from geco.machine import resident
from geco.train.config import Config

__all__ = ["available", "check_memory", "least"]


def available() -> int | None:
    """Return how many bytes this process can still take: of the machine, its control group and its own limit; None if
    unknown.

    Example:
        >>> (available() or 1) > 0
        True
    """
    found = []
    with contextlib.suppress(OSError, KeyError, ValueError):
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        found.append(sum(int(lines[name].split()[0]) * 1024 for name in ("MemAvailable", "SwapFree")))
    with contextlib.suppress(OSError, ValueError):  # the control group has no number where there is no limit
        group = Path("/sys/fs/cgroup")
        found.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    with contextlib.suppress(ImportError, OSError):  # Windows, and systems that do not tell what a process has
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            found.append(limit - resident("VmSize"))
    return max(0, min(found)) if found else None


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
    free = (
        torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else available() if device.type == "cpu" else None
    )
    if free is not None and need > free:
        raise ResourceError(
            f"training takes over {need / 2**30:.3g} GiB of memory beside its data, {free / 2**30:.3g} GiB are there; "
            "lower "
            "--model.hidden, --model.layers or --data.batch-size"
        )
