from __future__ import annotations

import math
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from geco.data import statistics as module
from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Split
from geco.data.statistics import Statistics, bins, statistics
from geco.data.target_counts import count_targets

Edges = list[tuple[int, int]]
NODES = Info("drawn", "node", "class", 3, "accuracy")


@st.composite
def drawn(draw: st.DrawFn) -> list[tuple[int, Edges]]:
    graphs = []
    for nodes in draw(st.lists(st.integers(1, 9), min_size=1, max_size=6)):
        ends = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
        graphs.append((nodes, draw(st.lists(ends, max_size=25))))
    return graphs


def dataset(graphs: list[tuple[int, Edges]]) -> GraphDataset:
    items: list[dict[str, Tensor]] = []
    for nodes, edges in graphs:
        ends = torch.tensor(edges, dtype=torch.int64).view(-1, 2).T
        items.append({"x": torch.zeros(nodes, 4), "edge_index": ends, "y": torch.arange(nodes) % 3})
    return collect(NODES, items)


def counted(graphs: list[tuple[int, Edges]]) -> dict[str, int]:
    """The same counts, edge by edge."""
    totals: Counter[str] = Counter()
    for nodes, edges in graphs:
        plain = nx.Graph()
        plain.add_nodes_from(range(nodes))
        plain.add_edges_from(edges)
        loops = nx.number_of_selfloops(plain)
        totals["undirected"] += plain.number_of_edges()
        totals["loops"] += loops
        totals["duplicates"] += len(edges) - len(set(edges))
        totals["reversed"] += sum(1 for a, b in set(edges) if a < b and (b, a) in edges)
        totals["components"] += nx.number_connected_components(plain)
        plain.remove_edges_from([(node, node) for node in range(nodes)])
        totals["isolated"] += sum(1 for _, degree in plain.degree if degree == 0)
        for _, degree in plain.degree:
            totals[f"degree {degree}"] += 1
    return dict(totals)


def checked(graphs: list[tuple[int, Edges]]) -> Statistics:
    found, wanted = statistics(dataset(graphs)), counted(graphs)
    for name in ("undirected", "loops", "duplicates", "reversed", "components", "isolated"):
        assert getattr(found, name) == wanted[name], name
    for degree, count in enumerate(found.degrees):
        assert count == wanted.get(f"degree {degree}", 0)
    return found


@given(drawn())
def test_counts_are_those_of_brute_force(graphs: list[tuple[int, Edges]]) -> None:
    found = checked(graphs)
    sizes = [nodes for nodes, _ in graphs]
    assert (found.graphs, found.nodes, found.smallest, found.largest) == (
        len(sizes),
        sum(sizes),
        min(sizes),
        max(sizes),
    )
    assert found.directed == sum(len(edges) for _, edges in graphs)
    assert found.degrees.sum() == found.nodes
    assert found.mean_degree == pytest.approx(2 * (found.undirected - found.loops) / found.nodes)
    assert (found.features, found.edge_features) == (4, 0)


@given(drawn(), st.integers(1, 8))
def test_blocks_change_nothing(graphs: list[tuple[int, Edges]], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        checked(graphs)


def test_a_long_path_is_one_component() -> None:
    steps = np.random.default_rng(0).permutation(3000).tolist()
    found = statistics(dataset([(3000, list(pairwise(steps)))]))
    assert (found.components, found.isolated, found.degrees.tolist()) == (1, 0, [0, 2, 2998])


@given(st.lists(st.integers(0, 20), min_size=1, max_size=300))
def test_bins_hold_every_node_once(degrees: list[int]) -> None:
    found = bins(np.array(degrees))
    assert sum(count for _, _, count in found) == sum(degrees)
    assert found[0][:2] == (0, 0)
    assert all(low == before + 1 for (_, before, _), (low, _, _) in pairwise(found))
    assert found[-1][0] <= len(degrees) - 1 <= found[-1][1]


def graphs_with(target: str, targets: int, y: Tensor, names: tuple[str, ...] = ()) -> GraphDataset:
    graph = {"edge_index": torch.empty(2, 0, dtype=torch.int64), "num_nodes": torch.tensor(1)}
    info = Info("rows", "graph", target, targets, "any", names=names)  # type: ignore[arg-type]
    return collect(info, [{**graph, "y": row[None]} for row in y])


def test_classes_missing_and_empty_ones() -> None:
    columns, missing = count_targets(graphs_with("class", 4, torch.tensor([2, 0, -1, 2]), ("a", "b", "c")))
    assert [(column.name, column.count) for column in columns] == [("a", 1), ("b", 0), ("c", 2), ("3", 0)]
    assert missing == 1


def test_labels_and_values_with_missing_ones() -> None:
    nan = math.nan
    y = torch.tensor([[1.0, nan], [0.0, nan], [nan, nan], [1.0, 1.0]])
    columns, missing = count_targets(graphs_with("labels", 2, y))
    assert [(column.count, column.missing) for column in columns] == [(2, 1), (1, 3)]
    assert missing == 1
    columns, _ = count_targets(graphs_with("values", 2, torch.tensor([[1.5, nan], [-2.5, nan]])))
    assert (columns[0].low, columns[0].mean, columns[0].high, columns[0].count) == (-2.5, -0.5, 1.5, 2)
    assert columns[1].count == 0
    assert math.isnan(columns[1].mean)


def test_tokens_end_with_the_last_word() -> None:
    y = torch.tensor([[0, 2], [1, 0], [2, 2]])
    columns, missing = count_targets(graphs_with("tokens", 2, y, ("word", "unknown", "end")))
    assert [(column.count, column.missing) for column in columns] == [(2, 1), (1, 2)]
    assert missing == 1


def test_links() -> None:
    info = Info("contacts", "link", "labels", 1, "mrr")
    graph = {"x": torch.zeros(3, 1), "edge_index": torch.tensor([[0], [1]])}
    labels = {"edge_label_index": torch.tensor([[0, 1, 0], [1, 2, 2]]), "edge_label": torch.tensor([1, 0, 1])}
    columns, _ = count_targets(collect(info, [{**graph, **labels}]))
    assert [(column.name, column.count) for column in columns] == [("links", 2), ("non-links", 1)]


def test_splits_are_counted() -> None:
    data = {"x": torch.zeros(6, 1), "edge_index": torch.tensor([[0], [1]]), "y": torch.arange(6) % 3}
    splits = [
        Split(torch.arange(4), torch.tensor([4]), torch.tensor([5])),
        Split(torch.arange(2), torch.arange(2, 6), torch.arange(0)),
    ]
    assert statistics(collect(NODES, [data], splits)).splits == ((4, 1, 1), (2, 4, 0))


@pytest.mark.real
def test_peptides_has_the_published_size() -> None:
    from geco.data.load_dataset import load

    found = statistics(load("peptides-func", Path(os.environ["GECO_DATA"])))
    assert (found.graphs, found.nodes, found.directed, found.duplicates) == (15_535, 2_344_859, 4_773_974, 0)
    assert found.undirected * 2 == found.directed
