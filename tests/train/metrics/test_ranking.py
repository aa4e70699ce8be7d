"""Reciprocal ranks equal the definition, written out link by link, and OGB's evaluator of links."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from geco.errors import DataError, UsageError
from geco.train.metrics import METRICS
from geco.train.metrics.ranking import batched_reciprocal_ranks, hits, mrr, ranks_among, shares

sys.modules.setdefault("outdated", None)  # ogb asks the network for its newest version otherwise


def reciprocal_ranks(scores: Tensor, links: Tensor) -> Tensor:
    """Return those of one graph."""
    return batched_reciprocal_ranks(scores[None], links, torch.tensor([0, len(scores)]))


def by_definition(scores: Tensor, links: list[tuple[int, int]]) -> list[list[float]]:
    """For every link, rank its score among those of its head with the candidates, the middle rank for equal scores."""
    found = []
    for head, tail in links:
        other = [node for node in range(len(scores)) if node != tail]
        wrong = [node for node in other if (head, node) not in links]
        row = []
        for candidates in (other, wrong, [node for node in wrong if node != head]):
            above = sum(1 for node in candidates if scores[head, node] > scores[head, tail])
            equal = sum(1 for node in candidates if scores[head, node] == scores[head, tail])
            row.append(1 / (((1 + above) + (1 + above + equal)) / 2))
        found.append(row)
    return found


@st.composite
def graphs(draw: Any) -> tuple[Tensor, list[tuple[int, int]]]:
    """Scores with ties and links, some of them repeated or of a node with itself; perhaps no links."""
    nodes = draw(st.integers(1, 9))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    node = st.integers(0, nodes - 1)
    return torch.randint(0, draw(st.sampled_from([1, 4, 1000])), (nodes, nodes), generator=generator).float(), draw(
        st.lists(st.tuples(node, node), max_size=6)
    )


def index(links: list[tuple[int, int]]) -> Tensor:
    return torch.tensor(links, dtype=torch.int64).view(-1, 2).T


def padded(batch: list[tuple[Tensor, list[tuple[int, int]]]], fill: float) -> tuple[Tensor, Tensor, Tensor]:
    """A batch as a network gives it; what is beyond the size of a graph must not matter."""
    sizes = torch.tensor([len(scores) for scores, _ in batch])
    scores = torch.full((len(batch), int(sizes.max()), int(sizes.max())), fill)
    ptr = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)])
    for number, (own, _) in enumerate(batch):
        scores[number, : len(own), : len(own)] = own
    return scores, torch.cat([index(links) + ptr[i] for i, (_, links) in enumerate(batch)], 1), ptr


@given(graph=graphs())
def test_one_graph_equals_the_definition(graph: tuple[Tensor, list[tuple[int, int]]]) -> None:
    scores, links = graph
    found = reciprocal_ranks(scores, index(links))
    wanted = torch.tensor(by_definition(scores, links), dtype=torch.float64).view(-1, 3)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


@given(
    batch=st.lists(graphs(), min_size=1, max_size=5), fill=st.sampled_from([float("nan"), float("inf"), -1e30, 1e30])
)
def test_batch_equals_its_graphs(batch: list[tuple[Tensor, list[tuple[int, int]]]], fill: float) -> None:
    found = batched_reciprocal_ranks(*padded(batch, fill))
    assert torch.equal(found, torch.cat([reciprocal_ranks(scores, index(links)) for scores, links in batch]))


@given(graph=graphs())
def test_mean_is_over_all_links_and_not_over_graphs(graph: tuple[Tensor, list[tuple[int, int]]]) -> None:
    scores = torch.tensor([[0.0, 1.0, 0.0], [0.0] * 3, [0.0] * 3])
    parts = [reciprocal_ranks(scores, index([(0, 1)])), reciprocal_ranks(graph[0], index(graph[1]))]
    rows = [row for s, links in ((scores, [(0, 1)]), graph) for row in by_definition(s, links)]
    for column, name in enumerate(("mrr", "mrr-filtered", "mrr-extended")):
        wanted = sum(row[column] for row in rows) / len(rows)
        found = METRICS[name].score(torch.cat(parts), torch.ones(len(rows), 1))
        assert found == pytest.approx(wanted, abs=1e-12)


def test_kinds_on_a_graph_worked_by_hand() -> None:
    scores = torch.tensor([[5.0, 1.0, 4.0, 3.0, 2.0]] + [[0.0] * 5] * 4)
    found = reciprocal_ranks(scores, index([(0, 1), (0, 2)]))
    assert found.tolist() == [[1 / 5, 1 / 4, 1 / 3], [1 / 2, 1 / 2, 1.0]]


def test_raw_ranks_equal_ogb_with_ties() -> None:
    from ogb.linkproppred import Evaluator

    scores = torch.randint(0, 3, (12, 12)).float()
    links = index([(0, 1), (3, 4), (3, 5), (7, 2)])
    others = torch.stack([scores[h][torch.arange(12) != t] for h, t in links.T.tolist()])
    ogb = Evaluator("ogbl-citation2").eval({"y_pred_pos": scores[links[0], links[1]], "y_pred_neg": others})["mrr_list"]
    torch.testing.assert_close(reciprocal_ranks(scores, links)[:, 0].float(), ogb, rtol=0, atol=1e-7)


def test_a_network_that_scores_all_nodes_the_same_gets_the_middle_rank() -> None:
    assert reciprocal_ranks(torch.zeros(9, 9), index([(0, 1)]))[0].tolist() == [1 / 5, 1 / 5, 2 / 9]


def test_rows_that_are_no_links_do_not_count() -> None:
    ranks = torch.tensor([[0.5] * 3, [0.1] * 3])
    assert mrr(ranks, torch.tensor([1, 0])) == 0.5


def test_no_links_are_refused() -> None:
    none = reciprocal_ranks(torch.zeros(3, 3), index([]))
    assert none.shape == (0, 3)
    with pytest.raises(DataError, match="no link to rank"):
        mrr(none, torch.ones(0))
    with pytest.raises(DataError, match="no link to rank"):
        mrr(torch.ones(2, 3), torch.zeros(2))


@pytest.mark.parametrize(
    ("scores", "positives", "ptr", "message"),
    [
        (torch.zeros(2, 3, 3), index([(0, 1)]), [0, 3], r"scores must be \(B, n, n\) for the 1 graphs"),
        (torch.zeros(1, 3, 2), index([(0, 1)]), [0, 3], r"scores must be \(B, n, n\)"),
        (torch.zeros(1, 2, 2), index([(0, 1)]), [0, 3], "ptr has a graph of 3"),
        (torch.zeros(1, 3, 3), torch.zeros(3, dtype=torch.int64), [0, 3], r"positives must be \(2, p\)"),
        (torch.zeros(1, 3, 3), index([(0, 3)]), [0, 3], "nodes 0 to 3, there are 3"),
        (torch.zeros(1, 3, 3), index([(-1, 0)]), [0, 3], "nodes -1 to 0"),
        (torch.zeros(2, 3, 3), index([(0, 4)]), [0, 3, 6], "nodes of two graphs"),
        (torch.full((1, 3, 3), float("nan")), index([(0, 1)]), [0, 3], "NaN or infinite"),
    ],
)
def test_wrong_input_is_refused(scores: Tensor, positives: Tensor, ptr: list[int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        batched_reciprocal_ranks(scores, positives, torch.tensor(ptr))


def test_wrong_ranks_are_refused() -> None:
    for prediction, target in ((torch.zeros(4), torch.ones(4)), (torch.zeros(4, 3), torch.ones(3))):
        with pytest.raises(UsageError, match="make them with batched_reciprocal_ranks"):
            mrr(prediction, target)


def in_graphgps(batch: list[tuple[Tensor, list[tuple[int, int]]]]) -> float:
    """Return what GraphGPS computes of one batch: the mean over graphs of the mean of their links, 0 without any."""
    means = []
    for scores, links in batch:
        ranks = [row[0] for row in by_definition(scores, links)]
        means.append(sum(ranks) / len(ranks) if ranks else 0.0)
    return sum(means) / len(means)


@given(batch=st.lists(graphs(), min_size=1, max_size=5))
def test_per_graph_equals_graphgps(batch: list[tuple[Tensor, list[tuple[int, int]]]]) -> None:
    scores, links, ptr = padded(batch, 0.0)
    if links.shape[1] == 0:
        return
    share, without = shares(links, ptr)
    rows = torch.cat([batched_reciprocal_ranks(scores, links, ptr), share[:, None]], 1)
    rows = torch.cat([rows, torch.tensor([[0.0, 0.0, 0.0, 1.0]]).repeat(without, 1)])
    label = torch.arange(len(rows)) < links.shape[1]
    assert METRICS["mrr-per-graph"].score(rows, label.long()) == pytest.approx(in_graphgps(batch), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=30), st.integers(1, 4))
def test_hits_equal_ogb_with_ties(rows: list[tuple[int, int]], k: int) -> None:
    from ogb.linkproppred import Evaluator

    pairs, label = (torch.tensor(column) for column in zip(*rows, strict=True))
    positive, negative = pairs[label == 1].float(), pairs[label == 0].float()
    if len(negative) < k or not len(positive):
        with pytest.raises(DataError, match=f"Hits@{k} needs a link and at least {k} pairs without one"):
            hits(pairs.float(), label, k)
        return
    evaluator = Evaluator("ogbl-ddi")
    evaluator.K = k
    wanted = evaluator.eval({"y_pred_pos": positive, "y_pred_neg": negative})[f"hits@{k}"]
    assert hits(pairs.float(), label, k) == pytest.approx(wanted)


@given(st.integers(1, 5), st.integers(1, 9), st.integers(0, 100))
def test_ranks_among_others_equal_ranks_in_a_graph(links: int, others: int, seed: int) -> None:
    every = torch.randint(0, 4, (links, others + 1), generator=torch.Generator().manual_seed(seed)).float()
    wanted = [reciprocal_ranks(row.expand(others + 1, -1), index([(0, 0)]))[0, 0] for row in every]
    torch.testing.assert_close(ranks_among(every[:, 0], every[:, 1:]), torch.stack(wanted))
