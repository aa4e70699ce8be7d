"""ogbg-molhiv from OGB's mapping table: ``hiv_mol.csv.zip`` with columns HIV_active and smiles, and OGB's scaffold
split.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geco.data.dataset import GraphDataset
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_csv
from geco.data.sources._many_graphs import from_smiles, known, read_split

__all__ = ["read"]

TARGET = "HIV_active"


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return ogbg-molhiv, featurised here.

    Args:
        folder: with ``hiv_mol.csv.zip`` and ``split/scaffold``.
        spec: of the data set.
    """
    path = folder / "hiv_mol.csv.zip"
    table = read_csv(path, header=0, columns=[TARGET, "smiles"])
    split = read_split(folder / "split" / "scaffold", len(table))
    y = known(table[[TARGET]].to_numpy(np.float32), path)
    return from_smiles(spec, path, table["smiles"].tolist(), y, split, [TARGET])
