"""What docs/pyg.md says of GECO beside PyG's and torch's own tools, where no other test does."""

from __future__ import annotations

import copy
import io
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import Sequential, summary

from geco import GECO
from geco.nn import GECOConv, GECOLayer, GPSLayer
from tests.conftest import random_edges, relative_error

N, D = 20, 8
X, EDGES = torch.randn(N, D), random_edges(N)
MODELS = {
    "GECO": lambda: GECO(D, D, 2, 3),
    "GECOConv": lambda: GECOConv(D),
    "GECOLayer": lambda: GECOLayer(D),
    "GPSLayer": lambda: GPSLayer(D, local="gatedgcn"),
    "GPSLayer-gcn": lambda: GPSLayer(D, local="gcn"),
    "exphormer": lambda: GPSLayer(D, "none", "exphormer", mixer_kwargs={"expander_degree": 2}),
    "virtual-node": lambda: GPSLayer(D, "gcn", "virtual-node"),
    "paper": lambda: GECOConv(D, filter="paper", adjacency="attention"),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> nn.Module:
    return MODELS[request.param]().eval()  # type: ignore[no-any-return, no-untyped-call]


@pytest.mark.parametrize("channels", [D, -1])
def test_sequential(channels: int) -> None:
    steps = [
        (nn.Dropout(0.1), "x -> x"),
        (GECOConv(channels), "x, edge_index, batch -> h"),
        nn.ReLU(),
        (lambda h, x: h + x, "h, x -> h"),
        (GECOLayer(D), "h, edge_index, batch -> h"),
        (GPSLayer(D, local="gcn"), "h, edge_index, batch -> h"),
        nn.Linear(D, 3),
    ]
    network = Sequential("x, edge_index, batch", steps)
    network(X, EDGES, None).sum().backward()
    assert network(X, EDGES, torch.arange(N) // 10).shape == (N, 3)


def test_summary(model: nn.Module) -> None:
    pytest.importorskip("tabulate")
    assert type(model).__name__ in summary(model, X, EDGES)


def test_data_and_loaders(model: nn.Module) -> None:
    graphs = [Data(x=torch.randn(n, D), edge_index=random_edges(n, seed=n)) for n in (5, 9, 1)]
    both = Batch.from_data_list(graphs)
    wanted = torch.cat([model(g.x, g.edge_index) for g in graphs])
    assert relative_error(model(both.x, both.edge_index, both.batch), wanted) < 1e-5
    batch = next(iter(DataLoader(graphs, batch_size=3)))
    assert model(batch.x, batch.edge_index, batch.batch).shape == wanted.shape


def test_edges_of_every_kind() -> None:
    model = GECO(D, D, 2, 3).eval()
    once = EDGES.unique(dim=1).contiguous()
    adj = torch.sparse_coo_tensor(once.flip(0), torch.ones(once.shape[1]), (N, N)).coalesce()
    wanted = model(X, once)
    kinds = [once.int(), EdgeIndex(once, sparse_size=(N, N)), adj, adj.to_sparse_csr()]
    for kind in kinds:
        assert relative_error(model(X, kind), wanted) < 1e-6
    assert relative_error(model(X, once, edge_weight=torch.ones(once.shape[1])), wanted) < 1e-6
    for wrong in (once.short(), once.float(), once.t()):
        with pytest.raises(ValueError, match="edge_index must be an integer tensor"):
            model(X, wrong)
    with pytest.raises(ValueError, match="one per edge"):
        model(X, once, edge_weight=torch.ones(once.shape[1], 1))


def test_few_nodes_and_edges(model: nn.Module) -> None:
    none = torch.zeros(2, 0, dtype=torch.long)
    assert model(X, none).isfinite().all()
    assert model(X[:1], none).isfinite().all()
    assert model(X, EDGES[:, :3]).isfinite().all()  # most nodes are isolated
    with pytest.raises(ValueError, match="x has no nodes; a graph needs at least one"):
        model(X[:0], none)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_precisions(model: nn.Module, dtype: torch.dtype) -> None:
    wanted, same = model(X, EDGES), copy.deepcopy(model).to(dtype)
    found = same(X.to(dtype), EDGES)
    assert found.dtype == dtype
    assert relative_error(found, wanted) < max(1e-5, 5 * torch.finfo(dtype).eps)
    same.train()(X.to(dtype), EDGES).sum().backward()
    assert all(p.grad.isfinite().all() for p in same.parameters() if p.grad is not None)


def test_copies_and_stored_weights(model: nn.Module) -> None:
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    same = copy.deepcopy(model)
    same.reset_parameters()  # type: ignore[operator]
    same.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(same(X, EDGES), model(X, EDGES))


def test_export_for_any_number_of_nodes(model: nn.Module) -> None:
    shapes = {"x": {0: Dim("n")}, "edge_index": {1: Dim("m")}}
    program = torch.export.export(model, (X, EDGES), dynamic_shapes=shapes).module()
    for n in (2, 17, 171, 256):
        x, edges = torch.randn(n, D), random_edges(n)
        assert torch.allclose(program(x, edges), model(x, edges), atol=1e-4)


@pytest.mark.slow
def test_onnx_for_the_number_of_nodes_it_is_given(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    runtime, model = pytest.importorskip("onnxruntime"), GECO(D, D, 2, 3).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch.onnx and onnxscript themselves
        program = torch.onnx.export(model, (X, EDGES), dynamo=True)
    assert program is not None
    program.save(tmp_path / "geco.onnx")
    session = runtime.InferenceSession(tmp_path / "geco.onnx", providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    x, edges = torch.randn(N, D), random_edges(N, seed=1)
    (found,) = session.run(None, dict(zip(names, (x.numpy(), edges.numpy()), strict=True)))
    assert torch.allclose(torch.from_numpy(found), model(x, edges), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["GECO", "GPSLayer"], indirect=True)
def test_compile(model: nn.Module) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inductor's own
        compiled = torch.compile(model, dynamic=True)
        for n in (30, 47):
            x, edges = torch.randn(n, D), random_edges(n)
            assert relative_error(compiled(x, edges), model(x, edges)) < 1e-5
