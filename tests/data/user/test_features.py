"""Columns as people have them: with missing values, dates and free text, and new files read in the same way."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from geco.data.user.features import MOST_CATEGORIES
from geco.data.user.read import read_own
from geco.data.user.schema import Column, OwnOptions, Schema
from geco.errors import DataError

NODES = "id,age,born,kind,label\na,1,2024-01-31,red,x\nb,,2024-02-02 12:00,,y\nc,5,,blue,x\nd,2,2024-02-01,red,y\n"
EDGES = "source,target,weight,far\na,b,1,0.5\nb,c,,\nc,d,3,1.5\n"


def write(folder: Path, **files: str) -> Path:
    for name, text in ({"nodes": NODES, "edges": EDGES} | files).items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def columns(schema: Schema) -> dict[str, Column]:
    return {column.name: column for column in schema.columns}


def test_missing_values_are_filled_and_marked(tmp_path: Path) -> None:
    dataset, schema = read_own(write(tmp_path))
    wanted = [  # age, is it missing, days since the first date, is it missing, blue, red, no kind
        [1, 0, 0, 0, 0, 1, 0],
        [2, 1, 2.5, 0, 0, 0, 1],
        [5, 0, 1, 1, 1, 0, 0],
        [2, 0, 1, 0, 0, 1, 0],
    ]
    assert dataset[0].x.tolist() == wanted
    edges = dict(zip(map(tuple, dataset[0].edge_index.T.tolist()), range(6), strict=True))
    assert dataset[0].edge_attr[edges[1, 2]].tolist() == [1, 1]  # far: the median, and that it is missing
    assert dataset[0].edge_weight[edges[2, 1]] == 2  # the median
    found = columns(schema)
    assert (found["age"].fill, found["age"].marked, found["age"].missing) == (2, True, 1)
    assert (found["born"].type, found["born"].format) == ("date", "ISO8601")
    assert found["kind"].categories == ("blue", "red", "")
    shown = schema.summary()
    for line in (
        "nodes age     1 missing set to 2, the median, marked in a column of its own",
        "nodes born    date, as days since 2024-01-31; 1 missing set to 2024-02-01, the median, marked in a column",
        "nodes kind    1 missing are a value of their own",
        "edges weight  1 missing set to 2, the median\n",
    ):
        assert line in shown + "\n"


def test_new_files_are_read_in_the_same_way(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    schema = Schema.from_json(json.loads(json.dumps(read_own(write(tmp_path))[1].to_json())))
    nodes = "born,kind,id,age\n2024-03-01,red,q,\n,,r,7\n"
    write(tmp_path, nodes=nodes, edges="source,target,weight,far\nq,r,,2\n")
    with caplog.at_level(logging.WARNING, "geco"):
        graph = read_own(tmp_path, schema=schema)[0][0]
    assert graph.x.tolist() == [[2, 1, 30, 0, 0, 1, 0], [7, 0, 1, 1, 0, 0, 1]]
    assert graph.edge_attr.tolist() == [[2, 0]] * 2
    assert graph.edge_weight.tolist() == [2, 2]
    assert not caplog.records


def test_missing_values_that_training_had_none_of_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nodes = "id,age,kind,label\na,1,red,x\nb,2,blue,y\nc,9,blue,y\n"
    schema = read_own(write(tmp_path, nodes=nodes, edges="source,target\n"))[1]
    write(tmp_path, nodes="id,age,kind\na,,red\nb,1,\nc,5,blue\n", edges="source,target\n")
    with caplog.at_level(logging.WARNING, "geco"):
        assert read_own(tmp_path, schema=schema)[0][0].x.tolist() == [[2, 0, 1], [1, 0, 0], [5, 1, 0]]
    said = [record.getMessage().replace(f"{tmp_path}/", "") for record in caplog.records]
    assert said[0].startswith("warning: nodes.csv, line 2, column age: 1 values are missing, none was when")
    assert said[1].startswith("warning: nodes.csv, line 3, column kind: 1 values are missing, none was when")


def test_data_sets_imported_before_are_read_as_then(tmp_path: Path) -> None:
    nodes = "id,age,kind,label\na,1,red,x\nb,2,blue,y\nc,9,blue,y\n"
    edges = "source,target\na,b\n"
    schema = read_own(write(tmp_path, nodes=nodes, edges=edges))[1]
    saved = schema.to_json()
    for column in saved["columns"]:
        for key in ("fill", "marked", "format", "start", "note"):
            del column[key]
    old = Schema.from_json(saved)
    assert read_own(tmp_path, schema=old)[0][0].x.tolist() == [[1, 0, 1], [2, 1, 0], [9, 1, 0]]
    write(tmp_path, nodes="id,age,kind\na,,red\n", edges="source,target\n")
    with pytest.raises(DataError, match=r"nodes.csv, line 2, column age: the value is missing .* import the data set"):
        read_own(tmp_path, schema=old)


def test_free_text_and_empty_columns_are_left_out_with_a_note(tmp_path: Path) -> None:
    rows = [f"{i},about {i},{'ab'[i % 2]},,{i % 7},{i % 2}" for i in range(30)]
    nodes = "id,about,kind,nothing,week,label\n" + "\n".join(rows) + "\n"
    write(tmp_path, nodes=nodes, edges="source,target\n1,2\n")
    dataset, schema = read_own(tmp_path)
    assert dataset[0].x.shape == (30, 3)
    assert columns(schema)["about"].role == columns(schema)["nothing"].role == "ignored"
    assert "nodes about    left out: text with 30 different values" in schema.summary()
    assert "nodes nothing  left out: no values" in schema.summary()
    with pytest.raises(DataError, match=r"nodes.csv, line 2, column about: text with 30 different values makes no"):
        read_own(tmp_path, OwnOptions(features=("about",)))
    many = "".join(f"{i},t{i % (MOST_CATEGORIES + 1)},{i % 2}\n" for i in range(500))
    write(tmp_path, nodes=f"id,about,label\n{many}", edges="source,target\n1,2\n")
    assert columns(read_own(tmp_path)[1])["about"].note == "text with 51 different values"


@pytest.mark.parametrize(
    ("values", "days"),
    [
        (["2024/1/31", "2024/02/01"], [0, 1]),
        (["31.1.2024", "01.02.2024"], [0, 1]),
        (["31/01/2024", "01/02/2024"], [0, 1]),
        (["01/31/2024", "02/01/2024"], [0, 1]),
        (["01/02/2024", "02/01/2024"], [0, 30]),  # month/day if both would do
        (["31.01.2024 06:00", "31.01.2024 18:00"], [0, 0.5]),
        (["1066-10-14", "1066-10-15"], [0, 1]),
        (["2024-01-31T23:00:00Z", "2024-02-01T00:00:00+01:00"], [0, 0]),
    ],
)
def test_dates_in_many_formats(tmp_path: Path, values: list[str], days: list[float]) -> None:
    rows = [f"{i},{values[i % 2]},{'xy'[i % 2]}" for i in range(4)]
    dataset, schema = read_own(write(tmp_path, nodes="id,when,label\n" + "\n".join(rows), edges="source,target\n0,1\n"))
    assert dataset[0].x[:2, 0].tolist() == days
    assert columns(schema)["when"].type == "date"


def test_a_wrong_date_is_named(tmp_path: Path) -> None:
    nodes = NODES.replace("2024-02-01", "2024-02-31")
    with pytest.raises(DataError, match=r"nodes.csv, line 5, column born: '2024-02-31' is not a date like 2024-01-31"):
        read_own(write(tmp_path, nodes=nodes))


def test_dates_of_parquet(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "nodes.csv").unlink()
    when = pd.to_datetime(["2024-01-01", None, "2024-01-04"])
    frame = pd.DataFrame({"id": ["a", "b", "c"], "when": when, "label": [0, 1, 1]})
    frame.to_parquet(tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    assert read_own(tmp_path)[0][0].x.tolist() == [[0, 0], [1.5, 1], [3, 0]]


def test_words_for_nothing_among_numbers(tmp_path: Path) -> None:
    rows = ["a,1,x,yes", "b,-,y,no", "c, ? ,x,-", "d,Unknown,y,yes", "e,4,x,no", "f,7,y,yes", "g,8,x,yes"]
    dataset, schema = read_own(write(tmp_path, nodes="id,age,label,tall\n" + "\n".join(rows), edges="source,target\n"))
    assert dataset[0].x[:, :2].tolist() == [[1, 0], [5.5, 1], [5.5, 1], [5.5, 1], [4, 0], [7, 0], [8, 0]]
    assert columns(schema)["tall"].categories == ("-", "no", "yes")  # a value like others in text


def test_words_for_nothing_among_labels(tmp_path: Path) -> None:
    nodes = "id,y,z\na,0.5,1\nb,?,0\nc,1.5,1\nd,n.a.,0\ne,2.5,-\n"
    write(tmp_path, nodes=nodes, edges="source,target,weight\na,b,2\nb,c,-\nc,d,4\n")
    graph = read_own(tmp_path)[0][0]
    assert graph.y.isnan().view(-1).tolist() == [False, True, False, True, False]
    assert sorted(set(graph.edge_weight.tolist())) == [2, 3, 4]
    assert read_own(tmp_path, OwnOptions(label=("z",)))[0][0].y.tolist() == [1, 0, 1, 0, -1]


def test_truths_with_gaps_are_numbers(tmp_path: Path) -> None:
    nodes = "id,wild,label\na,True,x\nb,,y\nc,False,x\nd,False,y\n"
    dataset, _ = read_own(write(tmp_path, nodes=nodes, edges="source,target\n"))
    assert dataset[0].x.tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]


def test_schema_of_a_column_says_what_was_done() -> None:
    column = Column("nodes", "age", "feature", "number", missing=3, fill=2.0)
    assert replace(column, missing=0).done == ""
    assert column.done == "3 missing set to 2, the median"
    assert Column(**asdict(column)) == column


def test_values_are_exact_in_float32(tmp_path: Path) -> None:
    """A date with seconds, fifty years after the first."""
    rows = "a,1974-01-01 00:00:00,x\nb,2024-01-01 00:00:01,y\nc,2024-01-01 00:10:00,y\n"
    x = read_own(write(tmp_path, nodes=f"id,when,label\n{rows}", edges="source,target\n"))[0][0].x
    torch.testing.assert_close(x[:, 0], torch.tensor([0, 18262, 18262 + 10 / 1440]), rtol=0, atol=0.002)


@pytest.mark.parametrize(
    ("dates", "told"),
    [
        ("1/2/2024 3/4/2024 1/1/2024", True),
        ("1/31/2024 3/4/2024 1/1/2024", False),
        ("1/1/2024 2/2/2024 3/3/2024", False),
    ],
)
def test_dates_that_may_be_turned_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, dates: str, told: bool
) -> None:
    rows = [f"{'abc'[i]},{day},{'xyx'[i]}" for i, day in enumerate(dates.split())]
    with caplog.at_level(logging.WARNING, "geco"):
        read_own(write(tmp_path, nodes="\n".join(["id,born,label", *rows]), edges="source,target\na,b\nb,c\n"))
    assert [record.message for record in caplog.records] == told * [
        f"warning: {tmp_path}/nodes.csv, line 2, column born: dates are read as month/day, day/month would do for all "
        "of them too; if that is meant, write 2024-01-31"
    ]


@pytest.mark.parametrize(
    ("mark", "cells", "values", "told"),
    [
        (",", '"1,000" "12,500.5" 7', [1000, 12500.5, 7], False),
        (",", '"-1,000,000" 2 7', [-1e6, 2, 7], False),
        (";", "1,000 12,500 7", [1, 12.5, 7], True),
        (";", "1,000 0,500 7", [1, 0.5, 7], False),
        (";", "1,00 12,500 7", [1, 12.5, 7], False),
    ],
)
def test_commas_in_numbers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mark: str, cells: str, values: list[float], told: bool
) -> None:
    rows = [mark.join(("abc"[i], cell, "xyx"[i])) for i, cell in enumerate(cells.split())]
    with caplog.at_level(logging.WARNING, "geco"):
        nodes = "\n".join([mark.join(("id", "size", "label")), *rows])
        dataset = read_own(write(tmp_path, nodes=nodes, edges="source,target\na,b\nb,c\n"))[0]
    assert dataset[0].x[:, 0].tolist() == values
    assert ["commas are read as decimal ones" in record.message for record in caplog.records] == told * [True]


def test_a_feature_with_gaps_tells_no_more_than_its_rows(tmp_path: Path) -> None:
    rows = [f"n{i},{('', 'dog')[i % 2] or ('cat' if i % 4 else '')},{'xy'[i % 2]}" for i in range(24)]
    edges = "source,target\nn0,n1\nn1,n2\n"
    notes = read_own(write(tmp_path, nodes="\n".join(["id,pet,label", *rows]), edges=edges))[1].notes
    assert (
        "warning: the feature pet tells the class of every row where it is not missing; if it is not known before, "
        "leave it out: --ignore pet" in notes
    )


def test_a_control_character_in_a_cell_makes_no_category(tmp_path: Path) -> None:
    nodes = NODES.replace("red,x", "r\x00ed,x")
    with pytest.raises(
        DataError, match=r"nodes.csv, line 2, column kind: 'r\\x00ed' holds a control character; fix it"
    ):
        read_own(write(tmp_path, nodes=nodes))


def test_an_import_tells_of_numbers_that_may_be_codes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        _, schema = read_own(write(tmp_path, nodes=NODES.replace("c,5,", "c,05,")))
    assert "line 4, column age: '05' is read as a number; if it is a code, leave it out: --ignore age" in caplog.text
    assert columns(schema)["age"].type == "number"
