"""Ids of any name and type: the column that edges refer to."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions
from geco.errors import DataError

RING = [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]


def ring(folder: Path, nodes: str, edges: str, options: OwnOptions | None = None) -> dict[str, str]:
    """The files are a ring of three nodes; return the roles of the columns."""
    (folder / "nodes.csv").write_text(nodes)
    (folder / "edges.csv").write_text(edges)
    dataset, schema = read_own(folder, options)
    assert dataset[0].edge_index.tolist() == RING
    return {f"{column.file} {column.name}": column.role for column in schema.columns}


def test_ids_of_any_name(tmp_path: Path) -> None:
    nodes = "team,city,player,label\nu,x,anna,0\nu,y,bob,1\nv,z,cem,0\n"
    found = ring(tmp_path, nodes, "source,target\nanna,bob\nbob,cem\ncem,anna\n")
    assert (found["nodes player"], found["nodes city"]) == ("id", "feature")
    found = ring(tmp_path, nodes, "passer,minute,receiver\nanna,1,bob\nbob,2,cem\ncem,3,anna\n")
    assert [found[f"edges {name}"] for name in ("passer", "minute", "receiver")] == ["source", "feature", "target"]
    ring(tmp_path, nodes, "weight,source,receiver\n1,anna,bob\n2,bob,cem\n3,cem,anna\n")


def test_an_id_that_edges_do_not_refer_to_is_passed_over(tmp_path: Path) -> None:
    nodes = "id,code,label\n1,k7,0\n2,k8,1\n3,k9,0\n"
    found = ring(tmp_path, nodes, "source,target\nk7,k8\nk8,k9\nk9,k7\n")
    assert (found["nodes id"], found["nodes code"]) == ("ignored", "id")
    assert ring(tmp_path, nodes, "source,target\n1,2\n2,3\n3,1\n")["nodes id"] == "id"


@pytest.mark.parametrize("ids", [("1", "2", "3"), ("1.0", "2.0", "3.0"), ("7", "x-1", "0.5"), ("007", "7", "a b")])
@pytest.mark.parametrize("name", ["id", "key"])
def test_ids_of_any_type(tmp_path: Path, ids: tuple[str, ...], name: str) -> None:
    a, b, c = ids
    ring(tmp_path, f"{name},label\n{a},0\n{b},1\n{c},0\n", f"source,target\n{a}, {b}\n{b},{c}\n{c},{a}\n")


def test_ids_of_different_types_in_two_files(tmp_path: Path) -> None:
    edges = "source,target\n1.0,2.0\n2.0,3.0\n3.0,1.0\n"  # as pandas writes whole numbers beside missing ones
    ring(tmp_path, "id,label\n1,0\n2,1\n3,0\n", edges)
    ring(tmp_path, "key,label\n1,0\n2,1\n3,0\n", edges)
    (tmp_path / "nodes.csv").unlink()
    pd.DataFrame({"id": [1, 2, 3], "label": [0, 1, 0]}).to_parquet(tmp_path / "nodes.parquet")
    assert read_own(tmp_path)[0][0].edge_index.tolist() == RING


def test_several_columns_called_so(tmp_path: Path) -> None:
    found = ring(tmp_path, "index,id,label\n5,a,0\n6,b,1\n7,c,0\n", "source,target\na,b\nb,c\nc,a\n")
    assert (found["nodes index"], found["nodes id"]) == ("ignored", "id")
    flags = OwnOptions(id="index", features=("id",))
    found = ring(tmp_path, "index,id,label\n5,1,0\n6,2,1\n7,3,0\n", "source,target\n5,6\n6,7\n7,5\n", flags)
    assert (found["nodes index"], found["nodes id"]) == ("id", "feature")


def test_no_column_that_could_be_it(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("name,label\na,0\na,1\n")
    (tmp_path / "edges.csv").write_text("source,target\na,a\n")
    with pytest.raises(
        DataError, match=r"nodes.csv, line 1: no column for the id among name, label. Name it with --id"
    ):
        read_own(tmp_path)
    (tmp_path / "nodes.csv").write_text("name,label\na,0\nb,1\n")
    (tmp_path / "edges.csv").write_text("one,two\na,q\n")
    with pytest.raises(DataError, match=r"no column for the id among name"):
        read_own(tmp_path)


def test_a_flag_is_not_overruled(tmp_path: Path) -> None:
    nodes, edges = "code,key,label\na,x,0\nb,y,1\n", "source,target\nx,y\n"
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "edges.csv").write_text(edges)
    with pytest.raises(DataError, match=r"edges.csv, line 2, column source: 'x' is not a node of nodes.csv, .* 'a'"):
        read_own(tmp_path, OwnOptions(id="code"))
    assert read_own(tmp_path)[0].num_edges == 2


def test_numbers_that_are_ids_by_chance_are_not(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("age,label\n1,0\n2,1\n5,0\n")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    with pytest.raises(DataError, match="no column for the id among age, label"):
        read_own(tmp_path)


def test_predicting_needs_no_search(tmp_path: Path) -> None:
    nodes = "city,player,label\nx,anna,0\ny,bob,1\nz,cem,0\n"
    ring(tmp_path, nodes, "passer,receiver\nanna,bob\nbob,cem\ncem,anna\n")
    schema = read_own(tmp_path)[1]
    (tmp_path / "nodes.csv").write_text("player,city\nx,x\ny,y\n")
    (tmp_path / "edges.csv").write_text("receiver,passer\nx,y\n")
    assert read_own(tmp_path, schema=schema)[0][0].edge_index.tolist() == [[0, 1], [1, 0]]
