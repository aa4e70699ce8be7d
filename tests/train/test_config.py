"""Settings: read, written, refused."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from geco.errors import UsageError
from geco.nn.filters import FilterName
from geco.nn.filters.paper import Gain
from geco.nn.graph.adjacency import Normalisation
from geco.nn.graph.permutation import Permutation
from geco.nn.network.encoders import Init
from geco.nn.network.heads import Pooling, Widths
from geco.nn.network.inputs import Join
from geco.train.config import Config, DataConfig, ModelConfig, from_table, read_toml, to_toml


def test_round_trip(tmp_path: Path) -> None:
    config = Config(DataConfig("cora", encodings=("lap-pe:4", "rwse:8")), ModelConfig(dropout=0.125, layers=3), seed=7)
    path = tmp_path / "c.toml"
    path.write_text(to_toml(config))
    assert read_toml(path) == config
    assert from_table(tomllib.loads(to_toml(Config())), config, "x") == Config()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"model": {"hiden": 3}}, r"f: unknown setting model\.hiden; did you mean model\.hidden\?"),
        ({"modell": {}}, "unknown setting modell; did you mean model"),
        ({"model": 3}, "model must be a table, got 3"),
        ({"model": {"name": "gecko"}}, r"model\.name must be one of .* got 'gecko' \(did you mean geco\?\)"),
        ({"model": {"hidden": 0}}, "--model.hidden must be at least 1, got 0"),
        ({"model": {"order": 0}}, "--model.order must be at least 1, got 0"),
        ({"model": {"dropout": 1.5}}, r"--model.dropout must be in \[0, 1\), got 1.5"),
        ({"model": {"hidden": True}}, "model.hidden must be int, got True"),
        ({"model": {"hidden": 2.5}}, "model.hidden must be int, got 2.5"),
        ({"optim": {"lr": float("nan")}}, "--optim.lr must be a finite number above 0, got nan"),
        ({"optim": {"lr": -1}}, "--optim.lr must be a finite number above 0, got -1"),
        ({"optim": {"lr": "1e-3x"}}, "optim.lr must be float, got '1e-3x'"),
        ({"train": {"epochs": -1}}, "--train.epochs must be at least 1, got -1"),
        ({"train": {"keep": 1}}, "--train.keep must be at least 2, got 1"),
        ({"model": {"local": "gnc"}}, r"model\.local must be one of .*, none, got 'gnc' \(did you mean gcn\?\)"),
        ({"data": {"encodings": ["rwsse:4"]}}, "no encoding is called 'rwsse'; did you mean rwse"),
        ({"data": {"encodings": "rwse"}}, "data.encodings must be"),
        ({"data": {"batch_size": 0}}, "--data.batch-size must be at least 1"),
    ],
)
def test_refuses(table: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        from_table(table, Config(), "f")


@pytest.mark.parametrize(
    ("text", "message"), [(b"= 3", "is not TOML"), (b"\xff\xfe", "is not TOML"), (None, "cannot read")]
)
def test_refuses_files(text: bytes | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "c.toml").write_bytes(text)
    with pytest.raises(UsageError, match=message):
        read_toml(tmp_path / "c.toml")


def test_whole_numbers_are_floats_too() -> None:
    found = from_table({"optim": {"lr": 1}}, Config(), "f").optim.lr
    assert isinstance(found, float)


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("adjacency", (*get_args(Normalisation), "attention")),
        ("filter", ("auto", *get_args(FilterName))),
        ("filter_gain", get_args(Gain)),
        ("permutation", ("auto", *get_args(Permutation))),
        ("join", get_args(Join)),
        ("embedding_init", get_args(Init)),
        ("pool", get_args(Pooling)),
        ("head_widths", get_args(Widths)),
    ],
)
def test_choices_are_those_of_the_layers(setting: str, wanted: tuple[str, ...]) -> None:
    """Settings name them again because they do not import torch."""
    assert get_args(get_type_hints(ModelConfig)[setting]) == wanted


def test_what_differs_is_all_that_is_needed(tmp_path: Path) -> None:
    config = Config(DataConfig("cora"), ModelConfig(dropout=0.125), seed=7)
    text = to_toml(config, Config())
    assert tomllib.loads(text) == {"seed": 7, "data": {"name": "cora"}, "model": {"dropout": 0.125}}
    (tmp_path / "c.toml").write_text(text)
    assert read_toml(tmp_path / "c.toml") == config
    assert to_toml(Config(), Config()) == ""


def test_needs_no_torch() -> None:
    code = "import sys, geco.train.config; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
