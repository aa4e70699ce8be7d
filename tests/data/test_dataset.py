"""Columnar data sets hold exactly what went in, and batch exactly as PyG does."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from geco.data.collate import collect
from geco.data.dataset import Info, Split
from geco.errors import DataError
from tests.data.graphs import GRAPH, make_graph, same, small

NAMES = ("x", "edge_index", "edge_attr", "y", "edge_label_index", "edge_label", "weight")


sizes = st.lists(st.integers(0, 7), min_size=1, max_size=6).map(lambda sizes: [*sizes, 2])


@given(sizes, st.integers(0, 1000))
def test_items_are_what_went_in(sizes: list[int], seed: int) -> None:
    graphs = [make_graph(n, seed + i) for i, n in enumerate(sizes)]
    dataset = collect(GRAPH, graphs)
    assert len(dataset) == len(graphs)
    assert dataset.sizes.tolist() == sizes
    for i, graph in enumerate(graphs):
        for number in (i, i - len(graphs)):  # also counted from the end
            found = dataset[number]
            assert found.num_nodes == graph.num_nodes
            assert sorted(found.keys()) == sorted(graph.keys())
            assert all(same(found[name], graph[name]) for name in NAMES)


@given(sizes, st.integers(0, 1000), st.data())
def test_batches_as_pyg_does(sizes: list[int], seed: int, data: st.DataObject) -> None:
    graphs = [make_graph(n, seed + i) for i, n in enumerate(sizes)]
    chosen = data.draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=8))
    found, wanted = collect(GRAPH, graphs).batch(chosen), Batch.from_data_list([graphs[i] for i in chosen])
    assert found.num_graphs == wanted.num_graphs
    assert found.num_nodes == wanted.num_nodes
    assert found.graph_id.tolist() == chosen
    for name in (*NAMES, "batch", "ptr"):
        assert same(found[name], wanted[name]), name


def test_graph_without_edges_or_nodes() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    dataset = collect(GRAPH, [{"x": torch.ones(n, 2), "edge_index": none, "y": torch.zeros(1, 2)} for n in (1, 0, 2)])
    assert [graph.num_nodes for graph in dataset] == [1, 0, 2]
    assert dataset.batch([1, 1]).num_graphs == 2
    assert dataset.batch([1]).x.shape == (0, 2)
    assert dataset.batch([0, 2]).edge_index.dtype == torch.int64
    assert dataset.batch([]).num_graphs == 0
    assert dataset.batch([]).x.shape == (0, 2)


@pytest.mark.parametrize("wrong", [3, -4])
def test_wrong_number_is_refused(wrong: int) -> None:
    dataset = collect(GRAPH, [make_graph(2, i) for i in range(3)])
    with pytest.raises(IndexError, match=f"some has 3 graphs, graph {wrong} was asked for"):
        dataset[wrong]
    with pytest.raises(IndexError, match=f"graph {wrong} "):
        dataset.batch([0, wrong])


def test_batch_survives_another_process() -> None:
    batch = collect(GRAPH, [make_graph(3, i) for i in range(3)]).batch([2, 0])
    again = pickle.loads(pickle.dumps(batch))
    assert again.num_graphs == 2
    assert torch.equal(again.edge_index, batch.edge_index)


@pytest.mark.parametrize("key", sorted(small().arrays))
def test_fingerprint_changes_with_every_array(key: str) -> None:
    dataset = small()
    changed = dataset.arrays[key].clone()
    changed.view(-1)[-1] += 1
    assert replace(dataset, arrays={**dataset.arrays, key: changed}).fingerprint != dataset.fingerprint
    without = {name: array for name, array in dataset.arrays.items() if name != key}
    assert replace(dataset, arrays=without).fingerprint != dataset.fingerprint


def test_fingerprint_is_of_the_content_only() -> None:
    dataset = small()
    arrays = {key: dataset.arrays[key].clone() for key in reversed(dataset.arrays)}
    assert replace(dataset, arrays=arrays).fingerprint == dataset.fingerprint
    assert replace(dataset, info=replace(GRAPH, metric="r2")).fingerprint != dataset.fingerprint
    wide = {**dataset.arrays, "node/x": dataset.arrays["node/x"].long()}
    assert replace(dataset, arrays=wide).fingerprint != dataset.fingerprint
    reshaped = {**dataset.arrays, "node/x": dataset.arrays["node/x"].view(3, -1)}
    assert replace(dataset, arrays=reshaped).fingerprint != dataset.fingerprint
    bits = dataset.attach("node/seen", torch.zeros(20, dtype=torch.bool))
    assert bits.fingerprint != dataset.attach("node/seen", torch.ones(20, dtype=torch.bool)).fingerprint


def test_attach_adds_rows_and_refuses_wrong_lengths() -> None:
    dataset = small()
    more = dataset.attach("node/lap_pe", torch.arange(20.0)).attach("graph/weight2", torch.arange(5.0))
    assert more[4].lap_pe.tolist() == [16, 17, 18, 19]
    assert more.batch([3, 1]).weight2.tolist() == [3, 1]
    assert "node/lap_pe" not in dataset.arrays
    for name, rows in (("node/lap_pe", 19), ("graph/weight2", 6), ("edge/weight", 1)):
        with pytest.raises(DataError, match=f"{name} has {rows} rows, some has "):
            dataset.attach(name, torch.zeros(rows))


def test_info_goes_through_json() -> None:
    import json

    info = Info("a", "link", "tokens", 5, "mrr", (3, 4), (2,), ("x", "y"), "note")
    assert Info.from_json(json.loads(json.dumps(info.to_json()))) == info


def test_split_of_one_graph_is_over_nodes() -> None:
    info = Info("one", "node", "class", 2, "accuracy")
    graph = {"x": torch.ones(9, 1), "edge_index": torch.empty(2, 0, dtype=torch.int64), "y": torch.zeros(9)}
    split = Split(*torch.arange(9).split([5, 2, 2]))
    assert collect(info, [graph], [split]).split().test.tolist() == [7, 8]
    with pytest.raises(DataError, match="names nodes outside 0 to 8"):
        collect(info, [graph], [replace(split, test=torch.tensor([9]))])


def test_links_may_be_none() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    dataset = collect(GRAPH, [{"edge_index": none, "edge_label_index": none, "num_nodes": n} for n in (2, 0)])
    assert dataset[0].edge_label_index.shape == (2, 0)
    assert dataset.batch([0, 1]).num_nodes == 2


def test_pyg_loader_makes_the_same_batches() -> None:
    dataset = small()
    batch = next(iter(DataLoader(dataset, batch_size=3)))
    assert batch.num_graphs == 3
    assert torch.equal(batch.ptr, dataset.batch([0, 1, 2]).ptr)


def test_data_sets_and_splits_can_be_compared() -> None:
    assert isinstance(small() == small(), bool)
    assert isinstance(small().split() == small().split(), bool)
    assert {small(): 1}


def test_attach_to_an_unknown_level_is_refused() -> None:
    with pytest.raises(DataError, match="nodes/x"):
        small().attach("nodes/x", torch.zeros(20, 1))
