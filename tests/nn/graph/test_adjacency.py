from __future__ import annotations

import gc

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch_geometric import EdgeIndex

from geco.nn.blocks import LocalPropagation
from geco.nn.graph.adjacency import Normalisation, _cache, adjacency, traced_adjacency
from geco.nn.reference import normalised_adjacency
from tests.conftest import random_edges, relative_error

EDGES = torch.tensor([[0, 1, 1, 2, 2, 2], [1, 0, 2, 1, 1, 2]])  # a repeat and a self loop; node 3 is isolated


@pytest.mark.parametrize("norm", ["sym", "row", "none"])
@given(n=st.integers(1, 30), degree=st.integers(0, 5), weights=st.sampled_from([None, torch.float32, torch.float64]))
def test_equals_the_dense_matrix(norm: Normalisation, n: int, degree: int, weights: torch.dtype | None) -> None:
    edges = random_edges(n, degree, seed=n)
    weight = None if weights is None else torch.rand(edges.shape[1], dtype=weights)
    dense = normalised_adjacency(edges, n, None if weight is None else weight.double(), norm)
    x = torch.randn(n, 3, dtype=torch.float64, requires_grad=True)
    y = adjacency(edges, n, weight, norm, x.dtype) @ x
    g = torch.randn_like(y)
    assert relative_error(y, dense @ x) < 1e-12
    assert relative_error(torch.autograd.grad(y, x, g)[0], dense.t() @ g) < 1e-12


def test_values_are_as_exact_as_what_they_meet() -> None:
    edges = EDGES.clone()
    single, double = adjacency(edges, 4), adjacency(edges, 4, dtype=torch.float64)
    assert (single.value.dtype, double.value.dtype) == (torch.float32, torch.float64)
    assert adjacency(edges, 4, dtype=torch.bfloat16) is single  # half precision is computed in float32
    assert adjacency(edges, 4, dtype=torch.float64) is double
    sparse = torch.eye(4).to_sparse()
    assert adjacency(sparse, 4, dtype=torch.float64).value.dtype == torch.float64
    x = torch.randn(4, 3, dtype=torch.float64)
    exact = torch.cat([x, normalised_adjacency(EDGES, 4) @ x], 1)
    assert relative_error(LocalPropagation()(x, EDGES), exact) < 1e-12
    assert relative_error(traced_adjacency(EDGES, 4, None, "sym", x.dtype) @ x, exact[:, 3:]) < 1e-12


def test_isolated_nodes_get_zero_and_finite_gradients() -> None:
    x = torch.randn(4, 2, requires_grad=True)
    y = adjacency(EDGES, 4) @ x
    y.sum().backward()
    assert torch.equal(y[3], torch.zeros(2))
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("norm", ["sym", "row", "none"])
def test_gradients_of_edge_weights(norm: str) -> None:
    weight = torch.rand(EDGES.shape[1], dtype=torch.float64, requires_grad=True)
    x = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda w, x: adjacency(EDGES, 4, w, norm) @ x, (weight, x))


def test_every_representation_gives_the_same() -> None:
    x = torch.randn(4, 3)
    wanted = adjacency(EDGES, 4) @ x
    dense = torch.zeros(4, 4).index_put((EDGES[1], EDGES[0]), torch.ones(6), accumulate=True)
    for same in (EdgeIndex(EDGES, sparse_size=(4, 4)), dense.to_sparse(), dense.to_sparse_csr(), EDGES.int()):
        assert torch.allclose(adjacency(same, 4) @ x, wanted, atol=1e-6)


def test_built_once_for_a_tensor_and_anew_after_it_changed() -> None:
    edges = EDGES.clone()
    first = adjacency(edges, 4)
    assert adjacency(edges, 4) is first
    assert adjacency(edges, 4, normalisation="row") is not first
    assert adjacency(edges, 4) is first
    edges[0, 0] = 3
    changed = adjacency(edges, 4)
    assert changed is not first
    assert torch.allclose(changed @ torch.eye(4), normalised_adjacency(edges, 4, dtype=torch.float32))


def test_forgotten_with_its_tensor() -> None:
    gc.collect()
    before = len(_cache)
    edges = EDGES.clone()
    adjacency(edges, 4)
    assert len(_cache) == before + 1
    del edges
    gc.collect()
    assert len(_cache) == before


def test_a_star_needs_no_quadratic_memory() -> None:
    n = 200_000
    spokes = torch.arange(1, n)
    edges = torch.cat(
        [torch.stack([spokes, torch.zeros_like(spokes)]), torch.stack([torch.zeros_like(spokes), spokes])], 1
    )
    x = torch.randn(n, 2)
    y = adjacency(edges, n) @ x
    assert relative_error(y[0], x[1:].double().sum(0) / (n - 1) ** 0.5) < 1e-5


@pytest.mark.parametrize(
    ("edges", "word"),
    [
        (torch.tensor([[0, 4], [1, 0]]), "node 4"),
        (torch.tensor([[0, 10**8], [1, 0]]), "node 100000000"),
        (torch.tensor([[0, -1], [1, 0]]), "node -1"),
        (EDGES.t(), "transpose"),
        (EDGES.float(), "integer"),
        (EDGES.short(), "integer"),
        (torch.zeros(0, dtype=torch.long), "shape"),
        (torch.eye(3).to_sparse(), "must be"),
    ],
)
def test_refuses_edges(edges: Tensor, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        adjacency(edges, 4)


@pytest.mark.parametrize(
    ("weight", "word"),
    [
        (torch.ones(5), "one per edge"),
        (torch.ones(6, dtype=torch.long), "float"),
        (torch.tensor([1.0, 1, 1, float("nan"), 1, 1]), "first at edge 3"),
        (-torch.ones(6), "not negative"),
        (torch.ones(6, device="meta"), "device"),
    ],
)
def test_refuses_weights(weight: Tensor, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        adjacency(EDGES, 4, weight)


def test_refuses_weights_beside_a_sparse_matrix() -> None:
    with pytest.raises(ValueError, match="into its values"):
        adjacency(torch.eye(4).to_sparse(), 4, torch.ones(4))


def test_refuses_an_unknown_norm() -> None:
    with pytest.raises(ValueError, match="sym, row, none"):
        adjacency(EDGES, 4, normalisation="symmetric")  # type: ignore[arg-type]
