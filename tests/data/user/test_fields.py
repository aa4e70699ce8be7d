"""Fields of PyG graphs; mistakes in them are in test_objects.py."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.data import Dataset
from torch_geometric.data import Batch, Data

from geco.data.user.fields import fields_of, graphs_of
from geco.errors import UsageError

EDGES = torch.tensor([[0, 1], [1, 0]])


class Ours(Dataset[Data]):
    """A data set as programs write it, whose numbers do not stop by themselves."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, number: int) -> Data:
        return Data(x=torch.full((2, 1), float(number)), edge_index=EDGES)


@pytest.mark.parametrize(
    "data", [Ours(), list(Ours()[i] for i in range(3)), Batch.from_data_list([Ours()[i] for i in range(3)])]
)
def test_many_graphs_come_as_a_list(data: Any) -> None:
    assert [float(graph.x[0, 0]) for graph in graphs_of(data, "fit")] == [0, 1, 2]


def test_one_graph_is_a_list_of_one() -> None:
    assert len(graphs_of(Data(), "fit")) == 1
    with pytest.raises(UsageError, match="predict takes a PyG Data or a list of them, got a str"):
        graphs_of("cora", "predict")


def test_columns_without_width_have_one() -> None:
    found = fields_of(
        Data(x=torch.rand(2), edge_index=EDGES, edge_attr=torch.rand(2), edge_weight=torch.rand(2, 1)), "g"
    )
    assert {name: tuple(value.shape) for name, value in found.items()} == {
        "x": (2, 1), "edge_index": (2, 2), "edge_attr": (2, 1), "edge_weight": (2,)
    }  # fmt: skip


def test_gradients_and_half_precision_are_left_behind() -> None:
    found = fields_of(Data(x=torch.rand(2, 1, dtype=torch.bfloat16).requires_grad_(), edge_index=EDGES), "g")
    assert found["x"].dtype == torch.float32
    assert not found["x"].requires_grad
