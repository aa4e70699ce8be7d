"""Models on disk: ``config.json`` says how to build one, ``model.safetensors`` holds its weights. No pickle."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

__all__ = ["FORMAT", "load_pretrained", "save_pretrained", "upgrade_conv", "upgrade_layer", "write_whole"]

FORMAT = 4  # 1: one filter; 2: norm was that of the adjacency; 3: hidden and layers were arguments of `Network`
M = TypeVar("M", bound=nn.Module)


def save_pretrained(model: nn.Module, config: dict[str, Any], folder: Path) -> None:
    """Write a model's configuration and weights, each file whole or not at all."""
    try:
        text = json.dumps({"model": type(model).__name__, "format": FORMAT, "config": config}, indent=2)
    except TypeError as error:
        raise ValueError(
            f"this model's options cannot be written as JSON ({error}); name act and norms by strings"
        ) from error
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "model.safetensors", save(weights))
    write_whole(folder / "config.json", text.encode())


def load_pretrained(cls: type[M], folder: Path) -> M:
    """Build a model from its folder; anything amiss is a ValueError that names the file."""
    config = _read_config(cls, folder / "config.json")
    try:
        model = cls(**config)
    except TypeError as error:
        raise ValueError(f"{folder / 'config.json'} does not fit {cls.__name__}: {error}") from error
    path = folder / "model.safetensors"
    try:
        weights = load(path.read_bytes())
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing; save the model again") from error
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} is damaged or not a safetensors file: {error}") from error
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit the model of {folder / 'config.json'}: {error}") from error
    return model


def _read_config(cls: type[nn.Module], path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"{path} is missing; is {path.parent} a folder written by save_pretrained?") from error
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict) or found.get("model") != cls.__name__ or not isinstance(found.get("config"), dict):
        raise ValueError(f"{path} does not describe a {cls.__name__} model")
    if found.get("format") not in range(1, FORMAT + 1):
        raise ValueError(f"{path} has format {found.get('format')}, this version reads formats 1 to {FORMAT}")
    config: dict[str, Any] = cls.upgraded(found["config"], found["format"])  # type: ignore[attr-defined]
    return config


def upgrade_conv(options: dict[str, Any], version: int) -> dict[str, Any]:
    """Return options of a `GECOConv` of format 1 or 2 as those of today.

    Example:
        >>> upgrade_conv({"order": 2, "norm": "row", "ring": "exact"}, 1)
        {'order': 2, 'adjacency': 'row', 'filter': 'waves', 'filter_kwargs': {'gain': 'mean'}}
    """
    if options.get("ring") == "fast":
        warnings.warn("ring='fast' is gone: this model now computes on rings of exactly N nodes", stacklevel=2)
    found = {"adjacency" if key == "norm" else key: value for key, value in options.items() if key != "ring"}
    if version == 1:  # the only filter there was
        found |= {"filter": "waves", "filter_kwargs": {**(options.get("filter_kwargs") or {}), "gain": "mean"}}
    return found


def upgrade_layer(options: dict[str, Any], version: int) -> dict[str, Any]:
    """Return options of a `GECOLayer`, or of GECO, of format 1 or 2 as those of today.

    Example:
        >>> upgrade_layer({"norm": "sym", "block_norm": None, "filter": "mean"}, 2)
        {'adjacency': 'sym', 'filter': 'mean', 'norm': None}
    """
    conv = {key: value for key, value in options.items() if key != "block_norm"}
    return {**upgrade_conv(conv, version), **({"norm": options["block_norm"]} if "block_norm" in options else {})}


def write_whole(path: Path, data: bytes) -> None:
    """Write next to the target, flush to disk, then move into place."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
