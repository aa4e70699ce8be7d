"""What kind of files a path holds, and paths that hold none."""

from __future__ import annotations

from pathlib import Path

import pytest

from geco.data.user.read import ids, read_new, read_own
from geco.errors import DataError


def test_paths_that_are_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing does not exist"):
        read_own(tmp_path / "nothing")
    (tmp_path / "nodes.csv").write_text("id\na\n")
    with pytest.raises(DataError, match=f"nodes.csv is one of several tables; give their folder: {tmp_path}"):
        read_own(tmp_path / "nodes.csv")
    (tmp_path / "graph.xlsx").write_text("")
    with pytest.raises(
        DataError, match=r"graph.xlsx: a folder with nodes.csv and edges.csv, or a file that ends in one of .csv"
    ):
        read_own(tmp_path / "graph.xlsx")


def test_paths_as_text(folder: Path) -> None:
    dataset, schema = read_own(str(folder))
    assert dataset.num_nodes == 3
    new = read_new(str(folder), schema)
    assert (new.ids, ids(str(folder), schema), new.failed) == (["a", "b", "c"], ["a", "b", "c"], {})


def test_a_schema_of_another_form(folder: Path, tmp_path: Path) -> None:
    schema = read_own(folder)[1]
    (tmp_path / "molecules.csv").write_text("smiles\nC\n")
    with pytest.raises(DataError, match=r"molecules.csv holds molecules, the data set was made from tables"):
        read_own(tmp_path / "molecules.csv", schema=schema)
