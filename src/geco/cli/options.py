"""Flags that several commands share. Their help is in the docstrings of the commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

__all__ = ["File", "Flag", "Folder", "Name", "use_cache"]

Name = Annotated[Positional[str], arg(metavar="NAME", help_behavior_hint="")]
Folder = Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="")]
File = Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")]
Flag = Annotated[bool, arg(help_behavior_hint="")]


def use_cache(folder: Path | None) -> None:
    """Make this the cache of the whole process and those it starts."""
    if folder is not None:
        os.environ["GECO_CACHE"] = str(folder.expanduser().absolute())
