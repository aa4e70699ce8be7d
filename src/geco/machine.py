"""What machine this is: its memory, its signals, and what else a reader needs to judge a number."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

__all__ = ["STOPS", "environment", "reset_peak", "resident"]

# What asks a program to stop: Ctrl-C, a plain kill, and what batch systems send before the end (not on Windows).
STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1") if hasattr(signal, name))


def reset_peak() -> None:
    """Start a new count of the process's peak memory (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def resident(field: str = "VmHWM") -> int:
    """Return the process's peak (``VmHWM``) or present (``VmRSS``) resident memory in bytes (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}; memory is measured on Linux only")


def environment() -> dict[str, Any]:
    """Return what a reader needs to judge the numbers."""
    import torch
    import torch_geometric

    try:
        here = Path(__file__).parent
        commit = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    return {
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "commit": commit,
        "date": time.strftime("%Y-%m-%d"),
    }
