"""Settings as Python's keywords: ``hidden=64`` is ``--model.hidden 64``, and messages say it that way.

Each goes by the last word of its flag; the three that are called name go by their section: ``model="gcn"``,
``optim="adam"``, and the data is what is given. Nothing here imports torch.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from geco.errors import GecoError, UsageError
from geco.train.config import DataConfig, ModelConfig, OptimConfig, TrainConfig

__all__ = ["in_python", "keywords", "table"]

KINDS = {"data": DataConfig, "model": ModelConfig, "optim": OptimConfig, "train": TrainConfig}
FLAG = re.compile(r"(?:--|(?<=fit: ))(?:(data|model|optim|train)\.)?([a-z][a-z0-9_-]*)")


def keywords() -> dict[str, tuple[str, str]]:
    """Return the section and name of each setting by its keyword.

    Example:
        >>> keywords()["hidden"], keywords()["model"], keywords()["epochs"]
        (('model', 'hidden'), ('model', 'name'), ('train', 'epochs'))
    """
    fields = ((section, field.name) for section, kind in KINDS.items() for field in dataclasses.fields(kind))
    found = {section if name == "name" else name: (section, name) for section, name in fields}
    return {word: home for word, home in found.items() if word != "data"}


def table(settings: Mapping[str, Any], others: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return keywords as a table of settings; one that is not known is refused with the nearest that is.

    Args:
        settings: by keyword.
        others: keywords that are no settings and may have been meant.

    Example:
        >>> table({"hidden": 8, "epochs": 3})
        {'data': {}, 'model': {'hidden': 8}, 'optim': {}, 'train': {'epochs': 3}}
        >>> table({"hiden": 8})
        Traceback (most recent call last):
        geco.errors.UsageError: no setting is called 'hiden'; did you mean hidden=? `geco train --help` lists them ...
    """
    known = keywords()
    found: dict[str, Any] = {section: {} for section in KINDS}
    for word, value in settings.items():
        if word == "init_from":
            found[word] = str(value)
            continue
        if word not in known:
            near = difflib.get_close_matches(_usual(word), [*known, *others, "init_from"], 1, 0.6)
            hint = f"did you mean {near[0]}=? " if near else ""
            raise UsageError(
                f"no setting is called {word!r}; {hint}`geco train --help` lists them all, hidden= as `--model.hidden`"
            )
        section, name = known[word]
        found[section][name] = _plain(value)
    return found


@contextlib.contextmanager
def in_python() -> Iterator[None]:
    """Say flags in messages of errors as keywords.

    Example:
        >>> with in_python():
        ...     ModelConfig(hidden=0)
        Traceback (most recent call last):
        geco.errors.UsageError: hidden= must be at least 1, got 0
    """
    try:
        yield
    except GecoError as error:
        text = str(error).replace("--resume auto", "resume=True")
        plain = text.split("`")  # what is between ticks is for the command line
        plain[::2] = (FLAG.sub(_keyword, part) for part in plain[::2])
        error.args = ("`".join(plain),)
        raise


def _keyword(flag: re.Match[str]) -> str:
    section, name = flag[1], flag[2].replace("-", "_")
    return f"{section if name == 'name' and section else name}="


def _usual(word: str) -> str:
    """Return what other libraries call a setting by our name for it."""
    names = {
        "hidden_channels": "hidden",
        "num_layers": "layers",
        "learning_rate": "lr",
        "seed": "seeds",
        "act_fn": "act",
    }
    return names.get(word, word)


def _plain(value: Any) -> Any:
    """Return numbers of NumPy and sequences as plain ones."""
    value = value.item() if hasattr(value, "item") else value
    return list(value) if isinstance(value, tuple) else value
