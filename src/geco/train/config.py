"""How to train: frozen dataclasses, from TOML and flags. Nothing here imports torch.

A value comes from the flag, else from the file given by ``--config``, else from the data set's own file in `geco/configs`, else
from the defaults below. What is wrong is refused with the name of the setting, what was got and what may be given.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import tomllib
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from geco.errors import GecoError

__all__ = ["Config", "DataConfig", "ModelConfig", "OptimConfig", "TrainConfig", "from_table", "read_toml", "to_toml"]

T = TypeVar("T")
Body = Literal[
    "geco", "mlp", "gcn", "sage", "gat", "gin", "gatedgcn", "transformer", "gps", "gps-performer", "sgformer", "polynormer"
]  # fmt: skip
Choice = Literal["natural", "static", "dynamic"]


@dataclass(frozen=True)
class DataConfig:
    """Which data, and how it is served."""

    name: str = "digits"
    """Data set: a name of `geco data list` or of your own imported data."""
    encodings: tuple[str, ...] = ()
    """Encodings joined to the features, such as lap-pe:10 or rwse:16."""
    split: int = 0
    """Which of the data set's splits."""
    batch_size: int = 128
    """Graphs a step, where there are several graphs."""
    group_by_size: bool = True
    """Put graphs of similar size into one batch."""
    workers: int = 0
    """Processes that prepare batches."""
    undirected: bool = True
    """Add the reverse of every edge (to single graphs; graph collections keep theirs)."""

    def __post_init__(self) -> None:
        """Check ranges."""
        _least("data", self, split=0, batch_size=1, workers=0)


@dataclass(frozen=True)
class ModelConfig:
    """Which network."""

    name: Body = "geco"
    """GECO or a baseline."""
    hidden: int = 64
    """Width."""
    layers: int = 2
    """Depth."""
    dropout: float = 0.5
    """Of the body's layers."""
    input_dropout: float = 0.0
    """Of the features."""
    order: int = 2
    """K, convolutions of a GECO layer."""
    norm: Literal["sym", "row", "none", "attention"] = "sym"
    """How GECO's local block normalises the adjacency."""
    ffn_ratio: float = 1.0
    """Width of the feed-forward blocks in multiples of the width."""
    permutation: Choice = "static"
    """Node order of GECO: as the file has it, shuffled once, or shuffled for every epoch and layer."""
    eval_orders: int = 4
    """Orders averaged at test time under dynamic permutation."""
    heads: int = 4
    """Attention heads of baselines that have them."""
    pool: Literal["mean", "sum", "max"] = "mean"
    """From nodes to a graph."""

    def __post_init__(self) -> None:
        """Check ranges."""
        _least("model", self, hidden=1, layers=1, order=1, eval_orders=1, heads=1)
        for name in ("dropout", "input_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise GecoError(f"--model.{name.replace('_', '-')} must be in [0, 1), got {getattr(self, name)}")
        if not (math.isfinite(self.ffn_ratio) and self.ffn_ratio > 0):
            raise GecoError(f"--model.ffn-ratio must be above 0, got {self.ffn_ratio}")


@dataclass(frozen=True)
class OptimConfig:
    """How weights are changed."""

    name: Literal["adamw", "adam"] = "adamw"
    """Optimiser."""
    lr: float = 0.01
    """Learning rate."""
    weight_decay: float = 5e-4
    """On matrices; never on filters, norms and biases."""
    filter_lr: float = 1.0
    """Learning rate of GECO's filters in multiples of lr."""
    schedule: Literal["constant", "cosine", "linear", "plateau"] = "cosine"
    """Course of the learning rate after warm-up."""
    warmup: int = 5
    """Epochs in which it rises from 0."""
    plateau_patience: int = 10
    """Epochs without a better validation score before plateau halves it."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 is no limit."""
    accumulate: int = 1
    """Batches whose gradients are averaged for one step."""

    def __post_init__(self) -> None:
        """Check ranges."""
        _least("optim", self, warmup=0, plateau_patience=1, accumulate=1)
        for name in ("lr", "weight_decay", "filter_lr", "clip"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0) or (name == "lr" and value == 0):
                low = "above 0" if name == "lr" else "0 or more"
                raise GecoError(f"--optim.{name.replace('_', '-')} must be a finite number {low}, got {value}")


@dataclass(frozen=True)
class TrainConfig:
    """How long, and how it runs."""

    epochs: int = 200
    """At most."""
    patience: int = 0
    """Epochs without a better validation score before it stops; 0 is never."""
    eval_every: int = 1
    """Epochs from one validation to the next."""
    save_every: int = 1
    """Validations from one checkpoint to the next."""
    keep: int = 2
    """Checkpoints kept, at least 2: the newest may be damaged."""
    amp: Literal["off", "bf16"] = "off"
    """Mixed precision; FFTs and sparse products stay in float32."""
    deterministic: bool = False
    """Refuse operations of torch that may differ from run to run (on GPUs; CPU results are equal anyway)."""
    device: str = "auto"
    """cpu, cuda, cuda:1, or auto: the first GPU if there is one."""
    threads: int = 0
    """CPU threads; 0 is torch's choice. Results are equal bit by bit only for an equal number."""

    def __post_init__(self) -> None:
        """Check ranges."""
        _least("train", self, epochs=1, patience=0, eval_every=1, save_every=1, keep=2, threads=0)


@dataclass(frozen=True)
class Config:
    """Everything a run depends on."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    seed: int = 0
    """Of weights, dropout, batches and node orders."""

    def to_json(self) -> dict[str, Any]:
        """Return plain types."""
        found: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return found


def read_toml(path: Path, base: Config | None = None) -> Config:
    """Return the configuration in a file, on top of another one."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GecoError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GecoError(f"{path} is not TOML: {error}") from error
    return from_table(table, base or Config(), str(path))


def from_table(table: dict[str, Any], base: T, where: str, prefix: str = "") -> T:
    """Return a configuration with the values of a table put over it; unknown and ill-typed settings are refused."""
    kinds = typing.get_type_hints(type(base))
    changes = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        if key not in kinds:
            near = difflib.get_close_matches(key, kinds, 1)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"there are {', '.join(kinds)}"
            raise GecoError(f"{where}: unknown setting {name}; {hint}")
        if dataclasses.is_dataclass(kinds[key]):
            if not isinstance(value, dict):
                raise GecoError(f"{where}: {name} must be a table, got {value!r}")
            changes[key] = from_table(value, getattr(base, key), where, f"{name}.")
        else:
            changes[key] = _typed(value, kinds[key], f"{where}: {name}")
    return dataclasses.replace(base, **changes)  # type: ignore[type-var]


def to_toml(config: Config) -> str:
    """Return a configuration as TOML that `read_toml` reads back."""
    tables, plain = [], []
    for key, value in config.to_json().items():
        if isinstance(value, dict):
            tables.append(f"[{key}]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in value.items()))
        else:
            plain.append(f"{key} = {json.dumps(value)}\n")
    return "".join(plain) + "\n" + "\n".join(tables)


def _typed(value: Any, kind: Any, what: str) -> Any:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            near = difflib.get_close_matches(str(value), [str(v) for v in get_args(kind)], 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise GecoError(f"{what} must be one of {', '.join(map(str, get_args(kind)))}, got {value!r}{hint}")
        return value
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_typed(v, get_args(kind)[0], what) for v in value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    plain = kind if isinstance(kind, type) and not isinstance(kind, types.GenericAlias) else tuple
    if not isinstance(value, plain) or (isinstance(value, bool) and kind is not bool):
        raise GecoError(f"{what} must be {getattr(kind, '__name__', kind)}, got {value!r}")
    return value


def _least(section: str, config: Any, **least: int) -> None:
    for name, low in least.items():
        if getattr(config, name) < low:
            raise GecoError(f"--{section}.{name.replace('_', '-')} must be at least {low}, got {getattr(config, name)}")
