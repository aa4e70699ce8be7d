"""Two values in units 80 times apart, polar surface (TPSA) and logP of molhiv's molecules, computed by RDKit."""

from __future__ import annotations

import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
import torch

from geco.data.dataset import GraphDataset
from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions
from geco.train.build import encoded
from geco.train.config import Config, ModelConfig, TrainConfig
from geco.train.engine import Trainer
from geco.train.targets import targets

FILE = Path(os.environ.get("GECO_DATA", "")) / "ogbg-molhiv" / "hiv_mol.csv.zip"
CONFIG = Config(model=ModelConfig("hybrid"), train=TrainConfig(epochs=30, threads=1))


def molecules(folder: Path, every: int) -> GraphDataset:
    """Return every so many-th molecule, split at random."""
    from rdkit.Chem import Descriptors, MolFromSmiles

    with zipfile.ZipFile(FILE) as archive, archive.open(archive.namelist()[0]) as file:
        smiles = [text for text in pandas.read_csv(file)["smiles"][::every] if MolFromSmiles(text) is not None]
    made = [MolFromSmiles(text) for text in smiles]
    columns = {"tpsa": map(Descriptors.TPSA, made), "logp": map(Descriptors.MolLogP, made)}
    pandas.DataFrame({"smiles": smiles, **columns}).to_csv(folder / "two.csv", index=False)
    return read_own(folder / "two.csv", OwnOptions(label=("tpsa", "logp"), task="values"))[0]


def by_hand(dataset: GraphDataset) -> tuple[GraphDataset, torch.Tensor]:
    """Return the data with targets of deviation 1, as one would make them, and the deviations."""
    std, mean = torch.std_mean(targets(dataset, dataset.split(0).train), 0)
    return dataset.attach("graph/y", (dataset.arrays["graph/y"] - mean) / std), std


def errors(trainer: Trainer) -> torch.Tensor:
    """Train, and return the mean absolute error of each target over the test part at the best epoch."""
    return torch.tensor([scores["mae"] for scores in trainer.fit()["targets"]["test"].values()])


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not FILE.is_file(), reason="needs ogbg-molhiv")
def test_both_are_learnt_as_well_as_scaled_by_hand(tmp_path: Path) -> None:
    every = int(os.environ.get("EVERY", "40"))
    dataset = encoded(molecules(tmp_path, every), CONFIG)
    ours, (scaled, std) = Trainer(CONFIG, dataset), by_hand(dataset)
    model = replace(CONFIG.model, targets="raw")
    theirs = Trainer(replace(CONFIG, model=model), scaled)
    found, wanted = errors(ours), errors(theirs) * std
    print(f"{len(dataset)} molecules: MAE {found.tolist()} here, {wanted.tolist()} by hand")
    assert bool((found <= 1.2 * wanted).all())
