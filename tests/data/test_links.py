"""A graph as a data set of links: nothing that is asked for is in what the network sees."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from geco.data.dataset import GraphDataset
from geco.data.links import LINK_METRICS, link_dataset
from geco.data.nonlinks import DIRECTED, TWO_SIDED, UNDIRECTED
from geco.errors import DataError, UsageError
from geco.train.metrics import METRICS

Pairs = set[tuple[int, int]]


def graph(nodes: int = 30, edges: int = 120, seed: int = 0) -> Data:
    """Return a graph with self loops, repeated edges and some edges in both directions."""
    ends = torch.from_numpy(np.random.default_rng(seed).integers(0, nodes, (2, edges)))
    ends = torch.cat([ends, ends[:, :9].flip(0), torch.arange(3).repeat(2, 1)], 1)
    return Data(x=torch.arange(float(nodes))[:, None], edge_index=ends)


def both(ends: torch.Tensor) -> Pairs:
    """Return pairs without their direction."""
    return {(min(u, v), max(u, v)) for u, v in ends.T.tolist()}


def asked(dataset: GraphDataset, part: str, label: int) -> torch.Tensor:
    rows = getattr(dataset.split(), part)
    known = dataset.arrays["link/edge_label"].long()[rows]
    return dataset.arrays["link/edge_label_index"].long()[:, rows[known == label]]


@given(st.integers(0, 500), st.booleans())
def test_what_is_asked_for_is_nowhere_in_the_input(seed: int, directed: bool) -> None:
    data = graph(seed=seed)
    dataset = link_dataset(data, directed=directed, fractions=(0.6, 0.2, 0.2), seed=seed)
    seen = both(dataset[0].edge_index)
    edges = both(data.edge_index) - {(v, v) for v in range(30)}
    parts = {part: both(asked(dataset, part, 1)) for part in ("train", "valid", "test")}
    assert seen == parts["train"]
    assert not seen & (parts["valid"] | parts["test"])
    assert not parts["valid"] & parts["test"]
    assert set().union(*parts.values()) == edges
    true = set(zip(*data.edge_index.tolist(), strict=True))
    true |= set() if directed else {(v, u) for u, v in true}
    for part in ("valid", "test"):
        none = asked(dataset, part, 0)
        assert none.shape == asked(dataset, part, 1).shape
        assert not set(zip(*none.tolist(), strict=True)) & true
        assert (none[0] != none[1]).all()


def test_undirected_links_are_there_once_and_directed_ones_once_a_direction() -> None:
    data = Data(x=torch.ones(9, 1), edge_index=torch.tensor([[0, 1, 1, 2, 3, 4, 5, 6], [1, 0, 2, 3, 4, 5, 6, 7]]))
    plain = link_dataset(data, fractions=(0.5, 0.25, 0.25))
    assert plain.info.names == (UNDIRECTED,)
    assert int(plain.arrays["link/edge_label"].sum()) == 7
    directed = link_dataset(data, directed=True, fractions=(0.5, 0.25, 0.25))
    assert directed.info.names == (DIRECTED,)
    assert int(directed.arrays["link/edge_label"].sum()) == 8


def test_two_sides_stay_two_sides() -> None:
    ends = torch.from_numpy(np.random.default_rng(0).integers(0, 10, (2, 60)))
    dataset = link_dataset(Data(x=torch.ones(30, 1), edge_index=ends + torch.tensor([[0], [15]])))
    assert dataset.info.names == (TWO_SIDED,)
    for part in ("valid", "test"):
        none = asked(dataset, part, 0)
        assert (none[0] < 10).all()
        assert (none[1] >= 15).all()


def test_edge_data_stays_with_its_edge() -> None:
    data = graph()
    data.edge_weight = (100 * data.edge_index.min(0).values + data.edge_index.max(0).values).float()
    data.edge_attr = data.edge_weight[:, None]
    for directed in (False, True):
        found = link_dataset(data, directed=directed)[0]
        wanted = 100 * found.edge_index.min(0).values + found.edge_index.max(0).values
        assert torch.equal(found.edge_weight, wanted.float())
        assert torch.equal(found.edge_attr[:, 0], wanted.float())


def test_the_seed_decides_all() -> None:
    one, same, other = (link_dataset(graph(), seed=seed) for seed in (1, 1, 2))
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_by_time_the_newest_are_asked_for() -> None:
    ends = torch.tensor([[0, 1, 2, 3, 4, 1, 0], [1, 2, 3, 4, 5, 0, 5]])
    times = torch.tensor([10, 20, 30, 40, 50, 99, 60])  # 1 to 0 repeats 0 to 1, which is of 10
    dataset = link_dataset(Data(x=torch.ones(6, 1), edge_index=ends), times=times, fractions=(0.5, 0.25, 0.25))
    parts = [both(asked(dataset, part, 1)) for part in ("train", "valid", "test")]
    assert parts == [{(0, 1), (1, 2), (2, 3)}, {(3, 4), (4, 5)}, {(0, 5)}]


def test_by_parts() -> None:
    ends = torch.tensor([[0, 1, 2, 3, 1], [1, 2, 3, 4, 0]])
    data = Data(x=torch.ones(6, 1), edge_index=ends)
    dataset = link_dataset(data, parts=np.array([0, 1, 2, 0, 0]))
    assert [both(asked(dataset, part, 1)) for part in ("train", "valid", "test")] == [
        {(0, 1), (3, 4)}, {(1, 2)}, {(2, 3)},
    ]  # fmt: skip
    with pytest.raises(DataError, match="between nodes 0 and 1 are not all in one part"):
        link_dataset(data, parts=np.array([0, 1, 2, 0, 1]))
    with pytest.raises(DataError, match="are not all in one part"):
        link_dataset(data, parts=np.array([0, 1, 2, 7, 0]))
    with pytest.raises(UsageError, match="by parts or by times, not by both"):
        link_dataset(data, parts=np.zeros(5), times=np.zeros(5))


def test_what_cannot_be_asked_is_refused() -> None:
    full = torch.combinations(torch.arange(5)).T
    with pytest.raises(DataError, match="every pair of nodes that may be linked is"):
        link_dataset(Data(x=torch.ones(5, 1), edge_index=full))
    with pytest.raises(DataError, match=r"has no link \(2 train, 0 valid, 0 test\)"):
        link_dataset(Data(x=torch.ones(5, 1), edge_index=full[:, [0, 5]]))
    with pytest.raises(DataError, match="has no link"):
        link_dataset(Data(x=torch.ones(5, 1), edge_index=torch.tensor([[1], [1]])))
    with pytest.raises(UsageError, match="scored by one of auroc, ap, mrr"):
        link_dataset(graph(), metric="accuracy")
    with pytest.raises(UsageError, match="hits@50 needs at least 50 links in validation and in test, there are"):
        link_dataset(graph(), metric="hits@50")


def test_every_metric_of_links_exists() -> None:
    assert set(LINK_METRICS) <= set(METRICS)
