"""What can go wrong for a user: ValueErrors of one line, each with the exit code of a command that ends with it."""

from __future__ import annotations

__all__ = ["CheckpointError", "DataError", "GecoError", "Interrupted", "NumericalError", "ResourceError"]


class GecoError(ValueError):
    """Wrong usage or input: what was wrong, what was got, what to do."""

    exit_code = 2


class DataError(GecoError):
    """Data that is missing, damaged or not what it should be."""

    exit_code = 3


class CheckpointError(GecoError):
    """A run or checkpoint that is missing, damaged or of another configuration."""

    exit_code = 4


class NumericalError(GecoError):
    """A loss, gradient or weight that is not finite."""

    exit_code = 5


class ResourceError(GecoError):
    """Too little disk, memory or permission for the work."""

    exit_code = 6


class Interrupted(GecoError):
    """Stopped by a signal after the step was finished and saved; can be resumed."""

    exit_code = 143
