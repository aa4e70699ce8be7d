"""Places of a whole data set: made by `encode`, cached, with the node categories as colours; the transform; real
molecules.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csgraph, csr_array
from torch_geometric.data import Batch, Data

from geco.data import GraphDataset, Info, StructureOrder, encode, load, structure_order
from geco.data.cache import Cache
from geco.data.collate import collect
from geco.errors import UsageError
from tests.data.encodings.graphs import random_graph


def dataset(graphs: int = 12, categories: bool = True) -> GraphDataset:
    def make(number: int) -> Data:
        nodes = 1 + 7 * number % 20
        x = torch.from_numpy(np.random.default_rng(number).integers(0, 3, (nodes, 2)))
        ends = torch.from_numpy(random_graph(nodes, 3, number))
        return Data(x=x if categories else x.float(), edge_index=ends, y=torch.tensor([number % 2]))

    info = Info("some", "graph", "class", 2, "accuracy", (3, 3) if categories else ())
    return collect(info, [make(i) for i in range(graphs)])


@pytest.mark.parametrize("categories", [True, False])
def test_places_are_those_of_the_orders_of_each_graph(tmp_path: Path, categories: bool) -> None:
    plain = dataset(categories=categories)
    found = encode(plain, [StructureOrder()], Cache(tmp_path), workers=2)
    assert found.arrays["node/place"].shape == (plain.num_nodes,)
    for i in range(len(plain)):
        graph = found[i]
        order = structure_order(graph.edge_index, graph.num_nodes, graph.x if categories else None)
        assert graph.place.dtype == torch.int64
        assert torch.equal(graph.place.argsort(), order)
        assert torch.equal(StructureOrder()(plain[i]).place, graph.place)
    batch = found.batch([3, 1])
    assert torch.equal(batch.place, torch.cat([found[3].place, found[1].place]))
    assert torch.equal(Batch.from_data_list([found[3], found[1]]).place, batch.place)


def test_cached_and_made_anew_when_categories_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, cache = dataset(), Cache(tmp_path)
    first = encode(plain, [StructureOrder()], cache)
    monkeypatch.setattr(StructureOrder, "compute", None)
    assert torch.equal(encode(plain, [StructureOrder()], cache).arrays["node/place"], first.arrays["node/place"])
    other = replace(plain, arrays={**plain.arrays, "node/x": 2 - plain.arrays["node/x"]})
    with pytest.raises(TypeError):
        encode(other, [StructureOrder()], cache)


def test_more_than_a_float_can_count(tmp_path: Path) -> None:
    nodes = 2**24 + 3  # no edges: every node is like the others
    arrays = {
        "ptr/node": torch.tensor([0, nodes]), "ptr/edge": torch.tensor([0, 0]),
        "edge/edge_index": torch.zeros(2, 0).long(),
    }  # fmt: skip
    place = np.arange(nodes)[::-1].copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StructureOrder, "compute", lambda self, *_: place)
        found = encode(
            GraphDataset(Info("big", "node", "class", 2, "accuracy"), arrays), [StructureOrder()], Cache(tmp_path)
        )
    assert found.arrays["node/place"].dtype == torch.int32
    assert int(found.arrays["node/place"][0]) == nodes - 1
    assert int(found.arrays["node/place"][1]) == nodes - 2


def test_transform_takes_a_named_attribute_and_refuses_real_numbers() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    data = Data(x=torch.rand(3, 2), atom=torch.tensor([1, 0, 0]), edge_index=edges)
    assert StructureOrder(colours="atom", attr_name="rank")(data).rank.tolist() == [2, 1, 0]
    for name in ("missing", "real"):
        with pytest.raises(UsageError, match="whole numbers"):
            StructureOrder(colours=name)(Data(real=torch.rand(3), edge_index=edges, num_nodes=3))


@pytest.mark.real
def test_real_molecules_keep_their_order_under_other_numbers() -> None:
    molecules = load("peptides-func", os.environ["GECO_DATA"])
    rng = np.random.default_rng(0)
    for number in rng.choice(molecules.split().test.numpy(), 200, replace=False):
        graph = molecules[int(number)]
        ends, x, nodes = graph.edge_index.numpy(), graph.x.numpy(), graph.num_nodes
        new = rng.permutation(nodes)
        old = np.argsort(new)
        before = structure_order(ends, nodes, x).numpy()
        after = old[structure_order(new[ends][:, rng.permutation(ends.shape[1])], nodes, x[old]).numpy()]
        steps = csgraph.shortest_path(csr_array((np.ones(ends.shape[1]), ends), (nodes, nodes)), unweighted=True)
        assert (x[before] == x[after]).all()
        assert np.array_equal(steps[before][:, before], steps[after][:, after])
