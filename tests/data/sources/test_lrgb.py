from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from geco.data.load_dataset import load
from geco.data.molecules import ATOM_CATEGORIES
from geco.data.registry import find
from geco.data.sources import lrgb
from geco.errors import DataError
from tests.data.sources.layouts import LRGB, LRGB_COUNTS, Parts, write_lrgb


@pytest.mark.parametrize("name", LRGB)
def test_equals_what_was_written_and_what_pyg_reads(name: str, tmp_path: Path) -> None:
    from torch_geometric.datasets import LRGBDataset

    parts = write_lrgb(tmp_path / name / "raw", name)
    dataset = lrgb.read(tmp_path / name / "raw", find(name))
    assert dataset.split().train.tolist() == [0, 1, 2]
    assert dataset.split().valid.tolist() == [3]
    assert dataset.split().test.tolist() == [4, 5]
    written = [graph for part in LRGB_COUNTS for graph in parts[part]]
    theirs = [graph for part in LRGB_COUNTS for graph in LRGBDataset(str(tmp_path), name, part)]
    assert len(dataset) == len(written) == len(theirs) == 6
    for i, (items, wanted) in enumerate(zip(written, theirs, strict=True)):
        graph = dataset[i]
        torch.testing.assert_close(graph.x, items[0].float() if name.endswith("sp") else items[0], rtol=0, atol=0)
        torch.testing.assert_close(graph.edge_index, items[2], rtol=0, atol=0)
        assert set(graph.keys()) - {"num_nodes"} == set(wanted.keys())
        for key in wanted.keys():  # noqa: SIM118
            torch.testing.assert_close(
                graph[key], wanted[key], rtol=0, atol=0, check_dtype=key != "y" or name != "peptides-func"
            )


def test_cocos_classes_have_no_gaps(tmp_path: Path) -> None:
    used = [i for i in range(91) if i not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)]
    graph = (torch.zeros(81, 14), torch.zeros(0, 2), torch.zeros(2, 0, dtype=torch.int64), used)
    write_lrgb(tmp_path, "coco-sp", lambda parts: parts["val"].append(graph))
    assert lrgb.read(tmp_path, find("coco-sp"))[4].y.tolist() == list(range(81))


@pytest.mark.parametrize("name", LRGB)
def test_by_name_below_pygs_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    write_lrgb(tmp_path / name / "raw", name)
    dataset = load(name, tmp_path, offline=True)
    assert (len(dataset), dataset.info.name) == (6, name)
    categories = () if name.endswith("sp") else ATOM_CATEGORIES
    assert dataset.info.categories == categories


@pytest.mark.parametrize("name", LRGB)
@pytest.mark.parametrize("content", [None, b"", b"<html>"])
def test_missing_and_wrong_files_are_named(name: str, content: bytes | None, tmp_path: Path) -> None:
    write_lrgb(tmp_path, name)
    path = tmp_path / f"val.{'pickle' if name.endswith('sp') else 'pt'}"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(DataError, match=path.name):
        lrgb.read(tmp_path, find(name))


def _swap(place: int, value: Any) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        items = parts["test"][1]
        parts["test"][1] = (*items[:place], value, *items[place + 1 :])

    return change


@pytest.mark.parametrize(
    ("name", "change", "wanted"),
    [
        ("pascalvoc-sp", _swap(3, [21]), "y has shape"),
        ("pascalvoc-sp", _swap(2, torch.zeros(5, 2)), "edge_index has shape"),
        ("pcqm-contact", _swap(3, torch.zeros(2, 9)), "edge_label_index has shape"),
        ("peptides-func", _swap(3, torch.zeros(1, 11)), "shape"),
        ("peptides-func", _swap(3, torch.full((1, 10), 3.0)), "a label is 0, 1 or missing, got 3"),
        ("peptides-struct", _swap(0, "text"), "str"),
        ("peptides-struct", lambda parts: parts["test"].__setitem__(1, (torch.zeros(1),)), "a tuple of x, edge_attr"),
        ("peptides-struct", lambda parts: parts["test"].__setitem__(1, 3), "a tuple of x, edge_attr"),
    ],
)
def test_a_wrong_graph_is_named(name: str, change: Callable[[Parts], None], wanted: str, tmp_path: Path) -> None:
    write_lrgb(tmp_path, name, change)
    with pytest.raises(DataError, match=rf"test\.\w+: graph 1: .*{wanted}"):
        lrgb.read(tmp_path, find(name))


def test_an_unknown_class_is_named(tmp_path: Path) -> None:
    graph = (torch.zeros(1, 14), torch.zeros(0, 2), torch.zeros(2, 0, dtype=torch.int64), [12])
    write_lrgb(tmp_path, "coco-sp", lambda parts: parts["train"].append(graph))
    with pytest.raises(DataError, match=r"train\.pickle: graph 3: node class 12 is none of the 81"):
        lrgb.read(tmp_path, find("coco-sp"))


def test_categories_out_of_range_are_refused(tmp_path: Path) -> None:
    def change(parts: Parts) -> None:
        parts["train"][0][0][0, 0] = 119

    write_lrgb(tmp_path, "peptides-func", change)
    with pytest.raises(DataError, match="node/x has categories outside"):
        lrgb.read(tmp_path, find("peptides-func"))
