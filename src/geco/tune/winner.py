"""What won: its settings as a file that `geco train --config` takes, and the folder it is trained in."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from geco.store import write_file
from geco.train.config import Config, to_toml
from geco.train.configured import configured

__all__ = ["make_room", "winner_toml"]


def winner_toml(config: Config, said: str) -> str:
    """Return a configuration as `geco train --config` takes it: what differs from the data set's own, or from the
    defaults.

    Args:
        config: of the winner.
        said: about it, in the first line.

    Example:
        >>> from geco.train.config import DataConfig, ModelConfig
        >>> print(winner_toml(Config(DataConfig("cora"), ModelConfig(hidden=8)), "won"))
        # won
        <BLANKLINE>
        [data]
        name = "cora"
        <BLANKLINE>
        [model]
        hidden = 8
        ...
    """
    own = configured(config.data.name, [], {}, "the data set's own configuration")
    base = replace(own, data=replace(own.data, name=""), seed=config.seed)  # its name is needed to find the own one
    return f"# {said}\n\n{to_toml(config, base)}"


def make_room(folder: Path, config: Config) -> None:
    """Put aside what an earlier winner with other settings was trained to; more trials may find a better one.

    Args:
        folder: in which the winner is trained.
        config: of the winner.
    """
    said = to_toml(replace(config, seed=0))
    note = folder / "winner.toml"
    if folder.exists() and not (note.exists() and note.read_text("utf-8") == said):
        number = 1
        while (aside := folder.with_name(f"{folder.name}-before-{number}")).exists():
            number += 1
        os.replace(folder, aside)
    folder.mkdir(exist_ok=True)
    write_file(note, said.encode())
