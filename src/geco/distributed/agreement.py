"""Whether all processes are about to do the same: the same versions, settings and data."""

from __future__ import annotations

from typing import Any

from geco.distributed.runtime import Workers
from geco.errors import UsageError

__all__ = ["check_same", "differences"]


def check_same(workers: Workers, facts: dict[str, Any]) -> None:
    """Refuse to start where the facts of a process differ from those of the first, naming process and facts.

    Args:
        workers: the processes; every one calls it and raises if one does.
        facts: tables, of tables, of values in JSON's types.

    Example:
        >>> from geco.distributed.runtime import ALONE
        >>> check_same(ALONE, {"settings": {"seed": 0}})
    """
    first, *others = workers.each(facts)
    for rank, other in enumerate(others, 1):
        wrong = differences(first, other)
        if wrong:
            told = "; ".join(f"{name}: {old!r} in rank 0, {new!r} in rank {rank}" for name, old, new in wrong[:5])
            raise UsageError(f"rank {rank} is not about to do what rank 0 does ({told}); start all processes alike")


def differences(old: Any, new: Any, where: str = "") -> list[tuple[str, Any, Any]]:
    """Return name and both values of whatever differs between two tables.

    Example:
        >>> differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}})
        [('a.c', 2, 3)]
    """
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted(old.keys() | new.keys())
        return [d for k in keys for d in differences(old.get(k), new.get(k), f"{where}.{k}" if where else k)]
    return [] if old == new else [(where, old, new)]
