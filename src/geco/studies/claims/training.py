"""One training of a study: its data as far as it is on disk, its width for a budget of weights, its figures."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from geco.data import load_dataset
from geco.data.dataset import GraphDataset
from geco.data.paths import raw_files, raw_folders
from geco.data.registry import DATASETS
from geco.errors import NumericalError
from geco.studies.claims.study import Result, Training
from geco.train.build import build, encoded
from geco.train.config import Config
from geco.train.engine import Trainer
from geco.train.record import read_seed

__all__ = ["absent", "dataset_of", "fitted", "partly", "train"]

KEPT = ("valid", "test", "epoch", "epochs", "metric", "parameters", "baseline")


def absent(training: Training, data_dir: Path | None) -> str:
    """Return why the data of a training cannot be read without a download, or nothing."""
    name = training.config.data.name
    if training.made is not None or name not in DATASETS or raw_files(DATASETS[name], data_dir) is not None:
        return ""
    places = ", ".join(map(str, raw_folders(DATASETS[name], data_dir)))
    return f"its files are not on disk (looked in {places}); `geco data prepare {name}` downloads them if it can"


def dataset_of(training: Training, data_dir: Path | None) -> GraphDataset:
    """Return the data of a training with its encodings, never downloaded."""
    config = training.config
    if training.made is not None:
        dataset = load_dataset.made(training.made)
    else:
        dataset = load_dataset.load(config.data.name, data_dir, offline=True)
    return encoded(partly(dataset, training.share, config.data.split), config)


def partly(dataset: GraphDataset, share: float, split: int = 0) -> GraphDataset:
    """Return a data set with a share of its training part, the same however often it is drawn.

    Example:
        >>> from geco.data.embedded.echo import echo
        >>> len(partly(echo(2, graphs=20), 0.25).split().train)
        4
    """
    if share >= 1:
        return dataset
    name = f"split/{split}/train"
    whole = dataset.arrays[name]
    drawn = torch.randperm(len(whole), generator=torch.Generator().manual_seed(0))[: max(1, int(share * len(whole)))]
    return replace(dataset, arrays={**dataset.arrays, name: whole[drawn.sort().values]})


def fitted(config: Config, dataset: GraphDataset, weights: int) -> Config:
    """Return a configuration of the width, a multiple of 4, whose network has nearest to so many weights.

    Example:
        >>> from geco.data.embedded.echo import echo
        >>> from geco.train.config import ModelConfig
        >>> fitted(Config(model=ModelConfig("gcn")), echo(2, graphs=20), 20_000).model.hidden
        60
    """
    if not weights:
        return config

    def count(quarter: int) -> int:
        wide = replace(config, model=replace(config.model, hidden=4 * quarter))
        return sum(p.numel() for p in build(wide, dataset).parameters())

    encoded = config.model.encoding_width * len(config.data.encodings) if config.model.join == "concat" else 0
    low = encoded // 4 + 1  # the narrowest that has room for the encodings
    high = 2 * low
    while count(high) < weights:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < weights else (low, middle)
    nearest = min((low, high), key=lambda quarter: abs(count(quarter) - weights))
    return replace(config, model=replace(config.model, hidden=4 * nearest))


def train(training: Training, dataset: GraphDataset, folder: Path) -> Result:
    """Train, or go on with what the folder holds, and return the figures; of a run that diverges, why."""
    config = fitted(training.config, dataset, training.weights)
    trainer = Trainer(config, dataset, folder, resume=True)
    try:
        found = trainer.fit()
    except NumericalError as error:
        return {"failed": str(error)}
    after = {} if training.after is None else training.after(trainer)
    return {**{key: found[key] for key in KEPT}, "hidden": config.model.hidden, **_seconds(folder), **after}


def _seconds(folder: Path) -> dict[str, Any]:
    """Return the seconds of an epoch and of all, of every session that worked on the run."""
    seed = read_seed(folder)
    took = seed.seconds("train")
    return {
        "epoch_seconds": round(statistics.median(took), 4),
        "seconds": round(sum([*took, *seed.seconds("evaluate")]), 2),
    }
