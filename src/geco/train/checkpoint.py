"""Where a run stands, on disk: weights, optimiser and history, whole, checked, at least two of them; and its best
weights.

Nothing of a random generator is kept: batches, node orders and dropout are pure functions of (seed, epoch, step).
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim

from geco import __version__
from geco.errors import CheckpointError
from geco.nn.filters.base import Filter
from geco.store import Entry, read_entry, sweep, write_entry
from geco.train.finite_checks import check_weights

__all__ = ["State", "best_of", "check_format", "entry_of", "newest", "restore", "save", "save_best"]

logger = logging.getLogger(__name__)

FORMAT = 4  # of the network's arguments too: see `geco.nn.pretrained.FORMAT`


@dataclass
class State:
    """Where training is: the next batch, what loss and gradient norm of the epoch have added up to, and what validation
    has seen.
    """

    epoch: int = 0
    batch: int = 0
    loss_sum: float = 0.0
    norm_sum: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    best: dict[str, Any] = field(default_factory=dict)

    @property
    def waited(self) -> int:
        """Epochs since the best validation score."""
        return self.waits[-1] if self.waits else 0


def save(
    folder: Path,
    state: State,
    models: dict[str, nn.Module],
    optimizer: optim.Optimizer,
    about: dict[str, Any],
    keep: int,
) -> None:
    """Write a checkpoint, then remove all but the newest ``keep``; weights that are not finite are refused."""
    entry = entry_of(state, models, optimizer, about)
    folder.mkdir(exist_ok=True)
    write_entry(folder / f"{state.epoch:06d}-{state.batch:06d}", entry)
    for old in _found(folder)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)


def entry_of(state: State, models: dict[str, nn.Module], optimizer: optim.Optimizer, about: dict[str, Any]) -> Entry:
    """Return a checkpoint, with arrays of its own."""
    arrays = {f"{which}/{name}": value for which, model in models.items() for name, value in model.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        arrays |= {f"optim/{number}/{key}": torch.as_tensor(value) for key, value in values.items()}
    return _entry(state, arrays, {"state": asdict(state), **about})


def save_best(path: Path, state: State, model: nn.Module, about: dict[str, Any]) -> None:
    """Write the weights that validate best in place of those before."""
    write_entry(path, best_of(state, model, about))


def best_of(state: State, model: nn.Module, about: dict[str, Any]) -> Entry:
    """Return the weights that validate best as they are kept, in memory or on disk."""
    found = _entry(state, model.state_dict(), {**about, **state.best})
    return Entry(found.arrays, json.loads(json.dumps(found.about)))


def _entry(state: State, arrays: dict[str, Tensor], about: dict[str, Any]) -> Entry:
    """Return arrays of their own; weights that are not finite are refused."""
    check_weights(arrays, f"epoch {state.epoch}, batch {state.batch}")
    own = {name: value.detach().clone() for name, value in arrays.items()}  # safetensors refuses shared memory
    return Entry(own, {"format": FORMAT, "geco": __version__, **about})


def newest(folder: Path) -> Entry | None:
    """Return the newest intact checkpoint, putting damaged ones aside with a warning; None if there is none at all."""
    for part in folder.glob(".*.part"):  # left by killed processes
        sweep(folder / re.sub(r"\.\w+(\.old)?\.part$", "", part.name[1:]))
    found = _found(folder)
    for path in reversed(found):
        try:
            return read_entry(path)
        except ValueError as error:
            logger.warning(f"{error}; going back to the one before it")
            os.replace(path, path.with_name(f"damaged-{path.name}"))
    if found or any(folder.glob("damaged-*")):
        raise CheckpointError(f"all checkpoints in {folder} are damaged; start again with another --out")
    return None


def restore(entry: Entry, models: dict[str, nn.Module], optimizer: optim.Optimizer) -> State:
    """Put a checkpoint's weights and optimiser into place and return where training was."""
    check_format(entry, "the checkpoint")
    if entry.about["format"] == 1 and any(isinstance(part, Filter) for part in models["model"].modules()):
        raise CheckpointError(
            "the checkpoint is from before filters could be chosen; go on with geco 0.1.0, or start again"
        )
    try:
        for which, model in models.items():
            model.load_state_dict(_below(entry, f"{which}/"))
    except RuntimeError as error:
        raise CheckpointError(f"the checkpoint does not fit the model: {error}") from error
    kept: dict[int, dict[str, Tensor]] = {}
    for name, value in _below(entry, "optim/").items():
        number, _, key = name.partition("/")
        kept.setdefault(int(number), {})[key] = value
    optimizer.load_state_dict({"state": kept, "param_groups": optimizer.state_dict()["param_groups"]})
    for weight, values in optimizer.state.items():
        if any(value.dim() and value.shape != weight.shape for value in values.values()):  # torch does not look
            raise CheckpointError(
                f"the checkpoint does not fit the model: the optimiser's arrays are not {tuple(weight.shape)}"
            )
    return State(**entry.about["state"])


def check_format(entry: Entry, what: str) -> None:
    """Refuse what another version of the format wrote."""
    found, version = entry.about.get("format"), entry.about.get("geco", "an unknown version")
    if found not in range(1, FORMAT + 1):
        reads = f"geco {__version__} reads formats 1 to {FORMAT}"
        raise CheckpointError(f"{what} has format {found}, written by geco {version}; {reads}: use that version")


def _below(entry: Entry, prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in entry.arrays.items() if name.startswith(prefix)}


def _found(folder: Path) -> list[Path]:
    """Return the checkpoints, oldest first."""
    found = [path for path in folder.glob("[0-9]*-*") if re.fullmatch(r"\d+-\d+", path.name)]
    return sorted(found, key=lambda path: tuple(map(int, path.name.split("-"))))
