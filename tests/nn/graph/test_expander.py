"""The random graph: regular, symmetric, near, the graph's own in any batch, complete where there are few nodes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from geco.nn.graph.expander import expander
from geco.nn.graph.rings import Rings

CPU = torch.device("cpu")


def matrix(sizes: tuple[int, ...], degree: int = 5, seed: int = 0) -> Tensor:
    """Return how many edges there are from column to row."""
    found, n = expander(sizes, degree, seed, CPU), sum(sizes)
    return torch.zeros(n, n).index_put((found.target, found.source), torch.ones(len(found.source)), accumulate=True)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 10, 11])
def test_few_nodes_are_all_joined_once(n: int) -> None:
    assert torch.equal(matrix((n,)), 1 - torch.eye(n))


@pytest.mark.parametrize(("n", "degree"), [(12, 5), (4, 1), (97, 3), (128, 5), (1000, 2)])
def test_regular_symmetric_and_without_loops(n: int, degree: int) -> None:
    found = matrix((n,), degree)
    assert torch.equal(found, found.t())
    assert float(found.diag().sum()) == 0
    assert int(found.sum(1).max()) <= 2 * degree
    assert int(found.sum()) >= 2 * degree * n - 8 * degree  # but for fixed points, of which a permutation has about one


def test_every_node_is_near_every_other() -> None:
    """The second largest eigenvalue of a random regular graph is near the smallest there can be, 2 sqrt(2 d - 1)."""
    values = torch.linalg.eigvalsh(matrix((1000,)).double())
    assert float(values[-1]) > 9.9
    assert float(values[-2]) < 1.1 * 2 * 3


def test_a_function_of_seed_and_size() -> None:
    alone, together = matrix((40,)), matrix((12, 40, 3, 40))
    assert torch.equal(together[12:52, 12:52], alone)
    assert torch.equal(together[55:, 55:], alone)
    assert float(together[:12, 12:].sum()) == 0
    assert not torch.equal(matrix((40,), seed=1), alone)
    more = matrix((40,), degree=6) - alone  # another permutation is one more, not others
    assert float(more.min()) >= 0


def test_not_the_places_of_the_file_only() -> None:
    found = expander((30,), 5, 0, CPU)
    assert sorted(found.order.tolist()) == list(range(len(found.source)))
    assert Rings((30,), torch.zeros(1, dtype=torch.long)).number().tolist() == [0] * 30
