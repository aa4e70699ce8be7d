"""What can go wrong for a user: errors of one line, each with the exit code of a command that ends with it.

`GecoError` is all of them. What is wrong with what was given is a ValueError too; a stop or a lack of memory is not.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "CheckpointError", "DataError", "DataErrors", "GecoError", "Interrupted", "NumericalError", "ResourceError",
    "UsageError",
]  # fmt: skip


class GecoError(Exception):
    """Any error below; what is raised is one of them."""

    exit_code = 1


class UsageError(GecoError, ValueError):
    """Wrong usage or input: what was wrong, what was got, what to do."""

    exit_code = 2


class DataError(GecoError, ValueError):
    """Data that is missing, damaged or not what it should be."""

    exit_code = 3


class DataErrors(DataError):
    """Several problems of the same data, found in one look.

    Args:
        problems: a line for each; the message holds the first `MOST` and the number of the others.

    Example:
        >>> print(DataErrors(["a.csv, line 2: ...", "a.csv, line 7: ..."]))
        a.csv, line 2: ...
        a.csv, line 7: ...
    """

    MOST = 20

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        more = len(problems) - self.MOST
        self.lines = (*problems[: self.MOST], *([f"and {more:,} more problems"] if more > 0 else []))
        super().__init__("\n".join(self.lines))

    def __reduce__(self) -> tuple[type[DataErrors], tuple[tuple[str, ...]]]:
        """Pickle the problems and not the message, for errors that come from a worker."""
        return type(self), (self.problems,)


class CheckpointError(GecoError, ValueError):
    """A run or checkpoint that is missing, damaged or of another configuration."""

    exit_code = 4


class NumericalError(GecoError, ValueError):
    """A loss, gradient or weight that is not finite."""

    exit_code = 5


class ResourceError(GecoError, RuntimeError):
    """Too little disk, memory or permission for the work."""

    exit_code = 6


class Interrupted(GecoError):
    """Stopped by a signal after the step was finished and saved; can be resumed."""

    exit_code = 143
