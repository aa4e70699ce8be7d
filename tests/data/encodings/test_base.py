from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from geco.data.encodings import AdjacencySVD, Degree, Encoding, LaplacianEigenvectors, RandomWalk, Relative
from geco.data.encodings.base import fix_signs, undirected
from geco.errors import DataError, UsageError

ALL: list[Encoding] = [
    LaplacianEigenvectors(3),
    LaplacianEigenvectors(3, "none", skip_first=False, with_values=True, per_component=False),
    RandomWalk(5),
    RandomWalk(5, budget=0),
    Degree(),
    Degree(max_degree=3),
    AdjacencySVD(3),
    Relative("adjacency", 3),
    Relative("shortest-path", 3),
    Relative("diffusion", 3),
]


@pytest.mark.parametrize("encoding", ALL, ids=repr)
@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 5])
def test_shape_finite_and_the_same_again(encoding: Encoding, nodes: int) -> None:
    for ends in (np.zeros((2, 0), np.int16), np.stack([np.arange(nodes), np.arange(nodes)[::-1]]).astype(np.uint8)):
        found = encoding.compute(ends, nodes)
        assert found.shape == (nodes, encoding.width)
        assert found.dtype == np.float32
        assert np.isfinite(found).all()
        assert np.array_equal(found, encoding.compute(ends, nodes))


@pytest.mark.parametrize("encoding", ALL, ids=repr)
def test_recipe_is_json_and_names_every_parameter(encoding: Encoding) -> None:
    recipe = encoding.recipe()
    assert json.loads(json.dumps(recipe)) == recipe
    assert set(recipe["parameters"]) == {f.name for f in dataclasses.fields(encoding)} - {"attr_name"}
    assert dataclasses.replace(encoding, attr_name="pe").recipe() == recipe


def test_transform_appends_or_stores() -> None:
    graph = Data(x=torch.zeros(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))
    wanted = torch.from_numpy(Degree().compute(graph.edge_index.numpy(), 3))
    assert torch.equal(Degree()(graph).x, torch.cat([graph.x, wanted], 1))
    assert torch.equal(Degree(attr_name="pe")(graph).pe, wanted)
    assert graph.x.shape == (3, 2)
    assert "pe" not in graph
    assert torch.equal(Degree()(Data(edge_index=graph.edge_index, num_nodes=3)).x, wanted)


def test_transform_uses_edge_weights() -> None:
    graph = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), edge_weight=torch.tensor([3.0, 1.0]), num_nodes=3)
    assert RandomWalk(2)(graph).x[1, 1] == pytest.approx(1.0)
    assert RandomWalk(2)(graph).x[0, 1] == pytest.approx(0.75)


def test_categories_are_not_mixed_with_numbers() -> None:
    with pytest.raises(UsageError, match="attr_name"):
        Degree()(Data(x=torch.zeros(2, 1, dtype=torch.int64), edge_index=torch.tensor([[0], [1]])))


@pytest.mark.parametrize("weight", [[-1.0], [np.nan], [np.inf]])
def test_wrong_weights_are_refused(weight: list[float]) -> None:
    with pytest.raises(DataError, match="weights"):
        undirected(np.array([[0], [1]]), 2, np.array(weight))


@pytest.mark.parametrize("end", [-1, 2])
def test_wrong_nodes_are_refused(end: int) -> None:
    with pytest.raises(DataError, match="outside 0 to 1"):
        undirected(np.array([[0], [end]]), 2)


def test_signs_ignore_rounding() -> None:
    even = np.array([[-0.5, 0.5 + 1e-12, 0.1]]).T
    assert fix_signs(even)[0, 0] == 0.5
    assert np.array_equal(fix_signs(-even), fix_signs(even))


@pytest.mark.parametrize(
    "make",
    [
        lambda: LaplacianEigenvectors(0),
        lambda: LaplacianEigenvectors(3, "rw"),
        lambda: RandomWalk(0),
        lambda: Degree(0),
        lambda: AdjacencySVD(0),
        lambda: Relative("cosine"),
        lambda: Relative("diffusion", time=0.0),
    ],
)
def test_wrong_parameters_are_refused(make: object) -> None:
    with pytest.raises(UsageError):
        make()  # type: ignore[operator]
