from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from geco import GECO
from geco.nn.graph.adjacency import adjacency
from tests.conftest import random_edges, relative_error

EDGES = random_edges(30)
X = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))


def test_repr_and_shapes() -> None:
    assert str(GECO(5, 8, 2, 3)) == "GECO(5, 8, num_layers=2, out_channels=3, order=2, permutation=natural)"
    assert GECO(5, 8, 2, 3)(X, EDGES).shape == (30, 3)
    assert GECO(5, 8, 2)(X, EDGES).shape == (30, 8)
    assert GECO(-1, 8, 1)(X, EDGES).shape == (30, 8)


@pytest.mark.parametrize("permutation", ["natural", "static", "dynamic", "structure"])
def test_batch_contract(permutation: str) -> None:
    model = GECO(5, 8, 2, 3, permutation=permutation, eval_orders=2).eval()  # type: ignore[arg-type]
    graphs = [(torch.randn(n, 5), random_edges(n, seed=n)) for n in (1, 20, 97, 1)]
    starts = torch.tensor([0, 1, 21, 118])
    x = torch.cat([g[0] for g in graphs])
    edges = torch.cat([g[1] + s for g, s in zip(graphs, starts, strict=True)], 1)
    batch = torch.repeat_interleave(torch.arange(4), torch.tensor([1, 20, 97, 1]))
    for (alone, own), out in zip(graphs, model(x, edges, batch).split([1, 20, 97, 1]), strict=True):
        assert relative_error(out, model(alone, own)) < 1e-6


@pytest.mark.parametrize(("jk", "width"), [(None, 8), ("last", 8), ("cat", 8), ("max", 8), ("lstm", 8)])
def test_layers_together_as_in_pyg(jk: str | None, width: int) -> None:
    model = GECO(5, 8, 2, None, 0.0, "gelu", "batch_norm", jk)
    assert model(X, EDGES).shape == (30, width)
    assert GECO(5, 8, 2, 3, jk=jk)(X, EDGES).shape == (30, 3)
    model.reset_parameters()
    with pytest.raises(ValueError, match="jk 'first' is not known"):
        GECO(5, 8, 2, jk="first")
    with pytest.raises(ValueError, match="it is called adjacency='row'"):
        GECO(5, 8, 2, norm="row")


def test_models_of_format_2_are_read(tmp_path: Path) -> None:
    """As they were written when norm meant the adjacency's and block_norm the layers'."""
    model = GECO(5, 8, 2, 3, adjacency="row", norm=None).eval()
    model.save_pretrained(tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    config = stored["config"]
    del config["jk"]
    config |= {"norm": config.pop("adjacency"), "block_norm": None, "ring": "exact"}
    (tmp_path / "config.json").write_text(json.dumps({**stored, "format": 2}))
    assert torch.equal(GECO.from_pretrained(tmp_path)(X, EDGES), model(X, EDGES))
    (tmp_path / "config.json").write_text(json.dumps({**stored, "config": {**config, "ring": "fast"}, "format": 2}))
    with pytest.warns(UserWarning, match="rings of exactly N nodes"):
        GECO.from_pretrained(tmp_path)


def test_static_order_is_one_order() -> None:
    model = GECO(5, 8, 2, 3, permutation="static", seed=4)
    first = model(X, EDGES)
    model.set_epoch(7)
    assert torch.equal(model(X, EDGES), first)
    other = GECO(5, 8, 2, 3, permutation="static", seed=5)
    other.load_state_dict(model.state_dict())
    assert not torch.allclose(other(X, EDGES), first, atol=1e-4)


def test_dynamic_order_changes_with_the_epoch_and_repeats() -> None:
    model = GECO(5, 8, 2, 3, permutation="dynamic")
    outputs = []
    for epoch in (0, 1, 0):
        model.set_epoch(epoch)
        outputs.append(model(X, EDGES))
    assert torch.equal(outputs[0], outputs[2])
    assert not torch.allclose(outputs[0], outputs[1], atol=1e-4)


def test_evaluation_averages_over_orders() -> None:
    model = GECO(5, 8, 2, 3, permutation="dynamic", eval_orders=4).eval()
    each = model.orders(X, EDGES, count=4)
    assert each.shape == (4, 30, 3)
    assert each.std(0).max() > 1e-4  # the spread over orders
    assert torch.allclose(model(X, EDGES), each.mean(0))
    model.set_epoch(3)
    assert torch.allclose(model(X, EDGES), each.mean(0))


def test_orders_of_a_natural_model_are_shuffled() -> None:
    model = GECO(5, 8, 2, 3).eval()
    assert model.orders(X, EDGES, count=3).std(0).max() > 1e-4


@pytest.mark.parametrize("permutation", ["natural", "static", "dynamic"])
def test_attention(permutation: str) -> None:
    """The second layer's, with the order that layer has: row i of A times the value is what the layer gives node i."""
    model = GECO(5, 8, 2, permutation=permutation, eval_orders=1).double().eval()  # type: ignore[arg-type]
    x = X.double()
    attention = model.attention(x, EDGES, layer=1)
    seen: list[tuple[Tensor, Tensor]] = []
    conv = model.layers[1].conv  # type: ignore[union-attr]
    conv.register_forward_hook(lambda module, arguments, out: seen.append((arguments[0], out)))
    model(x, EDGES)
    h, out = seen[0]
    both = conv.norm(torch.cat([h, adjacency(EDGES, 30) @ h], 1))  # type: ignore[operator, union-attr]
    value = conv.context.projection(both)[:, 16:]  # type: ignore[operator, union-attr]
    for i in (0, 13):
        assert torch.allclose((attention.row(i) * value.t()).sum(1), out[i], atol=1e-6)


def test_reset_parameters() -> None:
    model = GECO(5, 8, 2, 3).eval()
    before = model(X, EDGES)
    model.reset_parameters()
    assert not torch.allclose(model(X, EDGES), before)


def test_trains() -> None:
    """Learn the label of a node from the features of its neighbours."""
    y = (torch.zeros(30).index_add(0, EDGES[1], X[EDGES[0], 0]) > 0).long()
    model = GECO(5, 16, 2, 2)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(100):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(X, EDGES), y)
        loss.backward()
        optimiser.step()
    assert float(loss.detach()) < 0.1


@pytest.mark.parametrize(
    "model", [GECO(5, 8, 2, 3), GECO(-1, 8, 1, permutation="dynamic", act="gelu", filter_kwargs={"width": 16})]
)
def test_round_trip(model: GECO, tmp_path: Path) -> None:
    model = copy.deepcopy(model)
    model(X, EDGES)
    model.eval().save_pretrained(tmp_path / "a" / "b")
    found = GECO.from_pretrained(tmp_path / "a" / "b")
    assert not found.training
    assert str(found) == str(model)
    assert torch.equal(found(X, EDGES), model(X, EDGES))
    assert sorted(p.name for p in (tmp_path / "a" / "b").iterdir()) == ["config.json", "model.safetensors"]


class Payload:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch pwned",)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "pickle"])
def test_damaged_folders_are_refused(name: str, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    GECO(5, 8, 2, 3).save_pretrained(tmp_path)
    path = tmp_path / name
    data = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes({"empty": b"", "truncated": data[: len(data) // 2], "pickle": pickle.dumps(Payload())}[damage])
    with pytest.raises(ValueError, match=name):
        GECO.from_pretrained(tmp_path)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"model": "GCN"}, "does not describe"),
        ({"format": 99}, "format 99"),
        ({"config": {"in_channels": 5, "hidden_channels": 8, "num_layers": 2, "hiden": 1}}, "hiden"),
        ({"config": {"in_channels": 5, "hidden_channels": 4, "num_layers": 2, "out_channels": 3}}, "does not fit"),
    ],
)
def test_wrong_configurations_are_refused(change: dict[str, object], word: str, tmp_path: Path) -> None:
    GECO(5, 8, 2, 3).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ValueError, match=word):
        GECO.from_pretrained(tmp_path)


def test_options_that_are_not_json_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="strings"):
        GECO(5, 8, 1, act=nn.ReLU()).save_pretrained(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_failed_write_keeps_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = GECO(5, 8, 1).eval()
    model.save_pretrained(tmp_path)

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        GECO(5, 8, 1).save_pretrained(tmp_path)
    assert torch.equal(GECO.from_pretrained(tmp_path)(X, EDGES), model(X, EDGES))
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"x": X[:, :3]}, "made for 5"),
        ({"x": X * float("nan")}, "NaN"),
        ({"edge_index": EDGES + 30}, "30 nodes"),
        ({"batch": torch.zeros(3, dtype=torch.long)}, "shape"),
    ],
)
def test_refuses(arguments: dict[str, Tensor], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        GECO(5, 8, 2)(**{"x": X, "edge_index": EDGES, **arguments})


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"permutation": "random"}, "natural, static, dynamic"),
        ({"num_layers": 0}, "num_layers"),
        ({"eval_orders": 0}, "eval_orders"),
    ],
)
def test_refuses_options(options: dict[str, object], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        GECO(**{"in_channels": 5, "hidden_channels": 8, "num_layers": 2, **options})  # type: ignore[arg-type]


def test_export() -> None:
    model = GECO(5, 8, 2, 3).eval()
    auto = torch.export.Dim.AUTO
    program = torch.export.export(model, (X, EDGES), dynamic_shapes={"x": {0: auto}, "edge_index": {1: auto}})
    for n in (17, 171):
        x, edges = torch.randn(n, 5), random_edges(n)
        assert torch.allclose(program.module()(x, edges), model(x, edges), atol=1e-5)


def test_import_is_light() -> None:
    """`import geco` alone must not load torch, so that a command line can answer at once."""
    import subprocess
    import sys

    code = "import sys, geco; assert 'torch' not in sys.modules, 'torch was loaded'; print(geco.__version__)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
