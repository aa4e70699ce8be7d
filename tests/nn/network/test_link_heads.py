from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from geco.nn.network import link_heads as links
from geco.nn.network.link_heads import DotHead, LinkHead, PairHead
from geco.train.metrics.ranking import batched_reciprocal_ranks

HEADS = [
    pytest.param(lambda: DotHead(8), id="dot"),
    pytest.param(lambda: DotHead(8, layers=2), id="dot-mlp"),
    pytest.param(lambda: PairHead(8), id="pair"),
    pytest.param(lambda: PairHead(8, layers=3, dropout=0.2, act="gelu"), id="pair-deep"),
]


def ptr_of(sizes: list[int]) -> Tensor:
    return torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()])


def one_pair(head: LinkHead, u: Tensor, v: Tensor) -> Tensor:
    """The twin: a pair of nodes at a time, the MLP on both vectors joined."""
    if isinstance(head, DotHead):
        return head.embed(u[None])[0] @ head.embed(v[None])[0]
    assert isinstance(head, PairHead)
    x = head.first(torch.cat([u, v]))
    for module in (*head.maps, head.last):
        x = module(head.act(x))
    return x[0]


@given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=4), entries=st.sampled_from([1, 50, 2**20]))
@pytest.mark.parametrize("make", HEADS)
def test_all_ways_give_the_scores_of_single_pairs(make, sizes: list[int], entries: int) -> None:
    head, ptr = make().double().eval(), ptr_of(sizes)
    h = torch.randn(sum(sizes), 8, dtype=torch.float64)
    z = head(h)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "ENTRIES", entries)
        found = head.all_pairs(z, ptr)
        rows = head.candidates(z, torch.arange(len(z)), ptr)
    n = max(sizes)
    wanted = torch.full((len(sizes), n, n), -torch.inf, dtype=torch.float64)
    for g, size in enumerate(sizes):
        for i in range(size):
            for j in range(size):
                wanted[g, i, j] = one_pair(head, h[ptr[g] + i], h[ptr[g] + j])
    torch.testing.assert_close(found, wanted)
    graph = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    if len(z):
        torch.testing.assert_close(rows, wanted[graph, torch.arange(len(z)) - ptr[graph]])
        ends = torch.stack([torch.arange(len(z)), ptr[graph]])  # every node with the first of its graph
        torch.testing.assert_close(head.pairs(z, ends), wanted[graph, ends[0] - ptr[graph], 0])


@pytest.mark.parametrize("make", HEADS)
def test_batch_contract(make) -> None:  # type: ignore[no-untyped-def]
    head, sizes = make().eval(), [1, 40, 0, 7, 90]
    graphs = [torch.randn(n, 8) for n in sizes]
    together = head.all_pairs(head(torch.cat(graphs)), ptr_of(sizes))
    for i, n in enumerate(sizes):
        alone = head.all_pairs(head(graphs[i]), ptr_of([n]))
        torch.testing.assert_close(together[i : i + 1, :n, :n], alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", HEADS)
def test_gradients_reach_all_weights(make) -> None:  # type: ignore[no-untyped-def]
    head = make()
    target = torch.tensor([1.0, 0.0, 0.0, 1.0] * 5)
    scores = head.pairs(head(torch.randn(30, 8)), torch.randint(0, 30, (2, 20)))
    nn.functional.binary_cross_entropy_with_logits(scores, target).backward()
    assert all(p.grad is not None and bool((p.grad != 0).any()) for p in head.parameters())


@pytest.mark.parametrize("make", HEADS)
def test_ranks_of_links(make) -> None:  # type: ignore[no-untyped-def]
    """What the ranking makes of all pairs is the rank found by hand among the candidates of each source."""
    head, sizes = make().eval(), [5, 1, 9]
    ptr, positives = ptr_of(sizes), torch.tensor([[0, 0, 6, 10], [3, 4, 8, 14]])
    z = head(torch.randn(15, 8)).detach()
    ranks = batched_reciprocal_ranks(head.all_pairs(z, ptr), positives, ptr)[:, 0]
    rows = head.candidates(z, positives[0], ptr).detach()
    tails = positives[1] - torch.tensor([0, 0, 6, 6])
    by_hand = [1 / (1 + sum(float(s) > float(row[t]) for s in row)) for row, t in zip(rows, tails, strict=True)]
    torch.testing.assert_close(ranks, torch.tensor(by_hand, dtype=torch.float64))


def test_a_dot_is_the_same_in_both_directions_and_an_mlp_is_not() -> None:
    h, ends = torch.randn(6, 8), torch.tensor([[0, 1, 2], [3, 4, 5]])
    for head, same in ((DotHead(8), True), (PairHead(8), False)):
        z = head(h)
        assert torch.allclose(head.pairs(z, ends), head.pairs(z, ends.flip(0))) is same


@pytest.mark.parametrize("make", HEADS)
def test_nothing_to_score(make) -> None:  # type: ignore[no-untyped-def]
    head = make()
    z = head(torch.randn(3, 8))
    none = torch.zeros(2, 0, dtype=torch.int64)
    assert head.pairs(z, none).shape == (0,)
    assert head.candidates(z, none[0], torch.tensor([0, 3])).shape[0] == 0
    assert head.all_pairs(z[:0], torch.tensor([0, 0])).shape == (1, 0, 0)
    assert head.all_pairs(z[:0], torch.tensor([0])).shape == (0, 0, 0)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: PairHead(8, layers=1), "at least 2 layers, got 8 and 1"),
        (lambda: DotHead(0), "must be at least 1"),
        (lambda: PairHead(8)(torch.zeros(2, 7)), r"made for vectors \(N, 8\)"),
        (lambda: DotHead(8)(torch.zeros(2, 7)), r"made for vectors \(N, 8\)"),
        (
            lambda: DotHead(8).pairs(torch.zeros(3, 8), torch.tensor([[0], [3]])),
            "pairs name nodes 0 to 3, there are 0 to 2",
        ),
        (lambda: DotHead(8).pairs(torch.zeros(3, 8), torch.tensor([0, 1])), r"integers \(2, L\)"),
        (lambda: DotHead(8).candidates(torch.zeros(3, 8), torch.tensor([-1]), torch.tensor([0, 3])), "name nodes -1"),
        (lambda: DotHead(8).all_pairs(torch.zeros(3, 8), torch.tensor([0, 2])), "ptr must go up from 0 to the 3 nodes"),
        (lambda: PairHead(8).all_pairs(torch.zeros(3, 16), torch.tensor([0, 4, 3])), "ptr must go up"),
    ],
)
def test_wrong_use_is_explained(make, wanted: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=wanted):
        make()


@pytest.mark.parametrize("make", HEADS)
def test_new_weights(make) -> None:  # type: ignore[no-untyped-def]
    head = make()
    old = [p.clone() for p in head.parameters()]
    head.reset_parameters()
    assert all(not torch.equal(p, q) for p, q in zip(head.parameters(), old, strict=True))
