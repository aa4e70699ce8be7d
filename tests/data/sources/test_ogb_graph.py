from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from geco.data.load_dataset import load
from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES
from geco.data.registry import find
from geco.data.sources import ogb_graph
from geco.errors import DataError
from tests.data.sources.layouts import OGB_NODES, OGB_PARTS, write_ogb, write_ogb_molecules, write_ogb_proteins


@pytest.mark.parametrize("name", ["ogbg-molhiv", "ogbg-molpcba", "ogbg-ppa"])
def test_equals_what_was_written_and_what_ogb_reads(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sys.modules.setdefault("outdated", None)  # type: ignore[arg-type]
    from ogb.io.read_graph_raw import read_csv_graph_raw

    spec = find(name)
    tables = write_ogb_proteins(tmp_path) if name == "ogbg-ppa" else write_ogb_molecules(tmp_path, spec.num_targets)
    dataset = ogb_graph.read(tmp_path, spec)
    theirs = read_csv_graph_raw(str(tmp_path / "raw"), add_inverse_edge=True)
    assert len(dataset) == len(theirs) == 3
    for i, wanted in enumerate(theirs):
        graph = dataset[i]
        assert graph.num_nodes == wanted["num_nodes"] == OGB_NODES[i]
        np.testing.assert_array_equal(graph.edge_index, wanted["edge_index"])
        np.testing.assert_array_equal(graph.edge_attr, wanted["edge_feat"])
        np.testing.assert_array_equal(
            graph.x, np.zeros((OGB_NODES[i], 1)) if name == "ogbg-ppa" else wanted["node_feat"]
        )
    assert dataset[0].edge_index.tolist() == [[0, 1, 2, 1], [1, 0, 1, 2]]
    np.testing.assert_array_equal(dataset.arrays["graph/y"], tables["graph-label"])  # NaN where missing
    split = dataset.split()
    assert (split.train.tolist(), split.valid.tolist(), split.test.tolist()) == ([2], [0], [1])


def test_types_and_categories(tmp_path: Path) -> None:
    write_ogb_molecules(tmp_path / "pcba", 128)
    pcba = ogb_graph.read(tmp_path / "pcba", find("ogbg-molpcba"))
    assert (pcba.info.categories, pcba.info.edge_categories) == (ATOM_CATEGORIES, BOND_CATEGORIES)
    assert pcba.arrays["graph/y"].dtype == torch.float32
    assert int(pcba.arrays["graph/y"].isnan().sum()) == 2
    write_ogb_proteins(tmp_path / "ppa")
    ppa = ogb_graph.read(tmp_path / "ppa", find("ogbg-ppa"))
    assert (ppa.info.categories, ppa.info.edge_categories) == ((1,), ())
    assert ppa.arrays["edge/edge_attr"].dtype == torch.float32
    assert ppa[0].y.shape == (1,)


def test_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    write_ogb_molecules(tmp_path / "ogbg_molpcba", 128)
    write_ogb_molecules(tmp_path / "hiv", 1)
    write_ogb_proteins(tmp_path / "ogbg-ppa")
    for name in ("ogbg-molpcba", "ogbg-molhiv", "ogbg-ppa"):
        assert load(name, tmp_path, offline=True).num_edges == 10


FILES = ["edge", "num-node-list", "num-edge-list", "node-feat", "edge-feat", "graph-label"]


@pytest.mark.parametrize("name", [*(f"raw/{file}.csv.gz" for file in FILES), "split/scaffold/valid.csv.gz"])
@pytest.mark.parametrize("content", [None, b"", b"<html>"])
def test_missing_and_wrong_files_are_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    write_ogb_molecules(tmp_path, 1)
    (tmp_path / name).unlink() if content is None else (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        ogb_graph.read(tmp_path, find("ogbg-molhiv"))


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_lost_a_row_is_named(tmp_path: Path, name: str) -> None:
    write_ogb_molecules(tmp_path, 1)
    path = tmp_path / "raw" / f"{name}.csv.gz"
    pd.read_csv(path, header=None)[:-1].to_csv(path, index=False, header=False)
    with pytest.raises(DataError, match=r"raw/[a-z-]+\.csv\.gz has \d rows"):
        ogb_graph.read(tmp_path, find("ogbg-molhiv"))


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("edge", 3, "name nodes outside their graph"),
        ("edge", -1, "name nodes outside their graph"),
        ("num-node-list", -3, "num-node-list"),
        ("node-feat", 120, "node/x has categories outside"),
        ("node-feat", 0.5, "node-feat"),
        ("edge-feat", 6, "edge/edge_attr has categories outside"),
        ("graph-label", 2, "row 1, column 1: a label is 0, 1 or missing, got 2"),
    ],
)
def test_wrong_numbers_are_refused(tmp_path: Path, name: str, value: float, wanted: str) -> None:
    tables = write_ogb_molecules(tmp_path, 1)
    table = tables[name].astype(type(value))
    table.flat[0] = value
    write_ogb(tmp_path, {**tables, name: table}, "scaffold", OGB_PARTS)
    with pytest.raises(DataError, match=wanted):
        ogb_graph.read(tmp_path, find("ogbg-molhiv"))


def test_a_class_out_of_range_is_refused(tmp_path: Path) -> None:
    tables = write_ogb_proteins(tmp_path)
    write_ogb(tmp_path, {**tables, "graph-label": np.array([37, 0, 5])}, "species", OGB_PARTS)
    with pytest.raises(DataError, match=r"graph-label\.csv\.gz: classes are 0 to 36, got 0 to 37"):
        ogb_graph.read(tmp_path, find("ogbg-ppa"))
