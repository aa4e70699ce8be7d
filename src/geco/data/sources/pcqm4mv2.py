"""PCQM4Mv2 as OGB-LSC publishes it: ``raw/data.csv.gz`` with columns smiles and homolumogap, and ``split_dict.pt``.

The labels of OGB's two test sets are not public, so those molecules have no value here and are in no part of the split.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from geco.data.dataset import GraphDataset, Split
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_csv, read_torch
from geco.data.sources._many_graphs import from_smiles, parts_of
from geco.errors import DataError

__all__ = ["read"]

TARGET = "homolumogap"  # in electronvolts
VALID = 150_000  # training molecules that become the validation set
SEED = 42  # of their choice


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return PCQM4Mv2, split as GraphGPS does.

    Args:
        folder: with ``raw/data.csv.gz`` and ``split_dict.pt``.
        spec: of the data set.
    """
    path = folder / "raw" / "data.csv.gz"
    table = read_csv(path, header=0, columns=["smiles", TARGET])
    y = table[[TARGET]].to_numpy(np.float32)
    split = _split(folder / "split_dict.pt", y)
    return from_smiles(spec, path, table["smiles"].tolist(), y, split, [TARGET])


def _split(path: Path, y: np.ndarray) -> Split:
    """Return training molecules without those drawn for validation, those, and OGB's validation set."""
    train, test = parts_of(read_torch(path), ("train", "valid"), len(y), path)
    order = torch.from_numpy(np.random.default_rng(SEED).permutation(train.numpy()))
    if len(order) <= VALID:
        raise DataError(
            f"{path} has {len(order):,} training molecules, {VALID:,} of them are wanted for validation alone"
        )
    missing = np.isnan(y[torch.cat([order, test]).numpy()]).sum()
    if missing:
        raise DataError(
            f"{path} puts {missing:,} molecules without a {TARGET} into training or validation; it may be of another "
            "version"
        )
    return Split(order[VALID:], order[:VALID], test)
