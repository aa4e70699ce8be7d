"""The settings of a run from all that may say them: the data set's own configuration, files, words. Nothing here
imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geco.configs import find, shipped
from geco.errors import UsageError
from geco.train.config import Config, DataConfig, from_table, read_toml

__all__ = ["SECTIONS", "check_seeds", "configured", "over"]

SECTIONS = ("data", "model", "optim", "train")


def configured(name: str | None, files: Sequence[str], table: Mapping[str, Any], where: str) -> Config:
    """Return a table of settings over files, over the data set's own configuration, over the defaults.

    Args:
        name: of the data set; None takes that of the files, else the default.
        files: TOML files or names of shipped ones, each over those before it.
        table: the settings that are given one by one.
        where: they are given, for messages.

    Example:
        >>> configured("cora", [], {"model": {"hidden": 8}}, "here").model.hidden
        8
    """
    known = shipped()
    if name is None:
        name = over(Config(DataConfig(name="")), files).data.name or DataConfig().name
    config = over(read_toml(known[name]) if name in known else Config(), files)
    return from_table({**table, "data": {**table.get("data", {}), "name": name}}, config, where)


def over(config: Config, names: Sequence[str]) -> Config:
    """Return a configuration with files put over it, one after the other; a shipped one is whole and replaces it."""
    for number, name in enumerate(names):
        path = Path(name)
        if path.is_file() or path.suffix or path.name != name:
            config = read_toml(path, config, run=(path.parent / "environment.json").is_file())
        elif number:
            raise UsageError(f"--config {name} is a whole configuration and would undo {names[0]}; give it first")
        else:
            config = read_toml(find(name))
    return config


def check_seeds(seeds: Sequence[int]) -> None:
    """Refuse seeds that are none, or twice there."""
    if not seeds or len(set(seeds)) != len(seeds):
        raise UsageError(f"--seeds must be different numbers, at least one; got {tuple(seeds)}")
