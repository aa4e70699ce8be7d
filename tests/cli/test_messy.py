"""Tables as they are: a messy folder, and molecules that cannot all be read, from import to training to prediction."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from geco.cli.main import main
from tests.cli.conftest import Run

CITIES = ("München", "Köln", "")
QUICK = ("--train.epochs", "30", "--model.hidden", "8", "--model.dropout", "0", "--train.threads", "1")


def messy(folder: Path, people: int, labels: bool = True) -> Path:
    """Write a ring of people as a spreadsheet would: semicolons, decimal commas, gaps, dates, free text, mixed ids."""
    folder.mkdir()
    rows = [["city", "height", "joined", "about", "empty", "member", *(["label"] if labels else [])]]
    for i in range(people):
        height = ["1,55", "1,95", "", "n.a."][i % 2 + 2 * (i % 7 == 0)]
        joined = "" if i % 5 == 0 else f"{1 + i % 28:02}.{1 + i % 12:02}.202{i % 3}"
        key = [f"{i}", f"p-{i}", f"{i:04}"][i % 3]
        rows.append([CITIES[i % 3], height, joined, f"I am number {i}, hello", "", key])
        rows[-1] += [["short", "tall"][i % 2]] if labels else []
    ids = [row[5] for row in rows[1:]]
    edges = [["since", "follower", "followed", "weight"]]
    edges += [["3.5.2021", ids[i], ids[(i + 2) % people], "" if i % 9 == 0 else "0,5"] for i in range(people)]
    for name, table in (("nodes", rows), ("edges", edges)):
        text = "\n".join(";".join(f'"{cell}"' if "," in cell[8:] else cell for cell in row) for row in table)
        (folder / f"{name}.csv").write_bytes(text.encode("cp1252"))
    return folder


def test_a_messy_folder_from_import_to_prediction(run: Run, tmp_path: Path) -> None:
    shown = run("data", "import", str(messy(tmp_path / "people", 40)), "--name", "people")
    for line in (
        "nodes member    id",
        "edges follower  source",
        "edges followed  target",
        "nodes.csv: columns separated by semicolons, text in cp1252",
        "nodes city    13 missing are a value of their own",
        "nodes height  6 missing set to 1.75, the median, marked in a column of its own",
        "nodes joined  date, as days since 2020-01-09; 8 missing set to 2021-05-11, the median",
        "nodes about   left out: text with 40 different values",
        "nodes empty   left out: no values",
        "edges since   date, as days since 2021-05-03",
        "edges weight  5 missing set to 0.5, the median",
    ):
        assert " ".join(line.split()) in " ".join(shown.split()), line
    run("train", "people", *QUICK, "--out", str(tmp_path / "r"))
    for name in ("out.csv", "out.parquet"):
        new = tmp_path / name.replace(".", "-")
        run("predict", str(tmp_path / "r"), "--data", str(messy(new, 64, labels=False)), "-o", str(tmp_path / name))
    with (tmp_path / "out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows][:6] == ["0", "p-1", "0002", "3", "p-4", "0005"]
    assert {row["prediction"] for row in rows} <= {"short", "tall"}
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert found["id"].tolist() == [row["id"] for row in rows]
    assert found["p(tall)"].tolist() == [pytest.approx(float(row["p(tall)"]), rel=1e-5) for row in rows]


def test_predicting_for_many_molecules_does_all_it_can(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("rdkit")
    lines = ["mol_id;smiles;mass", *(f"m{n};{'C' * n};{14.5 * n}".replace(".", ",") for n in range(1, 13))]
    (tmp_path / "train.csv").write_text("\n".join(lines))
    run("data", "import", str(tmp_path / "train.csv"), "--name", "m", "--fractions", "0.6", "0.2", "0.2")
    run("train", "m", "--train.epochs", "2", "--model.hidden", "8", "--out", str(tmp_path / "r"))
    (tmp_path / "new.csv").write_text("mol_id,smiles\na,CC\nb,not one\nc,\nd,CCC\n")
    command = ("predict", str(tmp_path / "r"), "--data", str(tmp_path / "new.csv"), "-o", str(tmp_path / "out.csv"))
    main(list(command))
    assert "2 predictions in" in (said := capsys.readouterr().err)
    assert "2 rows could not be read, see their column problem" in said
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["id"].tolist() == ["a", "b", "c", "d"]
    assert found["mass"].notna().tolist() == [True, False, False, True]
    wanted = ["", "'not one' is not a SMILES that RDKit can read", "the SMILES is missing", ""]
    assert found["problem"].fillna("").tolist() == wanted
    (tmp_path / "new.csv").write_text("smiles\nnot one\nnor this\n")
    (tmp_path / "out.csv").unlink()
    with pytest.raises(SystemExit) as end:
        main(list(command))
    assert end.value.code == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"geco: error: {tmp_path}/new.csv: no molecule could be read"
    assert lines[2].endswith("new.csv, line 3, column smiles: 'nor this' is not a SMILES that RDKit can read")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", ["out.txt", "out", "nowhere/out.csv"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["predict", "no-run", "--data", "no-data", "-o", str(tmp_path / name)])
    assert end.value.code == 2
    assert f"cannot write {tmp_path / name}" in capsys.readouterr().err
