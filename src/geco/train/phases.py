"""Training in two phases: some epochs of a network's local part alone, then all of it from the best of those on.

Of the first phase the best epoch is kept as it stood, optimiser and all, apart from the checkpoints; so a run that is
killed in either phase goes on bit by bit.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from torch import nn, optim

from geco.distributed.runtime import ALONE, Workers
from geco.store import Entry
from geco.train import checkpoint
from geco.train.checkpoint import State
from geco.train.config import Config

__all__ = ["LocalPhase"]

logger = logging.getLogger(__name__)


class LocalPhase:
    """The local phase of a run, and what its best epoch left.

    Args:
        config: of the run; ``model.local_epochs`` is how long the phase is, 0 for none.
        folder: where the best epoch is kept; None is memory.
    """

    def __init__(self, config: Config, folder: Path | None) -> None:
        self.epochs, self.folder = config.model.local_epochs, folder
        self._kept: Entry | None = None
        if self.epochs >= config.train.epochs:
            logger.warning(
                f"warning: --model.local-epochs {self.epochs} of --train.epochs {config.train.epochs}: the global part "
                "of the network is never trained"
            )

    def keep(
        self, state: State, models: dict[str, nn.Module], optimizer: optim.Optimizer, about: dict[str, Any]
    ) -> None:
        """Keep the best epoch so far, if it is one of the phase."""
        if state.epoch > self.epochs:
            return
        if self.folder is None:
            self._kept = checkpoint.entry_of(state, models, optimizer, about)
        else:
            checkpoint.save(self.folder, state, models, optimizer, about, keep=1)

    def ends(self, state: State) -> bool:
        """Tell whether the phase is over and the next one about to begin."""
        return bool(self.epochs) and (state.epoch, state.batch) == (self.epochs, 0)

    def reload(self, models: dict[str, nn.Module], optimizer: optim.Optimizer, workers: Workers = ALONE) -> None:
        """Put weights and optimiser of the phase's best epoch, as the first process kept it, into place."""
        folder = self.folder
        found = workers.entry(lambda: self._kept if folder is None else checkpoint.newest(folder))
        assert found is not None, "the last epoch of the phase is judged, so one is the best"
        best = checkpoint.restore(found, models, optimizer)
        logger.info(f"the global part begins after epoch {self.epochs}, from the local one's best, epoch {best.epoch}")

    def waited(self, state: State) -> int:
        """Return the epochs since the best validation score, or since the second phase began if that is less."""
        since = int(state.best["epoch"])
        return state.epoch - (max(since, self.epochs) if state.epoch > self.epochs else since)
