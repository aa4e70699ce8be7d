"""Graphs that are wrong or odd, as data that `geco train` is given.

The same at the layer is tested elsewhere: ends of edges in tests/nn/graph/test_adjacency.py::test_refuses_edges and
test_equals_the_dense_matrix; isolated nodes in test_isolated_nodes_get_zero_and_finite_gradients there; features,
types and devices in tests/nn/test_conv.py::test_refuses, test_refuses_to_train_on_one_node and test_batch_contract.
In a user's files: tests/data/user/test_arrays.py::test_mistakes and
tests/data/user/test_tables.py::test_mistakes_in_nodes (overlapping masks are refused there, where they can be
corrected). Many graphs are in tests/train/test_data_checks_many_graphs.py.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info, Split
from geco.errors import DataError
from geco.machine import reset_peak, resident
from geco.nn import reference
from geco.nn.graph.adjacency import adjacency
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.engine import Trainer
from tests.conftest import relative_error
from tests.train.runs import ONE, geco, refused, tree, use

QUICK = Config(DataConfig("t", batch_size=6), ModelConfig(hidden=8), OptimConfig(warmup=0), TrainConfig(epochs=2))
FLAGS = ("--train.epochs", "2", "--model.hidden", "8", "--data.batch-size", "6")
EDGES = ONE.arrays["edge/edge_index"].long()
Capture = pytest.CaptureFixture[str]


def changed(**arrays: Tensor) -> GraphDataset:
    """Return the data set with other arrays: edge_index, x, y and so on."""
    homes = {"edge_index": "edge", "edge_weight": "edge", "x": "node", "y": "node"}
    return replace(ONE, arrays={**ONE.arrays, **{f"{homes[name]}/{name}": value for name, value in arrays.items()}})


def put(array: Tensor, row: int, value: float) -> Tensor:
    array = array.clone().float()
    array.view(len(array), -1)[row, 0] = value
    return array


X, Y = ONE.arrays["node/x"], ONE.arrays["node/y"].long()
REFUSED = {
    "end past the last node": (changed(edge_index=EDGES + 1), "outside their graph"),
    "end far past the last node": (changed(edge_index=EDGES.clone().fill_(10**8)), "outside their graph"),
    "negative end": (changed(edge_index=EDGES - 1), "outside their graph"),
    "ends turned": (
        changed(edge_index=EDGES.t().contiguous()),
        "must be whole numbers of shape (2, M), got torch.int64",
    ),
    "ends flat": (changed(edge_index=torch.zeros(0, dtype=torch.int64)), "must be whole numbers of shape (2, M)"),
    "ends of floats": (changed(edge_index=EDGES.float()), "must be whole numbers of shape (2, M), got torch.float32"),
    "NaN in x": (
        changed(x=put(X, 7, math.nan)),
        "node/x has NaN or infinite values in 1 rows, the first in row 7, column 0",
    ),
    "infinite x": (changed(x=put(X, 9, -math.inf)), "node/x has NaN or infinite values in 1 rows, the first in row 9"),
    "NaN weight": (
        changed(edge_weight=put(torch.ones(EDGES.shape[1]), 3, math.nan)),
        "edge/edge_weight has NaN or infinite",
    ),
    "feature too large": (
        changed(x=put(X, 5, 1e38)),
        "node/x has values over 1e+15 in 1 rows, the first in row 5, column 0",
    ),
    "class past the last": (
        changed(y=Y.clone().index_fill(0, torch.tensor([3, 4]), 9)),
        "2 of 60 labels are out of range, the first is 9 in row 3; they must be whole numbers from 0 to 1",
    ),
    "negative class": (changed(y=put(Y, 2, -7).long()), "1 of 60 labels are out of range, the first is -7 in row 2"),
    "class between two": (changed(y=put(Y, 1, 0.5)), "1 of 60 labels are out of range, the first is 0.5 in row 1"),
    "x too short": (changed(x=X[:-1]), "node/x has 59 rows, its graphs have 60"),
    "y too short": (changed(y=Y[:-1]), "node/y has 59 rows, its graphs have 60"),
    "x flat": (changed(x=X[:, 0]), "node/x must have rows and columns"),
}


@pytest.mark.parametrize("model", ["geco", "gcn"])
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, model: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path) -> None:
    """Refused before anything is built, as data (exit 3), in one line; no folder is made."""
    dataset, message = REFUSED[case]
    use(monkeypatch, dataset)
    code, line = refused(capsys, "train", "digits", *FLAGS, "--model.name", model, "--out", tmp_path / "run")
    assert code == 3
    assert message in line
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("model", ["geco", "gcn", "gps"])
def test_no_edges(model: str) -> None:
    """A graph without edges trains, with finite gradients."""
    none = torch.empty(2, 0, dtype=torch.int64)
    arrays = {**ONE.arrays, "edge/edge_index": none, "ptr/edge": torch.tensor([0, 0])}
    config = replace(QUICK, model=ModelConfig(name=model, hidden=8))  # type: ignore[arg-type]
    trainer = Trainer(config, replace(ONE, arrays=arrays))
    assert 0 <= trainer.fit()["test"] <= 1
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in trainer.model.parameters())


def test_isolated_nodes() -> None:
    """Nodes of degree 0 train along, with finite gradients."""
    kept = EDGES[:, (EDGES < 10).all(0)]
    arrays = {**ONE.arrays, "edge/edge_index": kept, "ptr/edge": torch.tensor([0, kept.shape[1]])}
    trainer = Trainer(QUICK, replace(ONE, arrays=arrays))
    assert math.isfinite(trainer.fit()["valid"])
    assert all(bool(p.grad.isfinite().all()) for p in trainer.model.parameters() if p.grad is not None)


def write_tables(folder: Path, heights: list[str]) -> Path:
    folder.mkdir()
    rows = [f"n{i},{h},{i % 3},{'dog' if i % 2 else 'cat'}" for i, h in enumerate(heights)]
    (folder / "nodes.csv").write_text("\n".join(["id,height,age,label", *rows]) + "\n")
    edges = [f"n{i},n{(i + 1) % len(heights)}" for i in range(len(heights))]
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    return folder


@pytest.mark.parametrize(("value", "code"), [("1e8", 0), ("1e38", 3)])
def test_one_feature_too_large(value: str, code: int, capsys: Capture, tmp_path: Path) -> None:
    """1e8 in a column that is not scaled is reported with the column's name; 1e38 is refused."""
    files = write_tables(tmp_path / "files", ["1"] * 20 + [value] + ["0"] * 19)
    assert geco(capsys, "data", "import", files, "--name", "tall")[0] == 0
    found, err = geco(capsys, "train", "tall", *FLAGS, "--model.scaling", "none", "--out", tmp_path / "run")
    assert found == code
    assert "column height" in err
    assert ("warning: tall: node/x, column height reaches 1e+08" in err) == (code == 0)
    assert (tmp_path / "run" / "seed-0" / "result.json").exists() == (code == 0)


@pytest.mark.parametrize("undirected", [True, False])
def test_edges_as_documented(undirected: bool) -> None:
    """Made undirected, each edge counts once each way; kept as they are, repeats add up. Self loops stay."""
    edges = torch.tensor([[0, 0, 1, 2, 2], [1, 1, 0, 2, 0]])
    info = Info("few", "node", "class", 2, "accuracy")
    graph = {"x": torch.randn(4, 2), "edge_index": edges, "y": torch.tensor([0, 1, 0, 1])}
    dataset = collect(info, [graph], [Split(torch.tensor([0, 1]), torch.tensor([2]), torch.tensor([3]))])
    trainer = Trainer(replace(QUICK, data=DataConfig("t", undirected=undirected)), dataset)
    seen = trainer.batches.data.edge_index  # type: ignore[attr-defined]
    both = torch.tensor([[0, 0, 1, 2, 2], [1, 2, 0, 0, 2]])
    wanted = reference.normalised_adjacency(both if undirected else edges, 4)
    assert torch.allclose((adjacency(seen, 4) @ torch.eye(4)).double(), wanted, atol=1e-6)


@pytest.mark.slow
def test_a_star_of_a_million_nodes() -> None:
    """A hub of degree 10^6 - 1 takes memory in proportion to its edges, and its row is right."""
    n = 10**6
    spokes = torch.arange(1, n)
    ends = torch.stack([spokes, torch.zeros_like(spokes)])
    graph = {"x": torch.randn(n, 2), "edge_index": ends, "y": torch.arange(n) % 2}
    numbers = torch.arange(n)
    parts = Split(numbers[: n // 2], numbers[n // 2 : n // 4 * 3], numbers[n // 4 * 3 :])
    dataset = collect(Info("star", "node", "class", 2, "accuracy"), [graph], [parts])
    reset_peak()
    config = replace(QUICK, model=ModelConfig(hidden=4, layers=1), train=TrainConfig(epochs=1))
    trainer = Trainer(config, dataset)
    assert math.isfinite(trainer.fit()["valid"])
    assert resident() < 4 * 2**30
    x = dataset.arrays["node/x"]
    row = (adjacency(trainer.batches.data.edge_index, n) @ x)[0]  # type: ignore[attr-defined]
    assert relative_error(row, x[1:].double().sum(0) / (n - 1) ** 0.5) < 1e-4  # a float32 sum of 10^6 terms


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_nothing_to_train_on(part: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path) -> None:
    """A part that is empty, or whose labels are all missing, is refused (exit 3) before a folder is made."""
    empty = {**ONE.arrays, f"split/0/{part}": torch.empty(0, dtype=torch.int64)}
    missing = ONE.arrays["node/y"].long().clone()
    missing[getattr(ONE.split(), part)] = -1
    for arrays, message in ((empty, f"has no {part} part"), ({**ONE.arrays, "node/y": missing}, f"in the {part} part")):
        use(monkeypatch, replace(ONE, arrays=arrays))
        code, line = refused(capsys, "train", "digits", *FLAGS, "--out", tmp_path / "run")
        assert code == 3
        assert message in line
        assert tree(tmp_path) == {}


def test_overlapping_masks(caplog: pytest.LogCaptureFixture) -> None:
    """Nodes trained and tested on are reported, with their number; masks of another length are refused."""
    split = ONE.split()
    both = {**ONE.arrays, "split/0/test": torch.cat([split.test, split.train[:3]])}
    Trainer(QUICK, replace(ONE, arrays=both)).fit()
    first = int(split.train[:3].min())
    found = f"warning: erdos-renyi: split 0 has 3 nodes in more than one part, or twice in one, the first is {first}"
    assert found in caplog.text
    beyond = {**ONE.arrays, "split/0/test": torch.tensor([60])}
    with pytest.raises(DataError, match="split 0 names nodes outside 0 to 59"):
        Trainer(QUICK, replace(ONE, arrays=beyond))


@pytest.mark.parametrize("kind", ["strided", "float64", "float16", "int64", "uint8"])
@pytest.mark.parametrize("model", ["geco", "gcn"])
def test_features_of_any_type(kind: str, model: str) -> None:
    """Features of any layout and number type train as contiguous float32 does, bit by bit."""
    x = torch.randint(0, 9, X.shape).float()
    kinds = {"float64": torch.float64, "float16": torch.float16, "int64": torch.int64, "uint8": torch.uint8}
    other = x.t().contiguous().t() if kind == "strided" else x.to(kinds[kind])
    config = replace(QUICK, model=ModelConfig(name=model, hidden=8))  # type: ignore[arg-type]
    results = []
    for values in (x, other):
        trainer = Trainer(config, changed(x=values))
        trainer.fit()
        results.append(trainer.state.history)
    assert results[0] == results[1]
