from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from geco.data.code_graphs import END, UNKNOWN
from geco.data.dataset import GraphDataset
from geco.data.load_dataset import load
from geco.data.registry import find
from geco.data.sources import ogb_code2
from geco.errors import DataError
from tests.data.sources.layouts import CODE2_NAMES, CODE2_TABLES, write_code2

SPEC = find("ogbg-code2")
ADDITIONAL = ["node_is_attributed", "node_dfs_order", "node_depth"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_code2(tmp_path / "code2")
    return tmp_path / "code2"


def _assert_graphs(dataset: GraphDataset, raw: Path, limit: int) -> None:
    """Compare with the steps of OGB's example, on the graphs that OGB reads."""
    sys.modules.setdefault("outdated", None)  # type: ignore[arg-type]
    from ogb.io.read_graph_raw import read_csv_graph_raw

    theirs = read_csv_graph_raw(str(raw), additional_node_files=ADDITIONAL)
    assert len(dataset) == len(theirs)
    for i, wanted in enumerate(theirs):
        graph, kept = dataset[i], min(limit, wanted["num_nodes"])
        assert graph.num_nodes == kept
        depth = np.minimum(wanted["node_depth"][:kept], 20)
        np.testing.assert_array_equal(graph.x, np.hstack([wanted["node_feat"][:kept], depth]))
        tree = [tuple(ends) for ends in wanted["edge_index"].T.tolist() if max(ends) < kept]
        tokens = np.flatnonzero(wanted["node_is_attributed"][:kept]).tolist()
        following = list(itertools.pairwise(tokens))
        pairs = [*tree, *((b, a) for a, b in tree), *following, *((b, a) for a, b in following)]
        kinds = [[0, 0]] * len(tree) + [[0, 1]] * len(tree) + [[1, 0]] * len(following) + [[1, 1]] * len(following)
        assert graph.edge_index.T.tolist() == [list(pair) for pair in pairs]
        assert graph.edge_attr.tolist() == kinds


def test_graphs(folder: Path) -> None:
    dataset = ogb_code2.read(folder, SPEC)
    _assert_graphs(dataset, folder / "raw", 1_000)
    assert dataset[2].x[:, 2].tolist() == [0, 19, 20, 20, 20]
    assert dataset.info.categories == (98, 10_030, 21)
    assert dataset.info.edge_categories == (2, 2)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_large_graphs_are_cut_off(folder: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ogb_code2, "NODES", limit)
    _assert_graphs(ogb_code2.read(folder, SPEC), folder / "raw", limit)


def test_tokens_follow_the_text_whatever_the_order_of_the_nodes(folder: Path) -> None:
    order = CODE2_TABLES["node_dfs_order"].copy()
    order[:4] = [3, 2, 1, 0]
    write_code2(folder, node_dfs_order=order)
    graph = ogb_code2.read(folder, SPEC)[0]
    assert graph.edge_index[:, 6:].tolist() == [[3, 2, 2, 1], [2, 1, 3, 2]]


def test_names_and_vocabulary(folder: Path) -> None:
    dataset = ogb_code2.read(folder, SPEC)
    words = dataset.info.names
    assert words == ("get", "null", "id", "name", UNKNOWN, END)  # of training, in its order
    assert [[words[i] for i in row] for row in dataset.arrays["graph/y"].tolist()] == [
        ["get", "name", END, END, END],
        [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, "name"],
        ["get", "null", "id", END, END],
        ["name", END, END, END, END],
    ]
    whole = dataset.arrays["graph/y_words"]
    assert whole[1].tolist() == [6, 7, 8, 9, 3, 10, 11]
    assert whole[3].tolist() == [3, -1, -1, -1, -1, -1, -1]


def test_the_name_null_is_nan_as_in_ogb(folder: Path) -> None:
    write_code2(folder, **{"graph-label": np.array(["null", "NA", *CODE2_NAMES[2:]])})
    dataset = ogb_code2.read(folder, SPEC)
    assert dataset.info.names[:4] == ("get", "null", "id", "nan")
    assert dataset.arrays["graph/y"][0].tolist() == dataset.arrays["graph/y"][1].tolist() == [3, 5, 5, 5, 5]


def test_the_vocabulary_keeps_frequent_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ogb_code2, "WORDS", 2)
    assert ogb_code2.read(folder, SPEC).info.names == ("get", "null", UNKNOWN, END)


def test_by_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    _assert_graphs(load("ogbg-code2", tmp_path, offline=True), folder / "raw", 1_000)


@pytest.mark.parametrize("name", [*(f"raw/{name}.csv.gz" for name in CODE2_TABLES), "split/project/test.csv.gz"])
@pytest.mark.parametrize("content", [None, b"", b"<html>"])
def test_missing_and_wrong_files_are_named(folder: Path, name: str, content: bytes | None) -> None:
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        ogb_code2.read(folder, SPEC)


@pytest.mark.parametrize("name", CODE2_TABLES)
def test_a_file_that_lost_a_row_is_refused(folder: Path, name: str) -> None:
    write_code2(folder, **{name: CODE2_TABLES[name][:-1]})
    with pytest.raises(DataError, match=r"(raw/[\w-]+\.csv\.gz has \d+ |must hold numbers of graphs from 0 to 2)"):
        ogb_code2.read(folder, SPEC)


@pytest.mark.parametrize(
    ("name", "row", "value", "wanted"),
    [
        ("edge", 3, 9, "nodes outside their graph"),
        ("node-feat", 0, 10_030, "node/x has categories outside"),
        ("node_depth", 0, -1, "node/x has categories outside"),
    ],
)
def test_wrong_numbers_are_refused(folder: Path, name: str, row: int, value: int, wanted: str) -> None:
    table = CODE2_TABLES[name].copy()
    table[row] = value
    write_code2(folder, **{name: table})
    with pytest.raises(DataError, match=wanted):
        ogb_code2.read(folder, SPEC)
