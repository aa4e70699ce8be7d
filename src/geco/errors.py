"""What can go wrong for a user: errors of one line, each with the exit code of a command that ends with it.

`GecoError` is all of them. What is wrong with what was given is a ValueError too; a stop or a lack of memory is not.
"""

from __future__ import annotations

__all__ = [
    "CheckpointError", "DataError", "GecoError", "Interrupted", "NumericalError", "ResourceError", "UsageError",
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
