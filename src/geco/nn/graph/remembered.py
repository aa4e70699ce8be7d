"""What is worked out once: tables of sizes alone, and what follows from a graph's edges.

Both may be built under `torch.inference_mode` and meet a training step later, so neither is an inference tensor. While
a model is exported tables are made anew and not kept: they are stand-ins, of no use to what runs afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Generic, ParamSpec, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

__all__ = ["Remembered", "cached"]

P = ParamSpec("P")
T = TypeVar("T")
MOST_PER_GRAPH = 4  # results remembered for one edge_index: a few norms or weights, not one per training step


def cached(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Remember the results of a function of hashable arguments, the last ``most`` of them.

    Example:
        >>> @cached(8)
        ... def places(n: int) -> Tensor:
        ...     return torch.arange(n)
        >>> places(3) is places(3)
        True
    """

    def remember(build: Callable[P, T]) -> Callable[P, T]:
        @lru_cache(maxsize=most)
        def known(*args: P.args, **kwargs: P.kwargs) -> T:
            with torch.inference_mode(False):
                return build(*args, **kwargs)

        @wraps(build)
        def built(*args: P.args, **kwargs: P.kwargs) -> T:
            return build(*args, **kwargs) if torch.compiler.is_exporting() else known(*args, **kwargs)  # type: ignore[arg-type]

        return built

    return remember


class Remembered(Generic[T]):
    """Results by edge_index; an entry lives as long as the tensor it belongs to.

    Example:
        >>> import torch
        >>> known, edges = Remembered[object](), torch.tensor([[0], [1]])
        >>> known.get(edges, None, "a", object) is known.get(edges, None, "a", object)
        True
        >>> del edges
        >>> len(known)
        0
    """

    def __init__(self) -> None:
        self._entries = WeakTensorKeyDictionary()

    def __len__(self) -> int:
        """Return the number of graphs known."""
        return len(self._entries)

    def get(self, edge_index: Tensor, beside: Tensor | None, key: object, build: Callable[[], T]) -> T:
        """Return the result for these tensors, unchanged since, and this key, or build it.

        Args:
            edge_index: the edges.
            beside: another tensor that the result depends on, such as weights.
            key: what else it depends on.
            build: makes it.
        """
        # In-place changes count up a tensor's version, so a stale entry is never found.
        # Inference tensors have no version: what they hold is worked out each time.
        if edge_index.is_inference() or (beside is not None and beside.is_inference()):
            return build()
        other = None if beside is None else (id(beside), beside._version)
        found: dict[object, tuple[Tensor | None, T]] = self._entries.setdefault(edge_index, {})
        where = (edge_index._version, other, key)
        if where not in found:
            if len(found) == MOST_PER_GRAPH:
                found.clear()
            with torch.inference_mode(False):
                found[where] = (beside, build())  # the other tensor's id stays taken
        return found[where][1]
