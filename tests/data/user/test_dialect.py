"""CSV as programs of the office write it: separators, encodings, decimal commas."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from geco.data.user.dialect import Dialect, find_dialect
from geco.data.user.read import read_own
from geco.errors import DataError

NODES = "id,größe,label\nä,1,x\nb,2,für\nc,3,x\n"
EDGES = "source,target\nä,b\nb,c\n"


def write(folder: Path, text: str, encoding: str = "utf-8", compressed: bool = False) -> Path:
    data = text.encode(encoding)
    (folder / f"nodes.csv{'.gz' if compressed else ''}").write_bytes(gzip.compress(data) if compressed else data)
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    return folder


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_every_way_of_writing_is_the_same_graph(
    tmp_path: Path, encoding: str, separator: str, compressed: bool
) -> None:
    dataset, schema = read_own(write(tmp_path, NODES.replace(",", separator), encoding, compressed))
    assert dataset[0].x.tolist() == [[1], [2], [3]]
    assert dataset[0].edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert schema.names == ("für", "x")
    assert [column.name for column in schema.columns][:3] == ["id", "größe", "label"]
    told = any(note.startswith("nodes.csv") for note in schema.notes[:1])
    assert told == ((encoding, separator) not in (("utf-8", ","), ("utf-8-sig", ",")))


def test_decimal_commas(tmp_path: Path) -> None:
    rows = "ä;1,5;1.234;2.000,25;1.5;x;0,25\nb;-2,25;5;3,5;2.5;y;1,5\nc;3;6;1.234.567,5;3.5;x;0,5\n"
    write(tmp_path, f"id;a;b;c;d;label;e\n{rows}")
    (tmp_path / "edges.csv").write_text("source;target;weight\nä;b;0,5\nb;c;1\n", encoding="utf-8")
    dataset, schema = read_own(tmp_path)
    wanted = [[1.5, 1.234, 2000.25, 1.5, 0.25], [-2.25, 5, 3.5, 2.5, 1.5], [3, 6, 1234567.5, 3.5, 0.5]]
    assert dataset[0].x.tolist() == [[pytest.approx(value) for value in row] for row in wanted]
    assert dataset[0].edge_weight.tolist() == [0.5, 0.5, 1, 1]
    assert "nodes.csv: columns separated by semicolons" in schema.notes


def test_a_comma_in_a_number_is_no_decimal_where_commas_separate(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nodes.csv, line 3, column a: '1,5' is not a number"):
        read_own(write(tmp_path, 'id,a,label\nä,1,x\nb,"1,5",y\nc,2,x\n'))


def test_separators_within_text_are_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"name; first";age,years\na;1\nb;2\n')
    assert find_dialect(path) == Dialect(separator=";")
    path.write_text("id,tags\n1,a;b;c\n2,d;e\n3,\n")
    assert find_dialect(path) == Dialect()
    path.write_text("smiles\nC\nCC\n")
    assert find_dialect(path) == Dialect()


@pytest.mark.parametrize("compressed", [False, True])
def test_damaged_text_is_refused(tmp_path: Path, compressed: bool) -> None:
    """A byte that is no UTF-8 among letters that are, and one that Windows-1252 does not have either."""
    path = tmp_path / ("nodes.csv.gz" if compressed else "nodes.csv")
    for data, line in ((NODES.encode().replace(b"b,2", b"b\xfc,2"), 3), (b"id,label\na,x\nb,\x81\n", 3)):
        path.write_bytes(gzip.compress(data) if compressed else data)
        (tmp_path / "edges.csv").write_text(EDGES)
        with pytest.raises(DataError, match=rf"{path}, line {line}: byte 0x\w\w is not UTF-8; save the file as UTF-8"):
            read_own(tmp_path)


def test_lines_of_other_encodings(tmp_path: Path) -> None:
    text = NODES.replace(",", ";").replace("c;3", "c;drei")
    with pytest.raises(DataError, match=r"nodes.csv, line 4, column größe: 'drei' is not a number"):
        read_own(write(tmp_path, text, "utf-16"))
