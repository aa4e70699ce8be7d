"""What a study knows, kept in a file: what is done is written at once and not done again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from geco.store import write_file

__all__ = ["Record"]


class Record:
    """A JSON file that a study adds to, so that it can be stopped and started.

    Args:
        path: the file; what it holds is taken up, if it is of these rules.
        rules: what its figures depend on; a file of other rules is started again.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "found.json"
        >>> Record(path, {"epochs": 3}).keep(score=0.5)
        >>> Record(path, {"epochs": 3}).known["score"], Record(path, {"epochs": 4}).known
        (0.5, {})
    """

    def __init__(self, path: Path, rules: dict[str, Any]) -> None:
        self.path, self.rules = path, rules
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.known = known if all(known.get(key) == value for key, value in rules.items()) else {}

    @property
    def outdated(self) -> bool:
        """Whether there is a file, but of other rules."""
        return self.path.exists() and not self.known

    def keep(self, **values: Any) -> None:
        """Add to what is known, and write it."""
        self.known = {**self.rules, **self.known, **values}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_file(self.path, (json.dumps(self.known, indent=2) + "\n").encode())
