"""PyG graphs in memory as data sets: what is asked is understood as of files, and mistakes are told by their place."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.edge_index import EdgeIndex

from geco.data.dataset import Info
from geco.data.user.objects import from_pyg, new_graphs
from geco.data.user.schema import OwnOptions
from geco.errors import DataError, UsageError

RING = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])


def ring(**changes: Any) -> Data:
    """Return a ring of six nodes with classes; None leaves a field out."""
    fields: dict[str, Any] = {
        "x": torch.arange(12.0).view(6, 2), "edge_index": RING, "y": torch.tensor([0, 1, 2, 0, 1, 2]), **changes
    }  # fmt: skip
    return Data(**{name: value for name, value in fields.items() if value is not None})


def rings(count: int = 10, **changes: Any) -> list[Data]:
    return [ring(**{"y": torch.tensor([number % 2]), **changes}) for number in range(count)]


def test_class_numbers_stay_what_they_are() -> None:
    dataset, schema = from_pyg([ring(y=torch.tensor([1, 3, 3, 1, -1, 1]))])
    assert dataset.info.num_targets == 4, "class 3 is column 3, though 0 and 2 do not occur"
    assert dataset[0].y.tolist() == [1, 3, 3, 1, -1, 1]
    assert schema is not None
    assert schema.names == ("0", "1", "2", "3")
    known = torch.cat([*vars(dataset.split()).values()]).sort().values
    assert known.tolist() == [0, 1, 2, 3, 5], "what has no label is in no part"


@pytest.mark.parametrize(
    ("y", "target", "count"),
    [
        (torch.arange(6), "class", 6),
        (torch.tensor([0.0, 1, torch.nan, 1, 0, 1]), "class", 2),
        (torch.rand(6), "values", 1),
        (torch.rand(6, 3), "values", 3),
        (torch.tensor([[0.0, 1], [1, 0], [torch.nan, 1], [1, 1], [0, 0], [1, 0]]), "labels", 2),
        (torch.tensor([[True, False]] * 6), "labels", 2),
    ],
)
def test_what_y_is(y: torch.Tensor, target: str, count: int) -> None:
    info = from_pyg([ring(y=y)])[0].info
    assert (info.target, info.num_targets) == (target, count)


def test_task_and_metric_can_be_named() -> None:
    info = from_pyg([ring()], OwnOptions(task="values", metric="rmse"))[0].info
    assert (info.target, info.metric) == ("values", "rmse")


def test_whole_numbers_are_categories_unless_zeros_and_ones() -> None:
    kinds = torch.tensor([[0, 5], [3, 1], [0, 0], [1, 0], [2, 0], [0, 0]])
    dataset, schema = from_pyg([ring(x=kinds, edge_attr=torch.tensor([0, 1, 2, 3, 0, 1]))])
    assert dataset.info.categories == (4, 6)
    assert dataset.info.edge_categories == (4,)
    assert schema is None, "a file of numbers would be read as numbers"
    assert from_pyg([ring(x=kinds.clamp(max=1))])[0].info.categories == ()
    assert from_pyg([ring(x=kinds.float())])[0].info.categories == ()


def test_edges_stay_as_they_are() -> None:
    assert torch.equal(from_pyg([ring()])[0][0].edge_index, RING)
    assert torch.equal(from_pyg([ring(edge_index=EdgeIndex(RING, sparse_size=(6, 6)))])[0][0].edge_index, RING)


def test_graphs_without_features_have_a_one() -> None:
    dataset = from_pyg(rings(x=None, num_nodes=6))[0]
    assert torch.equal(dataset[3].x, torch.ones(6, 1))


def test_labels_of_graphs_and_of_nodes() -> None:
    assert from_pyg(rings())[0].info.level == "graph"
    assert from_pyg(rings(y=torch.rand(1, 3)))[0].info.num_targets == 3
    assert from_pyg(rings(y=torch.tensor(0.5)))[0].info.target == "values", "a number without dimensions is one label"
    assert from_pyg(rings(y=torch.tensor([0, 1, 2, 0, 1, 2])))[0].info.level == "node"


def test_parts_that_are_given() -> None:
    parts = np.repeat([0, 1, 2], [5, 2, 3])
    split = from_pyg(rings(), parts=parts)[0].split()
    assert (split.valid.tolist(), split.test.tolist()) == ([5, 6], [7, 8, 9])


def test_what_is_not_used_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "geco")
    place = torch.arange(6)
    masks = {"train_mask": place < 3, "val_mask": place == 3, "test_mask": place > 3}
    from_pyg([ring(pos=torch.rand(6, 3), title="mine", **masks)])
    assert caplog.messages == ["graph: not used are pos"]


WRONG: dict[str, tuple[list[Any], str]] = {
    "no labels": ([ring(y=None)], "graph has no y: give data.y, a label for each node, or task='link'"),
    "no labels of one": ([*rings(), ring(y=None)], "graph 10 has no y: give each graph its label"),
    "label of a graph": ([ring(y=torch.tensor([1]))], "y has 1 rows for 6 nodes; one graph needs a label for"),
    "flat labels": ([ring(y=torch.rand(3)) for _ in range(9)], r"graph 0: y has the shape \(3,\); 1 row"),
    "one class": ([ring(y=torch.zeros(6).long())], "every label is '0', there is nothing to learn"),
    "negative class": ([ring(y=torch.tensor([0, 1, -100, 1, 0, 1]))], "y: -100 is no class; they are whole"),
    "infinite label": ([ring(y=torch.tensor([0.5, 1, torch.inf, 1, 0, 1]))], "row 2: 'inf' is infinite"),
    "NaN": ([ring(x=torch.full((6, 2), torch.nan))], r"graph, x, row 0: nan is not a finite number \(12 in all\)"),
    "NaN in one": (
        [*rings(), ring(y=torch.tensor([0]), x=torch.full((6, 2), torch.nan))], "graph 10, x, row 0: nan is not"
    ),
    "mixed features": ([*rings(), ring(x=torch.rand(6, 3))], "graph 10 has 3 columns of x, graph 0 has 2"),
    "mixed fields": ([*rings(), ring(edge_attr=torch.rand(6, 1))], "graph 10 has 1 columns of edge_attr, graph 0"),
    "not a graph": ([*rings(), 3], "graph 10 is a int. A PyG Data is wanted"),
    "hetero": ([HeteroData()], "graph is a HeteroData. GECO reads graphs whose nodes are of one kind"),
    "no edges": ([ring(edge_index=None)], r"graph has no edge_index \(2, M\): give the two ends"),
    "turned edges": ([ring(edge_index=RING.t())], r"got int64 \(6, 2\); turn it with .t\(\)"),
    "far node": ([ring(edge_index=RING + 1)], "edge_index names node 6, there are 6, numbered from 0"),
    "no size": ([ring(x=None)], "graph has neither x nor num_nodes"),
    "sparse": ([ring(x=torch.eye(6).to_sparse())], r"x is sparse; give it as data.x.to_dense\(\)"),
    "short edge_attr": ([ring(edge_attr=torch.rand(5, 2))], r"edge_attr must have a row for each of 6 edges, got"),
    "wide weights": ([ring(edge_weight=torch.rand(6, 2))], "edge_weight must be one number for each edge"),
    "one mask": ([ring(train_mask=torch.ones(6).bool())], "its masks put no labelled node into val; give"),
    "overlapping masks": (
        [ring(train_mask=torch.ones(6).bool(), test_mask=torch.ones(6).bool())], "node 0 is in two parts of the split"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_by_their_place(case: str) -> None:
    graphs, words = WRONG[case]
    with pytest.raises(DataError, match=words):
        from_pyg(graphs)


def test_links_are_of_one_graph() -> None:
    dataset, schema = from_pyg(
        [ring(y=None, edge_attr=torch.rand(6, 1))], OwnOptions(task="link", fractions=(0.5, 0.25, 0.25))
    )
    assert dataset.info.level == "link"
    assert schema is not None
    with pytest.raises(UsageError, match="links are predicted in one graph, got 2"):
        from_pyg([ring(), ring()], OwnOptions(task="link"))


def test_new_graphs_have_the_fields_of_those_before() -> None:
    info, given = Info("old", "graph", "class", 2, "accuracy"), {"x": 2}
    assert len(new_graphs(rings(3, y=None), info, given)) == 3
    with pytest.raises(DataError, match="graph 0: x has 3 columns, the network was trained with 2"):
        new_graphs(rings(3, x=torch.rand(6, 3)), info, given)
    with pytest.raises(DataError, match="graph: edge_weight has 1 columns, the network was trained with none"):
        new_graphs([ring(edge_weight=torch.rand(6))], info, given)
