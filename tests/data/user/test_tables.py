"""What is wrong in a user's table is reported with file, line and column, the line as an editor counts."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pandas as pd
import pytest

from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions
from geco.errors import DataError, UsageError

NODES = "id,age,label\na,1,x\nb,2,y\nc,3,x\n"
EDGES = "source,target\na,b\nb,c\n"


def refused(folder: Path, wanted: str, options: OwnOptions | None = None, **files: str) -> None:
    """The folder, with these files besides valid ones, is refused with this text; ``NODES`` is a file's path."""
    for name, text in ({"nodes": NODES, "edges": EDGES} | files).items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8", newline="")
    with pytest.raises(DataError) as caught:
        read_own(folder, options)
    assert wanted.replace("@", f"{folder}/") in str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        (NODES.replace("b,2", "b,old"), "@nodes.csv, line 3, column age: 'old' is not a number; fix it or leave"),
        (NODES.replace("b,2", "b,inf"), "@nodes.csv, line 3, column age: 'inf' is infinite"),
        (NODES.replace("b,2", "b,1e300"), "@nodes.csv, line 3, column age: '1e+300' is too large"),
        (NODES.replace("c,3", "a,3"), "@nodes.csv, line 4, column id: node 'a' was there before; ids must differ"),
        (NODES.replace("b,2", ",2"), "@nodes.csv, line 3, column id: the id is missing"),
        (NODES.replace("b,2,y", "b,2,y,4"), "@nodes.csv, line 3: 4 fields"),
        (NODES.replace("b,2,y", "b,2"), "@nodes.csv, line 3: 2 fields"),
        (
            "ids,age,label\nx,1,x\ny,2,y\n",
            "@nodes.csv, line 1: no column for the id among ids, age, label. Did you mean 'ids'?",
        ),
        (
            NODES.replace("label", "kind"),
            "@nodes.csv, line 1: no column for the label among id, age, kind. Name it with --l",
        ),
        (
            NODES.replace("age", "class"),
            "@nodes.csv, line 1: columns class and label may both be the label; choose with --",
        ),
        (NODES.replace("age", "id"), "@nodes.csv, line 1: two columns are called 'id'"),
        ("", "@nodes.csv is empty; its first line must name the columns"),
        ("id,age,label\n", "@nodes.csv, line 2: there are no nodes"),
        ("1,2,3\n4,5,6\n", "@nodes.csv, line 1: 1, 2, 3 are no names of columns"),
        ("\x1c", "@nodes.csv, line 1: the names of columns are wanted, got ''"),
        ("\x1f", "@nodes.csv, line 1: the names of columns are wanted, got ''"),
        ("\n \n", "@nodes.csv, line 1: the names of columns are wanted, got ''"),
        ("i\0d\0,\0", "@nodes.csv, line 1: the names of columns are wanted, got 'i\\x00d"),
        ('id,label\na,"x\nb,y\n', "@nodes.csv, line 2: a quotation mark is not closed"),
        (
            re.sub("[xy]\n", "x\n", NODES),
            "@nodes.csv, line 2, column label: every label is 'x', there is nothing to learn",
        ),
        (re.sub("[xy]\n", "\n", NODES), "@nodes.csv, line 2, column label: no row has a label"),
        (
            "id,label,split\na,x,train\nb,y,vaild\nc,x,no\n",
            "@nodes.csv, line 3, column split: 'vaild' is no part of a split;",
        ),
        (
            "id,label,split\na,x,test\nb,y,test\nc,x,test\n",
            "@nodes.csv, column split: nothing that has a label is in the tr",
        ),
        (
            "id,label\na,1\nb,1\nc,2\nd,O\n",
            "@nodes.csv, line 5, column label: 'O' is not a number; correct it, or give --task",
        ),
    ],
)
def test_mistakes_in_nodes(tmp_path: Path, nodes: str, wanted: str) -> None:
    refused(tmp_path, wanted, nodes=nodes)


@pytest.mark.parametrize(
    ("edges", "wanted"),
    [
        ("source,target\na,b\nz,b\nb,z\n", "@edges.csv, line 3, column source: 'z' is not a node of nodes.csv"),
        (
            "source,target\na,b\n" + "b,z\n" * 7,
            "line 7, column target: 'z' is not a node of nodes.csv, whose ids look like 'a' (2 more like it)",
        ),
        ("source,target\na,b\nb,\n", "@edges.csv, line 3, column target: the node is missing"),
        (
            "sauce,target\nq,b\n",
            "@edges.csv, line 1: no column for the source among sauce, target. Did you mean 'sauce'?",
        ),
        (
            "source,target,weight\na,b,1\nb,c,heavy\na,c,2\n",
            "@edges.csv, line 3, column weight: 'heavy' is not a number",
        ),
        ("source,target,weight\na,b,\nb,c,\n", "@edges.csv, line 2, column weight: no edge has a weight; leave"),
        ("", "@edges.csv is empty"),
    ],
)
def test_mistakes_in_edges(tmp_path: Path, edges: str, wanted: str) -> None:
    refused(tmp_path, wanted, edges=edges)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_lines_are_counted_as_an_editor_does(tmp_path: Path, ends: str) -> None:
    """Text with line ends in it, blank lines and a byte order mark before the mistake."""
    nodes = '\ufeffid,note,age,label\na,"two\nlines",1,x\n\nb,"three\n\nlines",2,y\n  \nc,one,1,x\nd,one,abc,y\n'
    refused(tmp_path, "@nodes.csv, line 10, column age: 'abc' is not a number", nodes=nodes.replace("\n", ends))


def test_lines_of_gzipped_files(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv.gz").write_bytes(gzip.compress(NODES.replace("b,2", "b,old").encode()))
    (tmp_path / "edges.csv").write_text(EDGES)
    with pytest.raises(DataError, match=r"nodes.csv.gz, line 3, column age: 'old' is not a number"):
        read_own(tmp_path)


def test_rows_of_parquet(tmp_path: Path) -> None:
    pd.DataFrame({"id": ["a", "b", "a"], "label": [0, 1, 1]}).to_parquet(tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text(EDGES)
    with pytest.raises(DataError, match=r"nodes.parquet, row 3, column id: node 'a' was there before"):
        read_own(tmp_path)
    pd.DataFrame({"id": ["a"], "x": [[1, 2]]}).to_parquet(tmp_path / "nodes.parquet")
    with pytest.raises(DataError, match=r"nodes.parquet, column x: it holds lists or records"):
        read_own(tmp_path)
    (tmp_path / "nodes.parquet").write_bytes(b"PAR1 not really PAR1")
    with pytest.raises(DataError, match=r"nodes.parquet is not a valid Parquet file"):
        read_own(tmp_path)


def test_flags_name_columns_that_exist(tmp_path: Path) -> None:
    refused(
        tmp_path,
        "edges.csv, line 1: no column 'lable' among id, age, label, source, target. Did you mean 'label'?",
        OwnOptions(label=("lable",)),
    )
    refused(
        tmp_path,
        "@nodes.csv, column age: it cannot be both ignored and label",
        OwnOptions(label=("age",), ignore=("age",)),
    )
    with pytest.raises(UsageError, match="--smiles has no meaning for a folder of tables"):
        read_own(tmp_path, OwnOptions(smiles="x"))
    with pytest.raises(UsageError, match="needs one label column, got age, label"):
        read_own(tmp_path, OwnOptions(label=("label", "age"), task="class"))
    refused(
        tmp_path, "@nodes.csv, line 3, column age: '2' is neither 0 nor 1", OwnOptions(label=("age",), task="labels")
    )
    refused(tmp_path, "@nodes.csv, line 2, column label: 'x' is not a number", OwnOptions(task="values"))


def test_mixed_labels_are_classes_when_asked(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,label\na,1\nb,1\nc,2\nd,O\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    assert read_own(tmp_path, OwnOptions(task="class"))[0].info.names == ("1", "2", "O")


def test_whole_numbers_are_classes_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    for count, target in ((100, "class"), (101, "values")):
        (tmp_path / "nodes.csv").write_text("id,y\n" + "".join(f"{i},{i}\n" for i in range(count)))
        assert read_own(tmp_path)[0].info.target == target
    (tmp_path / "nodes.csv").write_text("id,y\n1,0.5\n2,1\n")
    assert read_own(tmp_path)[0].info.target == "values"


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (
            {"nodes": "graph,id,label\n1,a,0\n2,a,1\n"},
            "@edges.csv, line 1: node ids repeat among graphs; a column for the graph",
        ),
        (
            {"nodes": "graph,id,label\n1,a,0\n1,b,0\n2,c,1\n"},
            "@edges.csv, line 3, column target: node 'c' is of another graph",
        ),
        ({"nodes": "graph,id,label\n1,a,0\n,b,0\n"}, "@nodes.csv, line 3, column graph: the graph is missing"),
        (
            {"nodes": "graph,id,label\n1,a,0\n2,b,1\n", "edges": "graph,source,target\n1,a,b\n"},
            "@edges.csv, line 2, column target: 'b' is not a node",
        ),
        (
            {"nodes": "graph,id,label\n1,a,0\n2,b,1\n", "edges": "graph,source,target\n1,a,a\n3,a,a\n"},
            "@edges.csv, line 3, column graph: graph '3' has no nodes",
        ),
        (
            {"nodes": "graph,id\n1,a\n2,b\n", "graphs": "graph,label\n1,x\n"},
            "@nodes.csv, line 3, column graph: '2' is not a graph of graphs.csv",
        ),
        (
            {"nodes": "graph,id\n1,a\n", "graphs": "graph,label\n1,x\n2,y\n"},
            "@graphs.csv, line 3, column graph: graph '2' has no nodes in nodes.csv",
        ),
        (
            {"nodes": "graph,id\n1,a\n", "graphs": "graph,label\n1,x\n1,y\n"},
            "@graphs.csv, line 3, column graph: graph '1' was there before",
        ),
    ],
)
def test_mistakes_among_many_graphs(tmp_path: Path, files: dict[str, str], wanted: str) -> None:
    refused(tmp_path, wanted, **files)


def test_folders_without_the_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lacks nodes.csv \(or .csv.gz, .parquet\); it holds nothing"):
        read_own(tmp_path)
    (tmp_path / "nodes.csv").write_text(NODES)
    with pytest.raises(DataError, match=r"lacks edges.csv .* it holds nodes.csv"):
        read_own(tmp_path)
    (tmp_path / "edges.csv").write_text(EDGES)
    with pytest.raises(DataError, match=r"lacks graphs.csv with a label for each graph"):
        read_own(tmp_path, OwnOptions(level="graph"))
    (tmp_path / "nodes.csv.gz").write_bytes(gzip.compress(NODES.encode()))
    with pytest.raises(DataError, match=r"holds both nodes.csv and nodes.csv.gz"):
        read_own(tmp_path)
