from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
import torch

from geco.data.load_dataset import load
from geco.data.registry import find
from geco.data.sources import molhiv_csv
from geco.errors import DataError
from tests.data.sources.comparison import assert_equals_bonds, assert_graphs

SMILES = ["CCO", "O=C1O[Al]23(OC1=O)(OC(=O)C(=O)O2)OC(=O)C(=O)O3", "c1ccccc1", "[Na+].[Cl-]"]
PARTS = {"train": [2, 0], "valid": [3], "test": [1]}
SPEC = find("ogbg-molhiv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ogbg_molhiv"
    (folder / "split" / "scaffold").mkdir(parents=True)
    table = pd.DataFrame({"HIV_active": [0, 1, 0, 0], "smiles": SMILES, "mol_id": None})
    table.to_csv(folder / "hiv_mol.csv.zip", index=False, compression={"method": "zip", "archive_name": "hiv_mol.csv"})
    for part, rows in PARTS.items():
        pd.Series(rows).to_csv(folder / "split" / "scaffold" / f"{part}.csv.gz", index=False, header=False)
    return folder


def test_read(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    dataset = molhiv_csv.read(folder, SPEC)
    assert_graphs(dataset, SMILES)
    assert dataset.arrays["graph/y"].tolist() == [[0], [1], [0], [0]]
    assert dataset.arrays["graph/y"].dtype == torch.uint8
    assert dataset.split().train.tolist() == [2, 0]
    assert dataset.info.names == ("HIV_active",)
    assert "1 of 4 molecules" in caplog.text


def test_by_name_below_ogbs_folder(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    assert_graphs(load("ogbg-molhiv", tmp_path, offline=True), SMILES)


@pytest.mark.parametrize("name", ["hiv_mol.csv.zip", "split/scaffold/train.csv.gz", "split/scaffold/test.csv.gz"])
@pytest.mark.parametrize("content", [None, b"", b"<html>"])
def test_missing_and_wrong_files_are_named(folder: Path, name: str, content: bytes | None) -> None:
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        molhiv_csv.read(folder, SPEC)


def test_a_split_of_another_data_set_is_refused(folder: Path) -> None:
    pd.Series([9]).to_csv(folder / "split" / "scaffold" / "test.csv.gz", index=False, header=False)
    with pytest.raises(DataError, match="test must hold numbers of graphs from 0 to 3, it has 9 to 9"):
        molhiv_csv.read(folder, SPEC)


@pytest.mark.real
@pytest.mark.timeout(1800)
def test_real_equals_the_featurised_file(caplog: pytest.LogCaptureFixture) -> None:
    """The seven molecules that RDKit does not sanitise are kept, and equal too."""
    folder = Path(os.environ["GECO_DATA"]) / "ogbg-molhiv"
    dataset = molhiv_csv.read(folder, SPEC)
    assert len(dataset) == 41_127
    assert "7 of 41,127 molecules" in caplog.text
    assert_equals_bonds(dataset, folder / "molhiv_ogb.npz", ("split_train", "split_valid", "split_test"))
