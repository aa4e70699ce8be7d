"""Peptides-func and Peptides-struct from LRGB's own tables of SMILES, with its split, featurised here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from geco.data.dataset import GraphDataset, Split
from geco.data.registry.spec import Spec
from geco.data.safe.readers import read_csv, read_pickle
from geco.data.sources._many_graphs import from_smiles, known, parts_of
from geco.errors import DataError

__all__ = ["read"]

SHAPES = (
    *(f"Inertia_{what}_{axis}" for what in ("mass", "valence") for axis in "abc"),
    *(f"length_{axis}" for axis in "abc"),
    "Spherocity",
    "Plane_best_fit",
)


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return Peptides-func or Peptides-struct.

    Args:
        folder: with the table, or with it in ``raw`` as LRGB's code puts it, and the split.
        spec: of the data set.
    """
    table, split = _files(folder, spec)
    smiles, y, names = (_functions if spec.target == "labels" else _shapes)(table, spec)
    parts = parts_of(read_pickle(split), ("train", "val", "test"), len(smiles), split)
    return from_smiles(spec, table, smiles, y, Split(*parts), names)


def _files(folder: Path, spec: Spec) -> tuple[Path, Path]:
    name = "peptide_multi_class_dataset.csv.gz" if spec.target == "labels" else "peptide_structure_dataset.csv.gz"
    split = "splits_random_stratified_peptide" + ("" if spec.target == "labels" else "_structure") + ".pickle"
    below = folder / "raw" / name
    return below if below.is_file() else folder / name, folder / split


def _functions(path: Path, spec: Spec) -> tuple[list[str], np.ndarray, tuple[str, ...]]:
    """Return SMILES and labels; the labels of a peptide are one cell, ``[0, 1, ...]``."""
    table = read_csv(path, header=0, columns=["smiles", "labels"])
    rows = []
    for number, cell in enumerate(table["labels"], 1):
        try:
            rows.append(np.array(json.loads(cell), np.float32).reshape(spec.num_targets))
        except (TypeError, ValueError):
            raise DataError(
                f"{path}: row {number}: labels are a list of {spec.num_targets} numbers, got {cell!r}"
            ) from None
    return table["smiles"].tolist(), known(np.array(rows).reshape(-1, spec.num_targets), path), ()


def _shapes(path: Path, spec: Spec) -> tuple[list[str], np.ndarray, tuple[str, ...]]:
    """Return SMILES and values, each value scaled to mean 0 and deviation 1 over all peptides, as LRGB publishes
    them.
    """
    table = read_csv(path, header=0, columns=["smiles", *SHAPES])
    y = table[[*SHAPES]].to_numpy(np.float64)
    if not np.isfinite(y).all():
        row, column = np.argwhere(~np.isfinite(y))[0]
        raise DataError(f"{path}: row {row + 1}: {SHAPES[column]} is {y[row, column]}")
    return table["smiles"].tolist(), (y - y.mean(0)) / y.std(0, ddof=1), SHAPES
