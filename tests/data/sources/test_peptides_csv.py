from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from geco.data.load_dataset import load
from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES
from geco.data.registry import find
from geco.data.sources import peptides_csv
from geco.errors import DataError
from tests.data.sources.comparison import assert_equals_bonds, assert_graphs

SMILES = ["CC(=O)N[C@@H](C)C(N)=O", "NCC(=O)O", "C[C@H](N)C(=O)NCC(=O)O", "C", "OC(=O)[C@@H]1CCCN1"]
SPLIT = {"train": np.array([4, 0, 2]), "val": np.array([1]), "test": np.array([3])}
LABELS = [[(i + j) % 2 for j in range(10)] for i in range(5)]


def write_split(path: Path, split: object = SPLIT) -> None:
    path.write_bytes(pickle.dumps(split))


@pytest.fixture
def func(tmp_path: Path) -> Path:
    table = {
        "smiles": SMILES,
        "peptide_seq": list("abcde"),
        "labels": [str(row) for row in LABELS],
        "identifier": range(5),
    }
    pd.DataFrame(table).to_csv(tmp_path / "peptide_multi_class_dataset.csv.gz")
    write_split(tmp_path / "splits_random_stratified_peptide.pickle")
    return tmp_path


@pytest.fixture
def struct(tmp_path: Path) -> Path:
    values = np.random.default_rng(0).normal(5, 3, (5, 11))
    table = pd.DataFrame(values, columns=list(peptides_csv.SHAPES)).assign(smiles=SMILES, self_dist_matrix="x")
    table.to_csv(tmp_path / "peptide_structure_dataset.csv.gz", index=False)
    write_split(tmp_path / "splits_random_stratified_peptide_structure.pickle")
    return tmp_path


def test_func(func: Path) -> None:
    dataset = peptides_csv.read(func, find("peptides-func"))
    assert_graphs(dataset, SMILES)
    assert dataset.arrays["graph/y"].tolist() == LABELS
    assert dataset.arrays["graph/y"].dtype == torch.uint8
    split = dataset.split()
    assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == ([4, 0, 2], [1], [3])
    assert (dataset.info.categories, dataset.info.edge_categories) == (ATOM_CATEGORIES, BOND_CATEGORIES)
    assert dataset.info.num_targets == 10


def test_struct_is_standardised_over_all_peptides(struct: Path) -> None:
    dataset = peptides_csv.read(struct, find("peptides-struct"))
    assert_graphs(dataset, SMILES)
    table = pd.read_csv(struct / "peptide_structure_dataset.csv.gz")[list(peptides_csv.SHAPES)]
    wanted = table.apply(lambda x: (x - x.mean()) / x.std(), axis=0).to_numpy()  # as LRGB computes them
    np.testing.assert_allclose(dataset.arrays["graph/y"].numpy(), wanted, rtol=1e-6, atol=1e-6)
    assert dataset.arrays["graph/y"].dtype == torch.float32
    assert dataset.info.names == peptides_csv.SHAPES
    assert len(dataset.info.names) == 11


def test_table_below_raw(func: Path) -> None:
    (func / "raw").mkdir()
    name = "peptide_multi_class_dataset.csv.gz"
    (func / name).rename(func / "raw" / name)
    assert len(peptides_csv.read(func, find("peptides-func"))) == 5


def test_by_name(func: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tmp_path_factory.mktemp("data")
    func.rename(base / "peptides-func")
    monkeypatch.setenv("GECO_CACHE", str(tmp_path_factory.mktemp("cache")))
    assert_graphs(load("peptides-func", base, offline=True), SMILES)


@pytest.mark.parametrize("name", ["peptide_multi_class_dataset.csv.gz", "splits_random_stratified_peptide.pickle"])
@pytest.mark.parametrize("content", [None, b"", b"<html>"])
def test_missing_and_wrong_files_are_named(func: Path, name: str, content: bytes | None) -> None:
    (func / name).unlink() if content is None else (func / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        peptides_csv.read(func, find("peptides-func"))


@pytest.mark.parametrize(
    ("column", "row", "value", "wanted"),
    [
        ("labels", 1, "[0, 1]", "row 2: labels are a list of 10 numbers"),
        ("labels", 2, "__import__('os')", "row 3: labels"),
        ("labels", 3, str([0] * 9 + [7]), "row 4, column 10: a label is 0, 1 or missing, got 7"),
        ("smiles", 4, "C1CC", "row 5: 'C1CC'"),
    ],
)
def test_wrong_cells_are_named(func: Path, column: str, row: int, value: str, wanted: str) -> None:
    path = func / "peptide_multi_class_dataset.csv.gz"
    table = pd.read_csv(path)
    table.loc[row, column] = value
    table.to_csv(path, index=False)
    with pytest.raises(DataError, match=wanted) as caught:
        peptides_csv.read(func, find("peptides-func"))
    assert path.name in str(caught.value)


def test_a_missing_column_is_named(func: Path) -> None:
    path = func / "peptide_multi_class_dataset.csv.gz"
    pd.read_csv(path).drop(columns="labels").to_csv(path, index=False)
    with pytest.raises(DataError, match=r"csv\.gz.*labels"):
        peptides_csv.read(func, find("peptides-func"))


def test_a_missing_value_is_named(struct: Path) -> None:
    path = struct / "peptide_structure_dataset.csv.gz"
    table = pd.read_csv(path)
    table.loc[2, "length_b"] = np.nan
    table.to_csv(path, index=False)
    with pytest.raises(DataError, match="row 3: length_b is nan"):
        peptides_csv.read(struct, find("peptides-struct"))


@pytest.mark.parametrize(
    "split", [{"train": np.arange(5)}, [1, 2], {**SPLIT, "test": np.array([5])}, {**SPLIT, "val": np.array([-1])}]
)
def test_a_wrong_split_is_named(func: Path, split: object) -> None:
    write_split(func / "splits_random_stratified_peptide.pickle", split)
    with pytest.raises(DataError, match=r"splits_random_stratified_peptide\.pickle"):
        peptides_csv.read(func, find("peptides-func"))


@pytest.mark.real
@pytest.mark.timeout(1800)
def test_real_equals_the_featurised_file() -> None:
    folder = Path(os.environ["GECO_DATA"]) / "peptides-func"
    dataset = peptides_csv.read(folder, find("peptides-func"))
    assert (len(dataset), dataset.num_nodes, dataset.num_edges) == (15_535, 2_344_859, 4_773_974)
    assert_equals_bonds(dataset, folder / "peptides_func_ogb.npz", ("split_train", "split_val", "split_test"))
    labels = pd.read_csv(folder / "peptide_multi_class_dataset.csv.gz")["labels"]
    assert dataset.arrays["graph/y"].tolist() == [json.loads(row) for row in labels]
