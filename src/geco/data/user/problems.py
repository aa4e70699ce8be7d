"""What is wrong in a user's files, gathered so that all of it is reported at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from geco.errors import DataError, DataErrors

__all__ = ["Problems"]

P = ParamSpec("P")
T = TypeVar("T")


class Problems:
    """Problems found so far, a line for each.

    Example:
        >>> problems = Problems()
        >>> problems.attempt(int, "3")
        3
        >>> def fail() -> None: raise DataError("nodes.csv, line 2: ...")
        >>> problems.attempt(fail)
        >>> problems.stop()
        Traceback (most recent call last):
        geco.errors.DataError: nodes.csv, line 2: ...
    """

    def __init__(self) -> None:
        self.found: list[str] = []

    def attempt(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Return what a function returns, or None and note what is wrong with its data."""
        try:
            return work(*args, **kwargs)
        except DataError as error:
            self.add(error)
            return None

    def add(self, error: DataError) -> None:
        """Note one or several problems."""
        self.found += error.problems if isinstance(error, DataErrors) else [str(error)]

    def stop(self) -> None:
        """Raise what was found, if anything."""
        if len(self.found) == 1:
            raise DataError(self.found[0])
        if self.found:
            raise DataErrors(self.found)
