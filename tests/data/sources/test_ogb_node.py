"""OGB's files of one graph: written here as OGB writes them (gzipped CSV without headings)."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from geco.errors import DataError
from tests.data.sources.comparison import read
from tests.data.sources.layouts import ARXIV_EDGES, ARXIV_NODES, write_arxiv, write_table


@pytest.mark.parametrize("folder", ["ogbn-arxiv", "ogbn_arxiv", "arxiv"])
def test_values_are_those_of_the_files(tmp_path: Path, folder: str) -> None:
    found, parts = write_arxiv(tmp_path / folder)
    dataset = read("ogbn-arxiv", tmp_path)
    graph = dataset[0]
    assert torch.equal(graph.x, torch.from_numpy(found["x"]))
    assert torch.equal(
        graph.edge_index, torch.from_numpy(found["edges"]).T
    )  # directed, in the file's order, nothing left out
    assert torch.equal(graph.y, torch.from_numpy(found["y"]))
    assert torch.equal(graph.year, torch.from_numpy(found["year"]))
    split = dataset.split()
    assert [split.train.tolist(), split.valid.tolist(), split.test.tolist()] == [p.tolist() for p in parts]


@pytest.mark.parametrize(
    ("file", "array", "message"),
    [
        ("raw/edge.csv.gz", np.zeros((ARXIV_EDGES, 3)), "edge.csv.gz has 3 columns"),
        ("raw/edge.csv.gz", np.zeros((4, 2)), "edge.csv.gz has 4 rows"),
        ("raw/edge.csv.gz", np.full((ARXIV_EDGES, 2), ARXIV_NODES), "name nodes outside their graph"),
        ("raw/node-feat.csv.gz", np.zeros((3, 3)), "node-feat.csv.gz has 3 rows"),
        ("raw/node-label.csv.gz", np.full(ARXIV_NODES, 40), "classes from 40 to 40"),
        ("raw/node_year.csv.gz", np.zeros(3), "node_year.csv.gz has 3 rows"),
        ("raw/num-node-list.csv.gz", np.array([10, 10]), "num-edge-list.csv.gz has 1 rows"),
        ("split/time/valid.csv.gz", np.array([ARXIV_NODES]), "valid"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, file: str, array: np.ndarray, message: str) -> None:
    write_arxiv(tmp_path / "ogbn-arxiv")
    write_table(tmp_path / "ogbn-arxiv" / file, array)
    with pytest.raises(DataError, match=message):
        read("ogbn-arxiv", tmp_path)


def test_several_graphs_are_refused(tmp_path: Path) -> None:
    write_arxiv(tmp_path / "ogbn-arxiv")
    for what in ("node", "edge"):
        write_table(tmp_path / "ogbn-arxiv" / "raw" / f"num-{what}-list.csv.gz", np.array([10, 10]))
    with pytest.raises(DataError, match=r"num-node-list\.csv\.gz lists 2 graphs"):
        read("ogbn-arxiv", tmp_path)


@pytest.mark.parametrize("content", [b"", b"not gzip", gzip.compress(b"1,2\n3,a\n")], ids=["empty", "text", "letter"])
def test_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    write_arxiv(tmp_path / "ogbn-arxiv")
    (tmp_path / "ogbn-arxiv" / "raw" / "edge.csv.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"edge\.csv\.gz"):
        read("ogbn-arxiv", tmp_path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    write_arxiv(tmp_path / "ogbn-arxiv")
    (tmp_path / "ogbn-arxiv" / "raw" / "node-feat.csv.gz").unlink()
    with pytest.raises(DataError, match=r"ogbn-arxiv is not on disk.*raw/node-feat\.csv\.gz"):
        read("ogbn-arxiv", tmp_path)
