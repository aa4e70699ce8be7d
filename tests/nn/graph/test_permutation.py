from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from geco.nn.graph.permutation import arranged, shuffled
from geco.nn.graph.rings import Rings, rings_of

CPU = torch.device("cpu")


def rings(*sizes: int) -> Rings:
    return Rings(sizes, torch.arange(len(sizes)))


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 2**40), st.integers(-5, 5), st.integers(0, 9)
)
def test_is_a_permutation_of_each_graph(sizes: list[int], seed: int, epoch: int, layer: int) -> None:
    order = shuffled(rings(*sizes), seed, epoch, layer).permutation
    assert order is not None
    start = 0
    for size in sizes:
        assert sorted(order[start : start + size].tolist()) == list(range(start, start + size))
        start += size


def test_depends_on_nothing_but_its_arguments() -> None:
    torch.manual_seed(1)
    first = shuffled(rings(50), 3, 2, 1).permutation
    torch.manual_seed(2)
    assert torch.equal(first, shuffled(rings(50), 3, 2, 1).permutation)  # type: ignore[arg-type]
    for other in ((4, 2, 1), (3, 3, 1), (3, 2, 2)):
        assert not torch.equal(first, shuffled(rings(50), *other).permutation)  # type: ignore[arg-type]


def test_does_not_depend_on_batch_mates() -> None:
    alone = shuffled(rings(50), 3).permutation
    among = shuffled(rings(7, 50, 20), 3).permutation
    assert torch.equal(alone, among[7:57] - 7)  # type: ignore[index, arg-type]


def test_graph_id_gives_graphs_of_one_size_their_own_order() -> None:
    same = shuffled(rings(50, 50), 3).permutation.view(2, 50)  # type: ignore[union-attr]
    assert torch.equal(same[0], same[1] - 50)
    own = shuffled(rings(50, 50), 3, graph_id=torch.tensor([8, 9])).permutation.view(2, 50)  # type: ignore[union-attr]
    assert not torch.equal(own[0], own[1] - 50)
    assert torch.equal(own[1] - 50, shuffled(rings(50), 3, graph_id=torch.tensor([9])).permutation)


def test_known_order() -> None:
    """Pinned: resumed runs and other machines must find the same one."""
    order = shuffled(rings(8), seed=0, epoch=1, layer=2).permutation
    assert order is not None
    assert order.tolist() == [5, 3, 2, 7, 6, 1, 4, 0]


def test_every_place_is_as_likely() -> None:
    counts = torch.zeros(5, 5)
    for seed in range(2000):
        counts[torch.arange(5), shuffled(rings(5), seed).permutation] += 1
    assert (counts / 2000 - 0.2).abs().max() < 0.04  # about four standard deviations


def test_unsorted_batches_keep_graphs_apart() -> None:
    batch = torch.tensor([1, 0, 1, 0, 1])
    found = rings_of(5, batch, CPU)
    assert found.sizes == (2, 3)
    assert found.permutation is not None
    assert batch[found.permutation].tolist() == [0, 0, 1, 1, 1]
    mixed = shuffled(found, 0).permutation
    assert batch[mixed].tolist() == [0, 0, 1, 1, 1]  # type: ignore[index]


def test_given_order_is_read_graph_by_graph() -> None:
    batch = torch.tensor([0, 0, 1, 1])
    found = arranged(rings_of(4, batch, CPU), batch, torch.tensor([3, 1, 2, 0]))
    assert found.permutation.tolist() == [1, 0, 3, 2]  # type: ignore[union-attr]


def test_arrange_and_restore() -> None:
    x = torch.randn(57, 2)
    found = shuffled(rings(7, 50), 1)
    assert torch.equal(found.restore(found.arrange(x)), x)
    assert not torch.equal(found.arrange(x), x)


def test_refuses_an_empty_graph() -> None:
    with pytest.raises(ValueError, match="no nodes"):
        rings_of(0, None, CPU)
