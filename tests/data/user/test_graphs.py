"""A folder of tables, as a new user would write it, becomes the graph it was exported from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from geco.data.user.edges import both_ways
from geco.data.user.read import read_own
from geco.data.user.schema import OwnOptions
from geco.errors import DataError, UsageError

NODES = (
    "id,age,size,kind,label,split\na,1,0.5,red,cat,train\nb,2,1.5,blue,dog,train\n"
    "c,3,2.5,red,,valid\nd,4,3.5,blue,dog,test\n"
)
EDGES = "source,target,weight,far\na,b,1,0.1\nb,c,2,0.2\nd,a,3,0.3\n"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def test_a_small_graph(tmp_path: Path) -> None:
    dataset, schema = read_own(write(tmp_path, nodes=NODES, edges=EDGES))
    graph = dataset[0]
    assert graph.x.tolist() == [[1, 0.5, 0, 1], [2, 1.5, 1, 0], [3, 2.5, 0, 1], [4, 3.5, 1, 0]]  # age, size, blue, red
    assert graph.edge_index.tolist() == [[0, 0, 1, 1, 2, 3], [1, 3, 0, 2, 1, 0]]
    assert graph.edge_weight.tolist() == [1, 3, 1, 2, 2, 3]
    torch.testing.assert_close(graph.edge_attr, torch.tensor([[0.1], [0.3], [0.1], [0.2], [0.2], [0.3]]))
    assert graph.y.tolist() == [0, 1, -1, 1]
    assert dataset.info.to_json() | {"name": ""} == {
        "name": "", "level": "node", "target": "class", "num_targets": 2, "metric": "accuracy", "categories": (),
        "edge_categories": (), "names": ("cat", "dog"), "note": "", "directed": False,
    }  # fmt: skip
    split = dataset.split()
    assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == ([0, 1], [], [3])  # c has no label
    assert schema.counts == (1, 2)


def test_schema_as_text(tmp_path: Path) -> None:
    shown = read_own(write(tmp_path, nodes=NODES, edges=EDGES))[1].summary()
    for line in (
        "nodes kind    feature  category (2 values)      red        0",
        "nodes label     label                label      cat        1",
        "classes: cat 1, dog 2",
        "edges: made to run both ways (--directed keeps them as they are)",
        "no label: 1 of 4; they are in no part of the split",
        "nodes.csv, column split; 2 train, 0 valid, 1 test",
    ):
        assert line in shown


def test_directed_edges_stay(tmp_path: Path) -> None:
    dataset, schema = read_own(write(tmp_path, nodes=NODES, edges=EDGES), OwnOptions(directed=True))
    assert dataset[0].edge_index.tolist() == [[0, 1, 3], [1, 2, 0]]
    assert dataset[0].edge_weight.tolist() == [1, 2, 3]
    assert schema.directed
    assert "edges: directed, as in the file" in schema.notes


def test_flags_correct_what_is_guessed(tmp_path: Path) -> None:
    nodes = "who,age,kind,price\n07,1,3,2\n7,2,4,3\n"
    edges = "one,two\n07,7\n"
    flags = OwnOptions(
        id="who", label=("price",), task="values", ignore=("kind",), source="one", target="two", metric="rmse"
    )
    dataset, _ = read_own(write(tmp_path, nodes=nodes, edges=edges), flags)
    assert dataset[0].x.tolist() == [[1], [2]]
    assert dataset[0].y.tolist() == [[2], [3]]
    assert (dataset.info.target, dataset.info.metric, dataset.info.names) == ("values", "rmse", ("price",))
    dataset, _ = read_own(
        tmp_path, OwnOptions(id="who", label=("price",), features=("kind",), source="one", target="two")
    )
    assert dataset[0].x.tolist() == [[3], [4]]
    assert dataset.info.target == "class"


def test_several_label_columns(tmp_path: Path) -> None:
    nodes = "id,f,l1,l2\na,1,0,1\nb,2,,1\nc,3,,\n"
    folder = write(tmp_path, nodes=nodes, edges="source,target\na,b\n")
    dataset, schema = read_own(folder, OwnOptions(label=("l1", "l2")))
    assert dataset.info.target == "labels"
    torch.testing.assert_close(
        dataset[0].y, torch.tensor([[0, 1], [torch.nan, 1], [torch.nan, torch.nan]]), equal_nan=True
    )
    assert schema.counts == (0, 2)
    assert len(dataset.split().train) == 2  # c has no label at all
    assert read_own(folder, OwnOptions(label=("l1", "f"), ignore=("l2",)))[0].info.target == "values"


def test_no_features_gives_ones(tmp_path: Path) -> None:
    dataset, schema = read_own(write(tmp_path, nodes="id,label\n1,a\n2,b\n", edges="source,target\n"))
    assert dataset[0].x.tolist() == [[1], [1]]
    assert dataset.num_edges == 0
    assert any("no feature columns" in note for note in schema.notes)


def test_excel_and_pandas_habits(tmp_path: Path) -> None:
    """A byte order mark, spaces around names and cells, blank lines, Windows line ends, pandas' index, labels as
    1.0.
    """
    nodes = "\ufeff,id , x, label\r\n0, a ,1,1.0\r\n\r\n1,b,2,\r\n2,c,3,2.0\r\n"
    edges = ",source,target\r\n0,a,b\r\n1,b,c\r\n"
    dataset, schema = read_own(write(tmp_path, nodes=nodes, edges=edges))
    assert dataset[0].x.tolist() == [[1], [2], [3]]
    assert (dataset[0].y.tolist(), dataset.info.names) == ([0, -1, 1], ("1", "2"))
    assert {column.name for column in schema.columns if column.role == "ignored"} == {"unnamed"}


def test_index_without_a_name_is_the_id(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "label": ["p", "q"]}, index=["u", "v"])
    frame.to_csv(tmp_path / "nodes.csv")
    (tmp_path / "edges.csv").write_text("source,target\nu,v\n")
    assert read_own(tmp_path)[0][0].edge_index.tolist() == [[0, 1], [1, 0]]


MANY_NODES = "graph,id,x,label\ng2,a,1,0\ng1,a,2,1\ng2,b,3,1\ng1,b,4,0\ng1,c,5,1\n"
MANY_EDGES = "graph,source,target,weight\ng1,a,c,1\ng2,b,a,2\ng1,b,c,3\n"


def test_many_graphs_with_labels_of_nodes(tmp_path: Path) -> None:
    dataset, _ = read_own(write(tmp_path, nodes=MANY_NODES, edges=MANY_EDGES))
    assert (len(dataset), dataset.info.level) == (2, "node")
    first, second = dataset[0], dataset[1]
    assert (first.x.tolist(), first.y.tolist(), first.edge_index.tolist()) == ([[1], [3]], [0, 1], [[0, 1], [1, 0]])
    assert (second.x.tolist(), second.y.tolist()) == ([[2], [4], [5]], [1, 0, 1])
    assert second.edge_index.tolist() == [[0, 1, 2, 2], [2, 2, 0, 1]]
    assert second.edge_weight.tolist() == [1, 3, 1, 3]
    assert sum(len(part) for part in vars(dataset.split()).values()) == 2


def test_many_graphs_with_labels_of_graphs(tmp_path: Path) -> None:
    graphs = "id,label,split\ng1,good,train\ng2,bad,test\n"
    dataset, schema = read_own(write(tmp_path, nodes=MANY_NODES, edges=MANY_EDGES, graphs=graphs))
    assert (len(dataset), dataset.info.level, dataset.info.names) == (2, "graph", ("bad", "good"))
    assert [dataset[i].y.tolist() for i in range(2)] == [[1], [0]]
    assert dataset[0].x.tolist() == [[2, 1], [4, 0], [5, 1]]  # the order of graphs.csv; a node's label is a feature
    assert (dataset.split().train.tolist(), dataset.split().test.tolist()) == ([0], [1])
    new = write(tmp_path, graphs="id\ng1\ng2\n")
    assert read_own(new, schema=schema)[0][0].y.tolist() == [-1]


def test_the_label_flag_chooses_the_level(tmp_path: Path) -> None:
    graphs = "graph,label\ng1,good\ng2,bad\n"
    folder = write(tmp_path, nodes=MANY_NODES.replace("label", "kind"), edges=MANY_EDGES, graphs=graphs)
    assert read_own(folder)[0].info.level == "graph"
    dataset, schema = read_own(folder, OwnOptions(label=("kind",)))
    assert (dataset.info.level, dataset.info.names) == ("node", ("0", "1"))
    assert [column.role for column in schema.columns if column.file == "graphs"] == ["graph", "ignored"]


def test_graphs_split_by_their_nodes(tmp_path: Path) -> None:
    nodes = "graph,id,label,split\n1,a,0,train\n2,b,1,test\n2,c,0,test\n"
    dataset, _ = read_own(write(tmp_path, nodes=nodes, edges="source,target\nb,c\n"))
    assert (dataset.split().train.tolist(), dataset.split().test.tolist()) == ([0], [1])
    with pytest.raises(DataError, match=r"nodes.csv, line 4, column split: 'train' differs from other nodes"):
        read_own(write(tmp_path, nodes=nodes.replace("c,0,test", "c,0,train")))


@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 1000))
def test_both_ways_is_a_symmetric_set(nodes: int, edges: int, seed: int) -> None:
    ends = np.random.default_rng(seed).integers(0, nodes, (2, edges))
    found, rows, repeats = both_ways(ends, nodes)
    given = set(zip(*ends.tolist(), strict=True))
    assert list(zip(*found.tolist(), strict=True)) == sorted(given | {(v, u) for u, v in given})
    assert repeats == edges - len(given)
    for (u, v), row in zip(found.T.tolist(), rows.tolist(), strict=True):
        assert ends[:, row].tolist() == ([u, v] if (u, v) in given else [v, u])


@settings(max_examples=10)
@given(st.integers(2, 30), st.integers(0, 1000))
def test_export_and_import_is_the_same_graph(tmp_path_factory: pytest.TempPathFactory, nodes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("graph")
    x, y = rng.normal(size=(nodes, 3)).astype(np.float32), np.arange(nodes) % 2
    ends, _, _ = both_ways(rng.integers(0, nodes, (2, 2 * nodes)), nodes)
    names = np.array([f"node {i}" for i in rng.permutation(nodes)])
    frame = pd.DataFrame(x, columns=["f1", "f2", "f3"]).assign(id=names, label=y)
    frame.to_parquet(folder / "nodes.parquet") if seed % 2 else frame.to_csv(folder / "nodes.csv.gz")
    pd.DataFrame({"source": names[ends[0]], "target": names[ends[1]]}).to_csv(folder / "edges.csv", index=False)
    graph = read_own(folder)[0][0]
    assert torch.equal(graph.x, torch.from_numpy(x))
    assert torch.equal(graph.edge_index, torch.from_numpy(ends))
    assert graph.y.tolist() == y.tolist()


def test_new_files_of_the_same_form(tmp_path: Path) -> None:
    folder = write(tmp_path, nodes=NODES, edges=EDGES)
    schema = read_own(folder)[1]
    write(tmp_path, nodes="size,kind,id,age\n9,red,x,8\n7,red,y,6\n", edges="far,weight,target,source\n1,1,x,y\n")
    dataset, same = read_own(folder, schema=schema)
    assert dataset[0].x.tolist() == [[8, 9, 0, 1], [6, 7, 0, 1]]  # the first file's columns and categories
    assert dataset[0].y.tolist() == [-1, -1]
    assert (same, dataset.num_splits, dataset.info.names) == (schema, 0, ("cat", "dog"))
    write(tmp_path, nodes="size,kind,id,age,label\n9,red,x,8,dog\n7,red,y,6,cow\n")
    with pytest.raises(
        DataError, match=r"nodes.csv, line 3, column label: 'cow' is none of the 2 classes known \(cat, dog\)"
    ):
        read_own(folder, schema=schema)
    write(tmp_path, nodes="size,kind,id,age\n9,green,x,8\n7,red,y,6\n")
    with pytest.raises(
        DataError, match=r"nodes.csv, line 2, column kind: 'green' is none of the values known \(blue, red\)"
    ):
        read_own(folder, schema=schema)
    write(tmp_path, nodes="size,kind,id,Age\n9,green,x,8\n")
    with pytest.raises(DataError, match=r"nodes.csv, line 1: no column 'age' among .* Did you mean 'Age'"):
        read_own(folder, schema=schema)


def test_split_kinds(tmp_path: Path) -> None:
    nodes = "id,label\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20))
    folder = write(tmp_path, nodes=nodes, edges="source,target\n1,2\n")
    split = read_own(folder, OwnOptions(split_kind="stratified", fractions=(0.5, 0.3, 0.2)))[0].split()
    assert [sum(i % 2 for i in part.tolist()) for part in (split.train, split.valid, split.test)] == [5, 3, 2]
    with pytest.raises(UsageError, match="needs molecules"):
        read_own(folder, OwnOptions(split_kind="scaffold"))
    one, two = (read_own(folder, OwnOptions(seed=seed))[0].split().train.tolist() for seed in (0, 1))
    assert one != two


def test_types_of_nodes_and_edges_are_features(tmp_path: Path) -> None:
    nodes = "id,type,age,label\nu1,user,30,0\nu2,user,40,1\ni1,item,1,0\ni2,item,2,1\n"
    edges = "source,target,relation\nu1,i1,bought\nu2,i1,saw\nu1,u2,knows\n"
    dataset, schema = read_own(write(tmp_path, nodes=nodes, edges=edges))
    graph = dataset[0]
    assert graph.x.tolist() == [[0, 1, 30], [0, 1, 40], [1, 0, 1], [1, 0, 2]]  # item, user, age
    given = {(0, 2): "bought", (1, 2): "saw", (0, 1): "knows"}
    kinds = ("bought", "knows", "saw")
    for (u, v), row in zip(graph.edge_index.T.tolist(), graph.edge_attr.tolist(), strict=True):
        assert row == [float(kind == given[min(u, v), max(u, v)]) for kind in kinds]
    assert [c.categories for c in schema.select("edges", "feature")] == [kinds]


def test_several_tables_of_nodes_are_told_what_to_do(tmp_path: Path) -> None:
    write(tmp_path, users="id\n1\n", items="id\n2\n", bought="source,target\n1,2\n")
    with pytest.raises(DataError, match=r"it holds bought.csv, items.csv, users.csv. GECO reads graphs"):
        read_own(tmp_path)
