"""Two values in units 80 times apart, polar surface (TPSA) and logP of molhiv's molecules, computed by RDKit: from
one's own CSV file by `geco data import` and `geco train`, beside the same with values of deviation 1 made by hand.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pandas
import pytest

from geco.cli.main import main

FILE = Path(os.environ.get("GECO_DATA", "")) / "ogbg-molhiv" / "hiv_mol.csv.zip"
NAMES = ["tpsa", "logp"]


def molecules(every: int) -> pandas.DataFrame:
    """Return every so many-th molecule with its values, and a split at random."""
    from rdkit.Chem import Descriptors, MolFromSmiles

    with zipfile.ZipFile(FILE) as archive, archive.open(archive.namelist()[0]) as file:
        smiles = [text for text in pandas.read_csv(file)["smiles"][::every] if MolFromSmiles(text) is not None]
    made = [MolFromSmiles(text) for text in smiles]
    values = {"tpsa": map(Descriptors.TPSA, made), "logp": map(Descriptors.MolLogP, made)}
    table = pandas.DataFrame({"smiles": smiles, **values})
    part = pandas.Series((["train"] * 8 + ["valid", "test"]) * len(table))[: len(table)]
    return table.assign(split=part.sample(frac=1, random_state=0).to_numpy())


def errors(table: pandas.DataFrame, name: str, folder: Path, *words: str) -> pandas.Series:
    """Import and train, and return the mean absolute error of each value over the test part at the best epoch."""
    table.to_csv(folder / f"{name}.csv", index=False)
    main(["data", "import", str(folder / f"{name}.csv"), "--name", name])
    train = ["train", name, "--model.name", "hybrid", "--train.epochs", "30", "--train.threads", "1", *words]
    main([*train, "--out", str(folder / f"run-{name}")])
    found = json.loads((folder / f"run-{name}" / "seed-0" / "result.json").read_text())["targets"]["test"]
    return pandas.Series({target: found[target]["mae"] for target in NAMES})


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not FILE.is_file(), reason="needs ogbg-molhiv")
def test_both_are_learnt_as_well_as_scaled_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    table = molecules(int(os.environ.get("EVERY", "40")))
    train = table[table["split"] == "train"][NAMES]
    by_hand = table.assign(**{name: (table[name] - train[name].mean()) / train[name].std() for name in NAMES})
    ours = errors(table, "ours", tmp_path)
    theirs = errors(by_hand, "by-hand", tmp_path, "--model.targets", "raw") * train.std()
    print(f"{len(table)} molecules: MAE {ours.to_dict()} here, {theirs.to_dict()} by hand")
    assert (ours <= 1.2 * theirs).all()
