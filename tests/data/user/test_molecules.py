"""Molecules of a user's CSV: graphs, targets with gaps, scaffold splits, and the line of what cannot be read."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from geco.data.user.read import ids, read_new, read_own
from geco.data.user.schema import OwnOptions
from geco.errors import DataError, DataErrors, UsageError

pytest.importorskip("rdkit")

CSV = "mol_id,smiles,toxic,soluble,source\nm1,CCO,1,,lab\nm2,c1ccccc1,0,1,lab\nm3,C,,,lab\nm4,Cc1ccccc1,1,0,lab\n"


def write(folder: Path, text: str = CSV) -> Path:
    path = folder / "molecules.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_molecules_with_missing_targets(tmp_path: Path) -> None:
    dataset, schema = read_own(write(tmp_path))
    assert (len(dataset), dataset.num_nodes, dataset.num_edges) == (4, 3 + 6 + 1 + 7, 2 * (2 + 6 + 7))
    assert (dataset.info.level, dataset.info.target, dataset.info.names) == ("graph", "labels", ("toxic", "soluble"))
    assert (len(dataset.info.categories), len(dataset.info.edge_categories)) == (9, 3)
    assert dataset[0].y.shape == (1, 2)
    wanted = torch.tensor([[1, torch.nan], [0, 1], [torch.nan, torch.nan], [1, 0]])
    torch.testing.assert_close(dataset.batch(range(4)).y, wanted, equal_nan=True)
    assert sorted(torch.cat(list(vars(dataset.split()).values())).tolist()) == [0, 1, 3]  # the third has no target
    roles = {column.name: column.role for column in schema.columns}
    assert roles == {"mol_id": "id", "smiles": "smiles", "toxic": "label", "soluble": "label", "source": "ignored"}


def test_graphs_equal_those_of_molecules(tmp_path: Path) -> None:
    from geco.data.molecules import graph_from_smiles

    graph, wanted = read_own(write(tmp_path))[0][3], graph_from_smiles("Cc1ccccc1")
    for name, array in wanted.items():
        assert np.array_equal(graph[name], array)


def test_one_named_label_leaves_the_others_out(tmp_path: Path) -> None:
    dataset, schema = read_own(write(tmp_path), OwnOptions(label=("toxic",)))
    assert (dataset.info.target, dataset.info.names, schema.counts) == ("class", ("0", "1"), (1, 2))
    assert [dataset[i].y.tolist() for i in range(4)] == [[1], [0], [-1], [1]]


def test_scaffolds_stay_together(tmp_path: Path) -> None:
    rows = [f"{'C' * (1 + i // 2)}{'c1ccccc1' if i % 2 else ''},{i}.5\n" for i in range(12)]
    path = write(tmp_path, "smiles,value\n" + "".join(rows))
    dataset, schema = read_own(path, OwnOptions(split_kind="scaffold", fractions=(0.5, 0.25, 0.25)))
    assert {i % 2 for i in dataset.split().train.tolist()} in ({0}, {1})
    assert len(dataset.split().train) == 6
    assert "split: scaffold, made with seed 0; 6 train, 0 valid, 6 test" in schema.notes


def test_scaffolds_from_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = OwnOptions(split_kind="scaffold", seed=3)
    wanted = read_own(write(tmp_path), flags)[0].fingerprint
    monkeypatch.setattr("geco.data.user.molecules.BLOCK", 1)
    assert read_own(write(tmp_path), flags)[0].fingerprint == wanted
    with pytest.raises(DataError, match=r"molecules.csv, line 4, column smiles: 'Q' is not a SMILES"):
        read_own(write(tmp_path, CSV.replace(",C,", ",Q,")), flags)


def test_new_molecules_need_no_targets(tmp_path: Path) -> None:
    schema = read_own(write(tmp_path))[1]
    dataset, _ = read_own(write(tmp_path, "smiles\nCCC\n"), schema=schema)
    assert (dataset.num_nodes, dataset.num_splits, dataset.info.names) == (3, 0, ("toxic", "soluble"))
    assert dataset[0].y.isnan().tolist() == [[True, True]]
    dataset, _ = read_own(write(tmp_path, "soluble,smiles\n1,CCC\n"), schema=schema)
    torch.testing.assert_close(dataset[0].y, torch.tensor([[torch.nan, 1]]), equal_nan=True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (CSV.replace("c1ccccc1,0", "c1ccc(,0"), r"molecules.csv, line 3, column smiles: 'c1ccc\(' is not a SMILES"),
        (CSV.replace("c1ccccc1,0", ",0"), "molecules.csv, line 3, column smiles: the SMILES is missing"),
        ('note,smiles,y\n"two\nlines",C,1\nx,Q,2\n', "molecules.csv, line 4, column smiles: 'Q' is not"),
        (CSV.replace("smiles", "molecule"), "molecules.csv, line 1: no column for the smiles among mol_id, molecule"),
        ("smiles,name\nC,x\n", "molecules.csv, line 1: no column of numbers to predict among smiles, name"),
        (CSV.replace(",1,0,lab", ",1,maybe,lab"), "molecules.csv, line 5, column soluble: 'maybe' is not a number"),
        ("smiles,y\n", "molecules.csv, line 2: there are no molecules"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, wanted: str) -> None:
    options = OwnOptions(label=("toxic", "soluble")) if "maybe" in text else None
    with pytest.raises(DataError, match=wanted):
        read_own(write(tmp_path, text), options)
    if "c1ccc(" in text:
        with pytest.raises(DataError, match=wanted):
            read_own(write(tmp_path, text), OwnOptions(split_kind="scaffold"))


def test_every_molecule_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    text = CSV.replace("c1ccccc1,0", "c1ccc(,0").replace("Cc1ccccc1,1,0", ",1,maybe")
    with pytest.raises(DataErrors) as caught:
        read_own(write(tmp_path, text), OwnOptions(label=("toxic", "soluble")))
    lines = [line.removeprefix(f"{tmp_path}/") for line in str(caught.value).splitlines()]
    assert lines[0].startswith("molecules.csv, line 5, column soluble: 'maybe' is not a number")
    assert lines[1] == (
        "molecules.csv, line 3, column smiles: 'c1ccc(' is not a SMILES that RDKit can read; fix or remove the line"
    )
    assert lines[2] == "molecules.csv, line 5, column smiles: the SMILES is missing; fix or remove the line"


def test_new_molecules_are_read_as_far_as_they_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geco.data.molecules.BLOCK", 2)
    schema = read_own(write(tmp_path))[1]
    new = read_new(write(tmp_path, "smiles,mol_id,toxic\nQ,a,1\nCC,b,maybe\n,c,\nC1C,d,\nC,e,\n"), schema)
    assert [graph.num_nodes for graph in map(new.dataset.__getitem__, range(len(new.dataset)))] == [2, 1]
    assert new.ids == ["a", "b", "c", "d", "e"]
    wanted = {n: f"{s!r} is not a SMILES that RDKit can read" for n, s in ((0, "Q"), (3, "C1C"))}
    assert new.failed == wanted | {2: "the SMILES is missing"}
    with pytest.raises(DataErrors, match=r"no molecule could be read\n.*line 2, column smiles: 'Q' is not a SMILES"):
        read_new(write(tmp_path, "smiles\nQ\nX(\n"), schema)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("smiles\nC\nCC\n", ["C", "CC"]),
        ("mol_id,smiles\n007,C\nb,CC\n", ["007", "b"]),
        ("compound_id,smiles\n1,C\n2,CC\n", ["1", "2"]),
        ("index,smiles,mol_id\n1,C,x\n2,CC,y\n", ["x", "y"]),
    ],
)
def test_ids_of_molecules(tmp_path: Path, text: str, wanted: list[str]) -> None:
    schema = read_own(write(tmp_path))[1]
    assert ids(write(tmp_path, text), schema) == wanted


@pytest.mark.parametrize(("name", "told"), [("Compound ID", False), ("mol-id", False), ("cid", True)])
def test_what_names_rows_is_no_label(tmp_path: Path, name: str, told: bool) -> None:
    lines = [f"{name},smiles,mass,charge", *(f"{1000 - i:04},{'C' * (i + 1)},{14.5 * i},{i % 3}" for i in range(30))]
    dataset, schema = read_own(write(tmp_path, "\n".join(lines)))
    assert schema.names == ("mass", "charge")
    assert dataset.batch([1]).y.tolist() == [[14.5, 1]]
    note = f"{name} is taken for an id, a whole number of its own in each row; if it is to be predicted: --label {name}"
    assert (note in schema.notes) == told
    assert ids(write(tmp_path, f"{name},smiles\n007,C\nb,CC\n"), schema) == ["007", "b"]
    named = read_own(write(tmp_path, "\n".join(lines)), OwnOptions(label=(name,)))[1]
    assert [column.name for column in named.select("molecules", "label")] == [name]
    assert note not in named.notes


def test_the_only_numbers_are_labels_however_they_differ(tmp_path: Path) -> None:
    lines = ["smiles,count", *(f"{'C' * (i + 1)},{i}" for i in range(30))]
    (label,) = read_own(write(tmp_path, "\n".join(lines)))[1].select("molecules", "label")
    assert label.name == "count"


def test_molecules_as_a_spreadsheet_saves_them(tmp_path: Path) -> None:
    (tmp_path / "molecules.csv").write_text("SMILES;löslich\nC;0,5\nCC;1,5\nCCC;-2\n", encoding="cp1252")
    dataset, schema = read_own(tmp_path / "molecules.csv")
    assert dataset.batch(range(3)).y.tolist() == [[0.5], [1.5], [-2]]
    assert schema.notes[0] == "molecules.csv: columns separated by semicolons, text in cp1252"


def test_flags_without_meaning(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--source has no meaning for a file of molecules"):
        read_own(write(tmp_path), OwnOptions(source="x"))
    with pytest.raises(DataError, match="leave out --level node"):
        read_own(write(tmp_path), OwnOptions(level="node"))


@pytest.mark.real
@pytest.mark.slow
def test_molhiv_as_own_file(tmp_path: Path) -> None:
    folder = Path(os.environ["GECO_DATA"]) / "ogbg-molhiv"
    with zipfile.ZipFile(folder / "hiv_mol.csv.zip") as archive:
        archive.extractall(tmp_path)
    dataset, schema = read_own(next(tmp_path.glob("*.csv")), OwnOptions(task="labels", metric="auroc"))
    stored = np.load(folder / "molhiv_ogb.npz")
    assert len(dataset) == 41_127
    assert dataset.sizes.tolist() == stored["num_nodes"].tolist()
    assert (dataset.info.target, dataset.info.num_targets, dataset.info.metric) == ("labels", 1, "auroc")
    assert schema.counts == (int(stored["y"].sum()),)
