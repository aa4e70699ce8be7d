"""Models on disk: ``config.json`` says how to build one, ``model.safetensors`` holds its weights. No pickle."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

__all__ = ["load_pretrained", "save_pretrained", "write_whole"]

FORMAT = 1
M = TypeVar("M", bound=nn.Module)


def save_pretrained(model: nn.Module, config: dict[str, Any], folder: Path) -> None:
    """Write a model's configuration and weights, each file whole or not at all."""
    try:
        text = json.dumps({"model": type(model).__name__, "format": FORMAT, "config": config}, indent=2)
    except TypeError as error:
        raise ValueError(f"this model's options cannot be written as JSON ({error}); name act and norms by strings") from error
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "model.safetensors", save(weights))
    write_whole(folder / "config.json", text.encode())


def load_pretrained(cls: type[M], folder: Path) -> M:
    """Build a model from its folder; anything amiss is a ValueError that names the file."""
    config = _read_config(cls, folder / "config.json")
    try:
        model = getattr(cls, "from_config", lambda found: cls(**found))(config)
    except (KeyError, TypeError) as error:
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
    if found.get("format") != FORMAT:
        raise ValueError(f"{path} has format {found.get('format')}, this version reads format {FORMAT}")
    config: dict[str, Any] = found["config"]
    return config


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
