"""The weights of another run as a start: those that fit by name and shape."""

from __future__ import annotations

import logging
from pathlib import Path

from geco.errors import CheckpointError
from geco.nn.network.network import Network
from geco.train.trained_run import load_run, seed_folders

__all__ = ["start_from"]

logger = logging.getLogger(__name__)


def start_from(network: Network, run: Path, seed: int) -> None:
    """Give a network the weights of a run's best epoch that fit it, and log which of its own stay as initialised.

    How features are scaled comes with the weights; the units of targets are those of the data at hand.

    Args:
        network: as it was built.
        run: folder of `geco train`; of several seeds the same one is taken, else the first.
        seed: of this run.
    """
    folders = seed_folders(run)
    folder = next((path for path in folders if path.name == f"seed-{seed}"), folders[0])
    mine, theirs = network.state_dict(), load_run(folder).network.state_dict()
    fit = {
        name: value
        for name, value in theirs.items()
        if name in mine and mine[name].shape == value.shape and not name.startswith("units.")
    }
    weights = dict(network.named_parameters())
    fresh = [f"{name} {tuple(value.shape)}" for name, value in weights.items() if name not in fit]
    if not any(value.dim() > 1 for name, value in weights.items() if name in fit):  # a bias may fit by chance
        raise CheckpointError(
            f"--init-from {run}: none of its weights fits this network by name and shape; give the settings of "
            f"{folder / 'config.toml'}, say by --config, or leave --init-from out"
        )
    network.load_state_dict({**mine, **fit})
    rest = f"; freshly initialised: {', '.join(fresh)}" if fresh else ""
    logger.info(f"{len(weights) - len(fresh)} of {len(weights)} weights are those of {folder}{rest}")
