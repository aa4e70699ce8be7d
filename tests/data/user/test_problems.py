"""Everything that is wrong with a folder is reported at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from geco.data.user.read import read_own
from geco.errors import DataErrors


def problems(folder: Path, **files: str) -> list[str]:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataErrors) as caught:
        read_own(folder)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def starts(lines: list[str], wanted: list[str]) -> None:
    assert [line[: len(start)] for line, start in zip(lines, wanted, strict=True)] == wanted


def test_contents_of_all_files(tmp_path: Path) -> None:
    heading, rest = "id,age,born,label,split\na,1,2024-01-01,1,train\n", "a,3,soon,O,train\nd,4,2024-01-04,1,\n"
    nodes = f"{heading}b,old,2024-01-02,2,vaild\n{rest}"
    edges = "source,target,weight,far\na,b,1,1\nz,b,2,2\nb,q,x,far\nd,a,3,4\n"
    starts(
        problems(tmp_path, nodes=nodes, edges=edges),
        [
            "nodes.csv, line 4, column id: node 'a' was there before",
            "edges.csv, line 3, column source: 'z' is not a node",
            "edges.csv, line 4, column target: 'q' is not a node",
            "nodes.csv, line 3, column age: 'old' is not a number",
            "nodes.csv, line 4, column born: 'soon' is not a date",
            "edges.csv, line 4, column far: 'far' is not a number",
            "edges.csv, line 4, column weight: 'x' is not a number",
            "nodes.csv, line 4, column label: 'O' is not a number",
            "nodes.csv, line 3, column split: 'vaild' is no part",
        ],
    )


def test_forms_of_all_files(tmp_path: Path) -> None:
    wanted = ["nodes.csv, line 2: 1 fields", "nodes.csv, line 4: 3 fields", "edges.csv, line 1: two columns are called"]
    starts(problems(tmp_path, nodes="id,label\na\nb,1\nc,1,2\n", edges="source,source\na,b\n"), wanted)
    wanted = ["nodes.csv, line 1: columns label and y may both be the label", "edges.csv, line 1: columns src and from"]
    starts(problems(tmp_path, nodes="id,label,y\na,1,1\n", edges="src,from,target\na,b,a\n"), wanted)


def test_many_are_counted(tmp_path: Path) -> None:
    columns = range(10)
    heading = ",".join(f"c{i}" for i in columns)
    good, bad = (",".join([value] * len(columns)) for value in ("1", "x"))
    rows = [f"{i},{bad if i % 4 == 3 else good},{i % 2}" for i in range(40)]
    lines = problems(tmp_path, nodes="\n".join([f"id,{heading},label", *rows]), edges="source,target\n")
    assert len(lines) == 21
    assert lines[0].startswith("nodes.csv, line 5, column c0: 'x' is not a number; fix it")
    assert lines[4].endswith("(5 more like it)")
    assert lines[20] == "and 30 more problems"
