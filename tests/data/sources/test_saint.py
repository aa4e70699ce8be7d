"""GraphSAINT's raw files (Flickr, Yelp): written here, read by us and by PyG."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.datasets import Flickr, Yelp

from geco.errors import DataError
from tests.data.sources.comparison import assert_same, read
from tests.data.sources.layouts import SAINT_NODES, write_saint


def test_flickr_equals_pyg(tmp_path: Path) -> None:
    write_saint(tmp_path / "Flickr" / "raw")
    theirs = Flickr(str(tmp_path / "Flickr"))[0]
    assert_same(read("flickr", tmp_path), theirs)


def test_yelp_equals_pyg(tmp_path: Path) -> None:
    write_saint(tmp_path / "yelp" / "raw", labels=100)
    theirs = Yelp(str(tmp_path / "yelp"))[0]
    ours = read("yelp", tmp_path)
    assert_same(ours, theirs)
    assert ours[0].y.shape == (SAINT_NODES, 100)
    assert ours.info.target == "labels"


def test_split_keeps_the_file_s_nodes(tmp_path: Path) -> None:
    write_saint(tmp_path / "flickr")
    role = json.loads((tmp_path / "flickr" / "role.json").read_text())
    split = read("flickr", tmp_path).split()
    assert [split.train.tolist(), split.valid.tolist(), split.test.tolist()] == [role["tr"], role["va"], role["te"]]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("class_map.json", "{", "class_map.json"),
        ("class_map.json", '{"0": 1}', "class_map.json should map each of 30 nodes"),
        (
            "class_map.json",
            json.dumps({str(i + 1): 0 for i in range(SAINT_NODES)}),
            "class_map.json should name each node",
        ),
        (
            "class_map.json",
            json.dumps({str(i): "a" for i in range(SAINT_NODES)}),
            "class_map.json should map node numbers",
        ),
        (
            "class_map.json",
            json.dumps({str(i): 7 for i in range(SAINT_NODES)}),
            "has classes from 7 to 7, flickr has 0 to 6",
        ),
        ("role.json", '{"tr": [0]}', "role.json should list"),
        ("role.json", '{"tr": [0], "va": [0], "te": [1]}', "split 0 has nodes in more than one part"),
        ("role.json", '{"tr": [0], "va": [99], "te": [1]}', "split 0 names nodes outside"),
        ("feats.npy", "no array", "feats.npy"),
        ("adj_full.npz", "<html>", "adj_full.npz"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, file: str, text: str, message: str) -> None:
    write_saint(tmp_path / "flickr")
    (tmp_path / "flickr" / file).write_text(text)
    with pytest.raises(DataError, match=message.replace(".", r"\.")):
        read("flickr", tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.array([SAINT_NODES])}, "does not hold a sparse matrix"),
        ({"indptr": np.arange(SAINT_NODES + 1)[::-1]}, "does not hold a sparse matrix"),
        ({"shape": np.array([SAINT_NODES, SAINT_NODES + 1])}, "an adjacency is square"),
        ({"shape": np.array([SAINT_NODES])}, "does not hold a sparse matrix"),
        ({"indices": np.array(["a"])}, "indices should hold numbers"),
        ({"indptr": None}, "lacks the arrays indptr"),
    ],
)
def test_wrong_adjacency_is_refused(tmp_path: Path, change: dict[str, np.ndarray | None], message: str) -> None:
    write_saint(tmp_path / "flickr")
    path = tmp_path / "flickr" / "adj_full.npz"
    with np.load(path) as file:
        arrays = {**file}
    if "indices" in change and len(change["indices"]) == 1:
        change = {"indices": np.where(np.arange(len(arrays["indices"])) == 3, change["indices"], arrays["indices"])}
    np.savez(path, **{k: v for k, v in {**arrays, **change}.items() if v is not None})
    with pytest.raises(DataError, match=f"adj_full.npz.* {message}|adj_full.npz: {message}"):
        read("flickr", tmp_path)


def test_labels_other_than_0_and_1_are_refused(tmp_path: Path) -> None:
    write_saint(tmp_path / "yelp", labels=100)
    path = tmp_path / "yelp" / "class_map.json"
    found = json.loads(path.read_text())
    found["4"][2] = 3
    path.write_text(json.dumps(found))
    with pytest.raises(DataError, match=r"class_map\.json.*row 5, column 3.*0, 1 or missing"):
        read("yelp", tmp_path)


def test_features_of_other_nodes_are_refused(tmp_path: Path) -> None:
    write_saint(tmp_path / "flickr")
    np.save(tmp_path / "flickr" / "feats.npy", torch.zeros(4, 5).numpy())
    with pytest.raises(DataError, match=r"feats\.npy has 4 rows for 30 nodes"):
        read("flickr", tmp_path)
