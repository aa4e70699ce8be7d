"""Sampled batches: every seed once, exactly the edges there are, a function of (seed, epoch, batch)."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from geco.data.embedded.synthetic import erdos_renyi
from geco.data.subgraphs import InEdges, Sampling, SubgraphLoader, nodes_on_walks, nodes_within
from geco.errors import UsageError
from geco.nn.network.network import Network

METHODS: tuple[Sampling, ...] = ("clusters", "hops", "walks")
NODES = 200


def graph_of(nodes: int = NODES, directed: bool = False) -> Data:
    """Return a random graph whose node and edge data tell who they are, a few nodes without edges."""
    edges = erdos_renyi(nodes, degree=5, seed=2)[0].edge_index
    edges = edges[:, torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(0))]
    edges = edges[:, edges[0] < edges[1]] if directed else edges
    edges = edges[:, (edges % 50 != 0).all(0)]
    x = torch.randn(nodes, 4, generator=torch.Generator().manual_seed(1))
    return Data(
        x=x, name=torch.arange(nodes), edge_index=edges, edge_name=torch.arange(edges.shape[1]), num_nodes=nodes
    )


def loader_of(
    graph: Data,
    seeds: Tensor,
    size: int = 16,
    method: Sampling = "hops",
    fanout: tuple[int, ...] = (3, 2),
    seed: int = 0,
) -> SubgraphLoader:
    return SubgraphLoader(graph, ("x", "name"), ("edge_name",), seeds, size, method=method, fanout=fanout, seed=seed)


@given(st.sampled_from(METHODS), st.integers(2, 120), st.integers(2, 60), st.integers(0, 5), st.integers(-3, 3))
def test_every_seed_is_one_of_exactly_one_batch(method: Sampling, count: int, size: int, epoch: int, seed: int) -> None:
    seeds = torch.randperm(NODES, generator=torch.Generator().manual_seed(count))[:count]
    loader = loader_of(GRAPH, seeds, size, method, seed=seed)
    parts = list(loader.epoch(epoch))
    found = torch.cat([part.name[part.seed_mask] for part in parts])
    assert torch.equal(found.sort().values, seeds.sort().values)
    assert len(parts) == len(loader)
    counts = [int(part.seed_mask.sum()) for part in parts]
    assert min(counts) >= 2
    assert max(counts) <= max(size, 3) + (4 if method == "clusters" else 0)  # four stretches round up each


GRAPH = graph_of()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("directed", [False, True])
def test_a_subgraph_has_the_edges_between_its_nodes_and_their_data(method: Sampling, directed: bool) -> None:
    graph = graph_of(directed=directed)
    for part in loader_of(graph, torch.arange(0, NODES, 2), method=method).epoch(1):
        assert torch.equal(part.name, part.name.unique())  # in the order of the graph, none twice
        assert torch.equal(part.name, part.node_id)
        inside = torch.isin(graph.edge_index, part.name).all(0)  # those of the naive way
        assert torch.equal(part.edge_name, inside.nonzero().squeeze(1))
        assert torch.equal(part.name[part.edge_index], graph.edge_index[:, inside])
        assert torch.equal(part.x, graph.x[part.name])


def test_clusters_share_all_nodes_out() -> None:
    for epoch in (0, 1):
        nodes = torch.cat([part.name for part in loader_of(GRAPH, torch.arange(90), method="clusters").epoch(epoch)])
        assert torch.equal(nodes.sort().values, torch.arange(NODES))


def test_clusters_cut_few_edges() -> None:
    """A ring in twenty stretches loses an edge for each; batches of random nodes would keep a fifth of them."""
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(4))
    ends = torch.stack([order, order.roll(1)])
    ring = Data(edge_index=torch.cat([ends, ends.flip(0)], 1), num_nodes=NODES)
    loader = SubgraphLoader(ring, (), (), torch.arange(80), 16, method="clusters")
    assert sum(part.num_edges for part in loader.epoch(0)) >= 2 * (NODES - 20)


def test_hops_reach_what_is_so_far_away_and_no_more_than_the_fan_out() -> None:
    edges = InEdges.of(GRAPH.edge_index, NODES)
    seeds = torch.tensor([3, 7, 100])
    near = seeds
    for _ in range(2):  # with room for all: breadth first
        into = torch.isin(GRAPH.edge_index[1], near)
        near = torch.cat([near, GRAPH.edge_index[0, into]]).unique()
    assert torch.equal(nodes_within(edges, seeds, (99, 99), key=5), near)
    few = nodes_within(edges, seeds, (2, 1), key=5)
    assert bool(torch.isin(few, near).all())
    assert len(few) <= 3 + 3 * 2 + 6
    for key in range(20):
        for node in (3, 7):
            drawn = edges.drawn(torch.tensor([node]), 2, key)
            sources = GRAPH.edge_index[0, GRAPH.edge_index[1] == node]
            assert len(drawn) == min(2, len(sources))
            assert len(drawn.unique()) == len(drawn)
            assert bool(torch.isin(drawn, sources).all())


def test_walks_go_along_edges_and_stay_where_none_leads_on() -> None:
    edges = InEdges.of(GRAPH.edge_index, NODES)
    linked = {(t, s) for s, t in GRAPH.edge_index.t().tolist()}
    alone = 50  # without edges, as every fiftieth
    for key in range(30):
        for node in (3, 7, alone):
            one, two = (set(nodes_on_walks(edges, torch.tensor([node]), steps, key).tolist()) for steps in (1, 2))
            assert one == {node} if node == alone else (len(one) == 2 and (node, (one - {node}).pop()) in linked)
            assert one <= two
            assert len(two) <= 3
            assert all(any((a, b) in linked for a in one) for b in two - one)
    assert nodes_on_walks(InEdges.of(torch.zeros(2, 0, dtype=torch.int64), 3), torch.tensor([1]), 4, 0).tolist() == [1]


def test_every_step_is_drawn_alike() -> None:
    star = InEdges.of(torch.stack([torch.arange(1, 11), torch.zeros(10, dtype=torch.int64)]), 11)
    met = torch.cat([nodes_on_walks(star, torch.tensor([0]), 1, key)[1:] for key in range(2000)])
    counts = torch.bincount(met, minlength=11)[1:]
    assert counts.sum() == 2000
    assert float((counts - 200).abs().max()) < 5 * (2000 * 0.1 * 0.9) ** 0.5


def test_every_neighbour_is_drawn_alike() -> None:
    star = InEdges.of(torch.stack([torch.arange(1, 11), torch.zeros(10, dtype=torch.int64)]), 11)
    counts = torch.bincount(torch.cat([star.drawn(torch.tensor([0]), 3, key) for key in range(2000)]), minlength=11)[1:]
    assert counts.sum() == 6000
    assert float((counts - 600).abs().max()) < 5 * (2000 * 0.3 * 0.7) ** 0.5


@pytest.mark.parametrize("method", METHODS)
def test_batches_are_a_function_of_seed_epoch_and_number(method: Sampling) -> None:
    def nodes(loader: SubgraphLoader, epoch: int, start: int = 0) -> list[list[int]]:
        return [[*part.name.tolist(), -1, *part.name[part.seed_mask].tolist()] for part in loader.epoch(epoch, start)]

    loader = loader_of(GRAPH, torch.arange(80), method=method)
    first = nodes(loader, 2)
    torch.manual_seed(99)
    again = loader_of(GRAPH, torch.arange(80), method=method)
    assert nodes(again, 2, start=3) == first[3:]  # in the middle, in a new process
    assert nodes(loader, 3) != first
    assert nodes(loader_of(GRAPH, torch.arange(80), method=method, seed=1), 2) != first


@pytest.mark.parametrize("method", METHODS)
def test_a_subgraph_is_a_graph_of_its_own(method: Sampling) -> None:
    """Its output is the same alone and beside others."""
    torch.manual_seed(0)
    network = Network("geco", 4, "node", 3, hidden_channels=8, options={"filter": "windows"}).eval()
    parts = list(loader_of(GRAPH, torch.arange(60), method=method).epoch(0))[:3]
    alone = torch.cat([network(part) for part in parts])
    assert torch.allclose(network(Batch.from_data_list(parts)), alone, atol=1e-5)


def test_batches_of_fewer_than_two_seeds_are_refused() -> None:
    for seeds, size in ((torch.arange(5), 1), (torch.arange(1), 5)):
        with pytest.raises(UsageError, match="two training nodes"):
            loader_of(GRAPH, seeds, size)
