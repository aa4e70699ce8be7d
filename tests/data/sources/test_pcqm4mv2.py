from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from geco.data.load_dataset import load
from geco.data.registry import find
from geco.data.sources import pcqm4mv2
from geco.errors import DataError
from tests.data.sources.comparison import assert_graphs
from tests.data.sources.layouts import PCQM_GAPS, PCQM_SMILES, PCQM_SPLIT, write_pcqm4mv2

SPEC = find("pcqm4mv2")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three molecules for validation in place of 150,000."""
    assert pcqm4mv2.VALID == 150_000
    monkeypatch.setattr(pcqm4mv2, "VALID", 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pcqm4m-v2"
    write_pcqm4mv2(folder)
    return folder


def test_read(folder: Path) -> None:
    dataset = pcqm4mv2.read(folder, SPEC)
    assert_graphs(dataset, PCQM_SMILES)
    np.testing.assert_array_equal(dataset.arrays["graph/y"], PCQM_GAPS[:, None].astype(np.float32))
    order = np.random.default_rng(42).permutation(np.arange(8))
    split = dataset.split()
    assert split.valid.tolist() == order[:3].tolist()
    assert split.train.tolist() == order[3:].tolist()
    assert split.test.tolist() == [9, 8]


def test_a_split_of_tensors(folder: Path) -> None:
    wanted = pcqm4mv2.read(folder, SPEC).fingerprint
    torch.save({name: torch.from_numpy(part) for name, part in PCQM_SPLIT.items()}, folder / "split_dict.pt")
    assert pcqm4mv2.read(folder, SPEC).fingerprint == wanted


def test_by_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    assert_graphs(load("pcqm4mv2", tmp_path, offline=True), PCQM_SMILES)


@pytest.mark.parametrize("name", ["raw/data.csv.gz", "split_dict.pt"])
@pytest.mark.parametrize("content", [None, b"", b"<html>"])
def test_missing_and_wrong_files_are_named(folder: Path, name: str, content: bytes | None) -> None:
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        pcqm4mv2.read(folder, SPEC)


@pytest.mark.parametrize(
    ("split", "wanted"),
    [
        (
            {"train": np.arange(3), "valid": np.array([8])},
            "3 training molecules, 3 of them are wanted for validation alone",
        ),
        ({"train": np.arange(8)}, "a split with train, valid is wanted, got train"),
        ({**PCQM_SPLIT, "valid": np.array([12])}, "valid must hold numbers of graphs from 0 to 11"),
        ({**PCQM_SPLIT, "valid": np.array([8, 10])}, "1 molecules without a homolumogap"),
        ({**PCQM_SPLIT, "valid": np.array([0.5])}, "valid must hold numbers of graphs"),
    ],
)
def test_a_wrong_split_is_refused(folder: Path, split: dict[str, np.ndarray], wanted: str) -> None:
    torch.save(split, folder / "split_dict.pt")
    with pytest.raises(DataError, match=wanted) as caught:
        pcqm4mv2.read(folder, SPEC)
    assert "split_dict.pt" in str(caught.value)


def test_a_wrong_molecule_is_named(folder: Path) -> None:
    path = folder / "raw" / "data.csv.gz"
    table = pd.read_csv(path)
    table.loc[6, "smiles"] = "C1CC"
    table.to_csv(path, index=False)
    with pytest.raises(DataError, match=r"data\.csv\.gz: row 7: 'C1CC'"):
        pcqm4mv2.read(folder, SPEC)
