"""Where a run stands, on disk: weights, optimiser and history, whole, checked, at least two of them.

Nothing of a random generator is kept: batches, node orders and dropout are pure functions of (seed, epoch, step).
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim

from geco.console import say
from geco.errors import CheckpointError
from geco.store import Entry, read_entry, sweep, write_entry

__all__ = ["State", "newest", "restore", "save"]

FORMAT = 1


@dataclass
class State:
    """Where training is: the next batch, what the epoch's loss has added up to, and what validation has seen."""

    epoch: int = 0
    batch: int = 0
    loss_sum: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    best: dict[str, Any] = field(default_factory=dict)
    finished: bool = False

    @property
    def waited(self) -> int:
        """Epochs since the best validation score."""
        return self.waits[-1] if self.waits else 0


def save(folder: Path, state: State, model: nn.Module, optimizer: optim.Optimizer, about: dict[str, Any], keep: int) -> None:
    """Write a checkpoint, then remove all but the newest ``keep``."""
    arrays = {f"model/{name}": value for name, value in model.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        arrays |= {f"optim/{number}/{key}": torch.as_tensor(value) for key, value in values.items()}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{state.epoch:06d}-{state.batch:06d}"
    own = {name: value.detach().clone() for name, value in arrays.items()}  # safetensors refuses shared memory
    write_entry(path, Entry(own, {"format": FORMAT, "state": asdict(state), **about}))
    for old in _found(folder)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)


def newest(folder: Path) -> Entry | None:
    """Return the newest sound checkpoint, saying which damaged ones it passed over; None if there is none at all."""
    for path in folder.glob("*"):
        sweep(path)
    found = _found(folder)
    for path in reversed(found):
        try:
            return read_entry(path)
        except ValueError as error:
            say(f"{error}; going back to the one before it")
    if found:
        raise CheckpointError(f"all {len(found)} checkpoints in {folder} are damaged; start anew with another --out")
    return None


def restore(entry: Entry, model: nn.Module, optimizer: optim.Optimizer) -> State:
    """Put a checkpoint's weights and optimiser into place and return where training was."""
    if entry.about.get("format") != FORMAT:
        raise CheckpointError(f"the checkpoint has format {entry.about.get('format')}, this version reads format {FORMAT}")
    try:
        model.load_state_dict(_below(entry, "model/"))
    except RuntimeError as error:
        raise CheckpointError(f"the checkpoint does not fit the model: {error}") from error
    kept: dict[int, dict[str, Tensor]] = {}
    for name, value in _below(entry, "optim/").items():
        number, _, key = name.partition("/")
        kept.setdefault(int(number), {})[key] = value
    optimizer.load_state_dict({"state": kept, "param_groups": optimizer.state_dict()["param_groups"]})
    return State(**entry.about["state"])


def _below(entry: Entry, prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in entry.arrays.items() if name.startswith(prefix)}


def _found(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir())
