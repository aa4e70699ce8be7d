"""Encoders on graphs in the exact form of every data set of many graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.encodings import AdjacencySVD, Degree, LaplacianEigenvectors, RandomWalk, Relative, encode
from geco.data.registry import find
from geco.data.sources import lrgb, ogb_code2, ogb_graph
from geco.nn.network.encoders import Categories, Constant, Features
from geco.nn.network.inputs import EdgeEncoder, NodeEncoder
from tests.data.sources.layouts import LRGB, write_code2, write_lrgb, write_ogb_molecules, write_ogb_proteins

D = 24
LAP = LaplacianEigenvectors(4, "none", skip_first=False, with_values=True, per_component=False)
OPTIONS: dict[str, dict[str, Any]] = {
    "lap_pe_values": {"kind": "deepset", "columns": 8, "channels": 6},
    "rwse": {"kind": "linear", "columns": 5, "channels": 4},
    "degree": {"kind": "linear", "columns": 1, "channels": 1, "norm": False},
    "adj_svd": {"kind": "linear", "columns": 4, "channels": 2, "norm": False},
    "rel_diffusion": {"kind": "linear", "columns": 3, "channels": 2},
}


def _lrgb(name: str) -> Callable[[Path], GraphDataset]:
    def make(folder: Path) -> GraphDataset:
        write_lrgb(folder, name)
        return lrgb.read(folder, find(name))

    return make


def _ogb(name: str) -> Callable[[Path], GraphDataset]:
    def make(folder: Path) -> GraphDataset:
        if name == "ogbg-ppa":
            write_ogb_proteins(folder)
        else:
            write_ogb_molecules(folder, find(name).num_targets)
        return ogb_graph.read(folder, find(name))

    return make


def _code2(folder: Path) -> GraphDataset:
    write_code2(folder)
    return ogb_code2.read(folder, find("ogbg-code2"))


MAKERS: dict[str, Callable[[Path], GraphDataset]] = {
    **{name: _lrgb(name) for name in LRGB},
    **{name: _ogb(name) for name in ("ogbg-molhiv", "ogbg-molpcba", "ogbg-ppa")},
    "ogbg-code2": _code2,
}
NODES = {"pascalvoc-sp": Features, "coco-sp": Features, "ogbg-ppa": Constant}
EDGES = {
    "pascalvoc-sp": (Features, 2),
    "coco-sp": (Features, 2),
    "ogbg-ppa": (Features, 7),
    "ogbg-code2": (Categories, 2),
}


def encoders(dataset: GraphDataset, **options: Any) -> tuple[NodeEncoder, EdgeEncoder]:
    info, arrays = dataset.info, dataset.arrays
    nodes = NodeEncoder(D, arrays["node/x"].shape[1], info.categories, **options)
    return nodes, EdgeEncoder(D, arrays["edge/edge_attr"].shape[1], info.edge_categories)


@pytest.mark.parametrize("name", MAKERS)
def test_every_data_set_goes_in(name: str, tmp_path: Path) -> None:
    dataset = MAKERS[name](tmp_path)
    nodes, edges = encoders(dataset)
    assert isinstance(nodes.features, NODES.get(name, Categories))
    kind, columns = EDGES.get(name, (Categories, 3))
    assert isinstance(edges.features, kind)
    assert edges.columns == columns
    batch = dataset.batch(range(len(dataset)))
    h, e = nodes(batch), edges(batch)
    assert h.shape == (dataset.num_nodes, D)
    assert e.shape == (dataset.num_edges, D)
    (h.square().sum() + e.square().sum()).backward()
    assert all(p.grad is not None and bool((p.grad != 0).any()) for p in [*nodes.parameters(), *edges.parameters()])
    start, begin = batch.ptr.tolist(), dataset.arrays["ptr/edge"].tolist()
    for i in range(len(dataset)):  # graphs of one node and without edges among them
        torch.testing.assert_close(nodes(dataset[i]), h[start[i] : start[i + 1]])
        torch.testing.assert_close(edges(dataset[i]), e[begin[i] : begin[i + 1]])


def _encoded(tmp_path: Path, name: str = "peptides-func") -> GraphDataset:
    chosen = [LAP, RandomWalk(5), Degree(), AdjacencySVD(2), Relative("diffusion", 3)]
    return encode(MAKERS[name](tmp_path), chosen, Cache(tmp_path / "cache"), workers=0)


@pytest.mark.parametrize("join", ["concat", "add"])
def test_encodings_are_joined(join: str, tmp_path: Path) -> None:
    dataset = _encoded(tmp_path)
    options = (
        OPTIONS
        if join == "concat"
        else {name: {k: v for k, v in o.items() if k != "channels"} for name, o in OPTIONS.items()}
    )
    nodes, _ = encoders(dataset, encodings=options, join=join)
    batch = dataset.batch(range(len(dataset)))
    h = nodes(batch)
    assert h.shape == (dataset.num_nodes, D)
    (h * torch.randn_like(h)).sum().backward()
    assert all(p.grad is not None and bool((p.grad != 0).any()) for p in nodes.parameters())
    parts = [nodes.features(batch.x)]
    nodes.eval()
    parts += [module(batch[name], batch.batch, batch.graph_id) for name, module in nodes.encodings.items()]
    wanted = torch.cat(parts, 1) if join == "concat" else torch.stack(parts).sum(0)
    torch.testing.assert_close(nodes(batch), wanted)
    for i in range(len(dataset)):
        torch.testing.assert_close(nodes(dataset[i]), nodes(batch)[batch.batch == i])


def test_signs_follow_the_epoch_and_the_number_of_the_graph(tmp_path: Path) -> None:
    dataset = _encoded(tmp_path)
    nodes, _ = encoders(dataset, encodings={"lap_pe_values": OPTIONS["lap_pe_values"]})
    found = []
    for epoch in range(8):
        nodes.set_epoch(epoch)
        batch = dataset.batch([4, 1])
        found.append(nodes(batch))
        torch.testing.assert_close(nodes(dataset.batch([1])), found[-1][batch.batch == 1])
    assert any(not torch.allclose(found[0], other) for other in found[1:])


def test_published_widths() -> None:
    """LRGB by GraphGPS: 96 channels, 16 of them LapPE; PCQM4Mv2: 304, 20 of them RWSE."""
    nodes = NodeEncoder(96, 9, [5] * 9, {"lap_pe_values": {"kind": "deepset", "columns": 20, "channels": 16}})
    assert nodes.features.weight.shape == (45, 80)
    assert [tuple(lin.weight.shape) for lin in nodes.encodings["lap_pe_values"].phi.lins] == [(32, 2), (16, 32)]
    nodes = NodeEncoder(304, 9, [5] * 9, {"rwse": {"kind": "linear", "columns": 16, "channels": 20}})
    assert nodes.features.weight.shape == (45, 284)


def test_superpixels_are_standardised_by_their_training_part(tmp_path: Path) -> None:
    dataset = MAKERS["pascalvoc-sp"](tmp_path)
    nodes = NodeEncoder(D, 14, standardise=True)
    assert isinstance(nodes.features, Features)
    train = torch.cat([dataset[i].x for i in dataset.split().train.tolist()])
    nodes.features.fit([train])
    torch.testing.assert_close(nodes.features.mean, train.mean(0))
    assert nodes(dataset.batch([0, 3])).isfinite().all()


def test_edges_without_features_share_a_vector() -> None:
    edges = EdgeEncoder(D)
    data = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), edge_attr=torch.randn(3, 4))
    assert torch.equal(edges(data), edges.features.weight.expand(3, D))


def test_nodes_without_features_share_a_vector() -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3, rwse=torch.rand(3, 5))
    assert NodeEncoder(D)(data).shape == (3, D)
    assert NodeEncoder(D, encodings={"rwse": OPTIONS["rwse"]})(data).shape == (3, D)


def test_wrong_use_is_explained() -> None:
    with pytest.raises(ValueError, match="encodings take all 8 channels or more"):
        NodeEncoder(8, 3, encodings={"rwse": {"kind": "linear", "columns": 5, "channels": 8}})
    with pytest.raises(ValueError, match="leave channels out"):
        NodeEncoder(8, 3, encodings={"rwse": {"kind": "linear", "columns": 5, "channels": 4}}, join="add")
    with pytest.raises(ValueError, match=r"join 'sum' is not known\. There are concat, add"):
        NodeEncoder(8, 3, join="sum")  # type: ignore[arg-type]
    data = Data(x=torch.zeros(2, 3), edge_index=torch.tensor([[0], [1]]))
    with pytest.raises(ValueError, match="the data lacks the encoding rwse, it has edge_index, x; compute it first"):
        NodeEncoder(8, 3, encodings={"rwse": OPTIONS["rwse"]})(data)
    with pytest.raises(ValueError, match="no edge_attr, the model was made for one of 2 columns"):
        EdgeEncoder(8, 2)(data)
    with pytest.raises(ValueError, match=r"x must be numbers \(N, 5\), got torch.float32 \(2, 3\)"):
        NodeEncoder(8, 5)(data)


def test_new_weights() -> None:
    nodes = NodeEncoder(D, 3, [4] * 3, {"lap_pe_values": OPTIONS["lap_pe_values"], "rwse": OPTIONS["rwse"]})
    edges = EdgeEncoder(D, 2)
    for module in (nodes, edges):
        old = [p.clone() for p in module.parameters() if p.dim() == 2]
        module.reset_parameters()
        new = [p for p in module.parameters() if p.dim() == 2]
        assert all(not torch.equal(p, q) for p, q in zip(new, old, strict=True))


def test_molecules_from_smiles_go_in() -> None:
    """PCQM4Mv2, Peptides and molhiv are also read from SMILES: uint8 categories, a molecule of one atom without
    bonds.
    """
    from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES, blocks_from_smiles

    (block,) = blocks_from_smiles(["CCO", "C", "c1ccccc1"], workers=1)
    data = Data(**{name: torch.from_numpy(getattr(block, name)) for name in ("x", "edge_attr")})
    data.edge_index = torch.from_numpy(block.edge_index.astype(np.int64))
    assert data.x.dtype == torch.uint8
    assert NodeEncoder(D, 9, ATOM_CATEGORIES)(data).shape == (10, D)
    assert EdgeEncoder(D, 3, BOND_CATEGORIES)(data).shape == (16, D)
