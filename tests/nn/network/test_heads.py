from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm

from geco.nn.network.heads import GraphHead, NodeHead, Pool, Pooling, TokenHead

POOLS: tuple[Pooling, ...] = ("mean", "sum", "max", "attention")
WORDS = ("get", "name", "id", "__UNK__", "__EOS__")
HEADS = [
    pytest.param(lambda: GraphHead(8, 3, pool="mean"), id="linear"),
    pytest.param(lambda: GraphHead(8, 3, pool="sum", layers=3, widths="halving"), id="san"),
    pytest.param(lambda: GraphHead(8, 3, pool="max", layers=2, act="gelu", dropout=0.3), id="mlp"),
    pytest.param(lambda: GraphHead(8, 3, pool="attention", layers=2, norm=True), id="attention"),
    pytest.param(lambda: TokenHead(8, 5, 7, dropout=0.2), id="tokens"),
]


def pooled_one_by_one(pool: Pool, h: Tensor, batch: Tensor, count: int) -> Tensor:
    """The twin: a loop over graphs."""
    rows = []
    for g in range(count):
        own = h[batch == g]
        if len(own) == 0:
            rows.append(h.new_zeros(h.shape[1]))
        elif pool.gate is not None:
            rows.append((pool.gate(own).softmax(0) * own).sum(0))
        else:
            rows.append({"mean": own.mean(0), "sum": own.sum(0), "max": own.max(0).values}[pool.kind])
    return torch.stack(rows)


@given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=5), channels=st.integers(1, 4), shuffled=st.booleans())
@pytest.mark.parametrize("kind", POOLS)
def test_pools_equal_a_loop_over_graphs(kind: Pooling, sizes: list[int], channels: int, shuffled: bool) -> None:
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    batch = batch[torch.randperm(len(batch))] if shuffled else batch
    pool, h = Pool(kind, channels).double(), torch.randn(len(batch), channels, dtype=torch.float64, requires_grad=True)
    found, wanted = pool(h, batch, len(sizes)), pooled_one_by_one(pool, h, batch, len(sizes))
    torch.testing.assert_close(found, wanted)
    if len(batch):
        other = torch.randn_like(found)
        (mine,), (theirs,) = (torch.autograd.grad((out * other).sum(), [h]) for out in (found, wanted))
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("kind", POOLS)
def test_one_graph_needs_no_batch(kind: Pooling) -> None:
    pool, h = Pool(kind, 4), torch.randn(6, 4)
    assert torch.equal(pool(h), pool(h, torch.zeros(6, dtype=torch.int64)))
    assert torch.equal(pool(h[:1])[0], h[0])
    assert pool(h[:0]).tolist() == [[0.0] * 4]


@pytest.mark.parametrize("make", HEADS)
def test_batch_contract(make) -> None:  # type: ignore[no-untyped-def]
    """A graph's output is the same alone, first, in the middle and last; empty graphs and graphs of one node among
    them.
    """
    head, sizes = make(), [1, 40, 0, 7, 300, 1]
    head(torch.randn(60, 8), torch.arange(60) // 3)  # statistics of the norm
    head.eval()
    graphs = [torch.randn(n, 8) for n in sizes]
    alone = [head(h) for h in graphs]
    for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 4], [1, 2]):
        batch = torch.cat([torch.full((sizes[i],), place) for place, i in enumerate(order)])
        found = head(torch.cat([graphs[i] for i in order]), batch, len(order))
        assert len(found) == len(order)
        for place, i in enumerate(order):
            torch.testing.assert_close(found[place : place + 1], alone[i], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [*HEADS, pytest.param(lambda: NodeHead(8, 3, layers=3, norm=True), id="nodes")])
def test_gradients_reach_all_weights(make) -> None:  # type: ignore[no-untyped-def]
    head, h = make(), torch.randn(40, 8)
    out = head(h, torch.arange(40) // 5) if isinstance(head, GraphHead) else head(h)
    (out * torch.randn_like(out)).sum().backward()
    normed = any(isinstance(norm, BatchNorm) for norm in head.mlp.norms)
    last = f"mlp.lins.{len(head.mlp.lins) - 1}.bias"
    for name, parameter in head.named_parameters():
        shift = name.endswith("bias") and ("gate" in name or (normed and "lins" in name))
        if not shift or name == last:  # softmax and BatchNorm do not feel one
            assert parameter.grad is not None
            assert bool((parameter.grad != 0).any()), name


def test_published_shapes() -> None:
    shapes = {
        "san_graph of molhiv": (GraphHead(64, 1, layers=3, widths="halving"), [(32, 64), (16, 32), (1, 16)]),
        "default of peptides": (GraphHead(96, 10), [(10, 96)]),
        "mlp_graph of the re-assessment": (GraphHead(76, 10, layers=2, act="gelu"), [(76, 76), (10, 76)]),
        "inductive node of superpixels": (NodeHead(96, 21, layers=3, norm=True), [(96, 96), (96, 96), (21, 96)]),
        "tokens of code2": (TokenHead(256, 5, 5002), [(25_010, 256)]),
    }
    for name, (head, wanted) in shapes.items():
        assert [tuple(lin.weight.shape) for lin in head.mlp.lins] == wanted, name


def test_maps_and_activations_in_their_order() -> None:
    head, h = GraphHead(8, 3, layers=3, widths="halving", act="gelu"), torch.randn(5, 8)
    one, two, three = head.mlp.lins
    gelu = nn.functional.gelu
    torch.testing.assert_close(head(h), three(gelu(two(gelu(one(h.mean(0, keepdim=True)))))))
    normed = NodeHead(8, 3, layers=2, norm=True)
    one, two = normed.mlp.lins
    torch.testing.assert_close(normed(h), two(nn.BatchNorm1d(8)(one(h)).relu()))


def test_dropout_comes_before_each_map() -> None:
    head, h = NodeHead(64, 64, layers=2, dropout=0.5), torch.ones(200, 64)
    with torch.no_grad():
        for lin in head.mlp.lins:
            lin.weight.copy_(torch.eye(64))
            lin.bias.zero_()
    assert set(head(h).unique().tolist()) == {0.0, 4.0}  # kept by both, of deviation 1 / (1 - p)²
    assert 0.2 < float((head(h) > 0).double().mean()) < 0.3
    assert torch.equal(head.eval()(h), h)


def test_a_batch_of_one_row_trains_with_a_norm() -> None:
    head = GraphHead(8, 3, layers=2, norm=True)
    head(torch.randn(6, 8), torch.arange(6) // 2)
    one = torch.randn(4, 8)
    torch.testing.assert_close(head(one), head.eval()(one))


def test_places_of_a_sequence_have_a_map_each() -> None:
    head, h, batch = TokenHead(8, 3, 5), torch.randn(6, 8), torch.tensor([0, 0, 0, 1, 1, 1])
    found = head(h, batch)
    assert found.shape == (2, 3, 5)
    mean = h.view(2, 3, 8).mean(1)
    (lin,) = head.mlp.lins
    for place in range(3):
        rows = slice(5 * place, 5 * place + 5)
        torch.testing.assert_close(found[:, place], nn.functional.linear(mean, lin.weight[rows], lin.bias[rows]))
    assert float(lin.weight.detach().abs().max()) <= 8**-0.5  # each place starts as a map of its own would


def test_words_up_to_the_end() -> None:
    head = TokenHead(8, 3, 5)
    tokens = torch.tensor([[0, 1, 2], [1, 4, 0], [3, 2, 4], [4, 0, 0]])
    scores = nn.functional.one_hot(tokens, 5).float()
    assert head.words(scores, WORDS) == [["get", "name", "id"], ["name"], ["id"], []]
    with pytest.raises(ValueError, match="the vocabulary has 4 words, the head was made for 5"):
        head.words(scores, WORDS[1:])


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (
            lambda: GraphHead(8, 3, pool="median"),
            "pool 'median' is not known, did you mean 'mean'.* There are mean, sum, max, attention",
        ),
        (lambda: NodeHead(8, 0), "must be at least 1"),
        (lambda: NodeHead(8, 3, layers=0), "must be at least 1"),
        (lambda: NodeHead(8, 3, widths="wide"), "widths 'wide' is not known. There are flat, halving"),
        (lambda: NodeHead(8, 3, layers=5, widths="halving"), "8 channels cannot be halved 4 times"),
        (lambda: TokenHead(8, 5, 2), "a word besides unknown and end"),
        (lambda: NodeHead(8, 3)(torch.zeros(2, 7)), r"made for vectors \(N, 8\), got \(2, 7\)"),
        (lambda: GraphHead(8, 3)(torch.zeros(2, 7)), r"made for vectors \(N, 8\), got \(2, 7\)"),
        (lambda: GraphHead(8, 3)(torch.zeros(2, 8), torch.zeros(3, dtype=torch.int64)), "the graph of each of 2 nodes"),
        (lambda: GraphHead(8, 3)(torch.zeros(2, 8), torch.zeros(2)), "the graph of each of 2 nodes, got torch.float32"),
        (lambda: GraphHead(8, 3)(torch.zeros(2, 8), torch.tensor([0, 2]), 2), "batch names graphs 0 to 2, there are 2"),
        (lambda: GraphHead(8, 3)(torch.zeros(2, 8), torch.tensor([-1, 0])), "batch names graphs -1 to 0"),
        (lambda: GraphHead(8, 3)(torch.zeros(2, 8), None, 2), "2 graphs need batch"),
    ],
)
def test_wrong_use_is_explained(make, wanted: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=wanted):
        make()


def test_new_weights() -> None:
    head = GraphHead(8, 3, pool="attention", layers=2)
    old = [p.clone() for p in head.parameters()]
    head.reset_parameters()
    assert all(not torch.equal(p, q) for p, q in zip(head.parameters(), old, strict=True))
