"""Which algorithm computes the global context block on given rings, chosen by the limits of `geco.nn.ops.limits`.

Shapes: K order, D channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from geco.nn.filters.base import Filter
from geco.nn.graph.rings import Rings
from geco.nn.graph.span import Span
from geco.nn.ops import limits
from geco.nn.ops.fft_rings import FFTRings
from geco.nn.ops.long_ring import LongRing, harmonic_limit
from geco.nn.ops.long_ring_windows import LongRingWithWindows, transform_length
from geco.nn.ops.protocol import Plan
from geco.nn.ops.short_rings import ShortRings

__all__ = ["Algorithm", "Chosen", "Memory", "choose", "has_plan", "smooth_parts"]

Memory = Literal["auto", "keep", "lean"]


class Algorithm(NamedTuple):
    """What will run, in one word, and why."""

    name: Literal["plain", "long-ring", "short-rings", "fft", "none"]
    why: str

    def __str__(self) -> str:
        """Return both."""
        return f"{self.name}: {self.why}"


class Chosen(NamedTuple):
    """An algorithm with what it needs: the plan, the filters it takes and, without gradients, their spectra."""

    algorithm: Algorithm
    plan: Plan
    filters: Sequence[Tensor]
    spectra: Sequence[Tensor] | None


def choose(
    filter: Filter, sizes: tuple[int, ...], like: Tensor, memory: Memory = "auto", span: Span | None = None
) -> Chosen:
    """Choose by the sizes of the rings and the number of harmonics and the reach of the filters.

    Args:
        filter: K filters of D channels.
        sizes: nodes of each ring.
        like: a tensor of the type and device to work in, with as many rows as there are nodes.
        memory: what to hold for backward: inputs only, gates too, or as their size allows.
        span: the places of a single ring that are here, if others are elsewhere; then `has_plan` must say so.
    """
    if (chosen := _long_ring(filter, sizes, like, memory, span)) is not None:
        return chosen
    if (chosen := _short_rings(filter, sizes, like, memory)) is not None:
        return chosen
    return _fft_rings(filter, sizes, like, memory)


@torch.no_grad()
def has_plan(filter: Filter | None, rings: Rings, like: Tensor) -> bool:
    """Tell whether there is a plan for these rings: for all that are whole, and for a long one that is shared out if
    its filters are waves alone. All processes answer alike.
    """
    span = rings.span
    if span is None or filter is None:
        return span is None
    limit = harmonic_limit(span.num_nodes) if span.num_nodes >= limits.LONG_RING else 0
    smooth = smooth_parts(filter, limit, like) if limit else ()
    return bool(smooth) and _support(smooth) == 0 and span.least > 0


def _long_ring(
    filter: Filter, sizes: tuple[int, ...], like: Tensor, memory: Memory, span: Span | None
) -> Chosen | None:
    """Choose blocks of rows for one long ring, unless filters have too many harmonics or windows reach too far."""
    size = sizes[0]
    start = _start(filter)
    limit = harmonic_limit(size) if len(sizes) == 1 and size >= start else 0
    smooth = smooth_parts(filter, limit, like) if limit else ()
    if not smooth:
        return None
    bands = smooth[0].shape[1]
    support = _support(smooth)
    plan: Plan
    if support == 0:
        plan = LongRing(size, bands, like, _keep(filter, filter.order, like, memory), filter.unit, span)
    elif transform_length(size, bands, support) <= size:
        plan = LongRingWithWindows(size, bands, support, like, filter.unit)
    else:
        return None
    why = f"{_rings(sizes)} (long: from {start:,}), filters of {_bands(smooth)}"
    return Chosen(Algorithm("long-ring", why), plan, smooth, None)


def _short_rings(filter: Filter, sizes: tuple[int, ...], like: Tensor, memory: Memory) -> Chosen | None:
    """Choose products with each ring's cosines and sines, unless a ring is long or filters have too many harmonics."""
    stop = _stop(filter)
    smooth = smooth_parts(filter, limits.SHORT_RING_HARMONICS, like) if max(sizes) <= stop else ()
    if not smooth:
        return None
    keep = _keep(filter, filter.order + 1, like, memory)
    plan = ShortRings(sizes, smooth[0].shape[1], like, keep, _support(smooth), filter.unit)
    why = f"{_rings(sizes)} (short: up to {stop:,}), filters of {_bands(smooth)}"
    alone = len(sizes) == 1 and not torch.is_grad_enabled()  # a batch hardly comes again, and its spectra are large
    spectra = filter.cached((sizes, like.dtype), lambda: plan.transform(smooth)) if alone else None
    return Chosen(Algorithm("short-rings", why), plan, smooth, spectra)


def _fft_rings(filter: Filter, sizes: tuple[int, ...], like: Tensor, memory: Memory) -> Chosen:
    """Choose transforms, which suit any rings and filters; without gradients their spectra are remembered."""
    fft = FFTRings(sizes, like.device, _keep(filter, filter.order + 1, like, memory))

    def filters() -> tuple[Tensor, ...]:
        return tuple(t.to(like) for t in filter.fast_factors(fft.distinct_sizes))

    algorithm = Algorithm("fft", _why_fft(sizes, _stop(filter), _start(filter)))
    if torch.is_grad_enabled():
        return Chosen(algorithm, fft, filters(), None)
    return Chosen(algorithm, fft, (), filter.cached((sizes, like.dtype), lambda: fft.transform(filters())))


def smooth_parts(filter: Filter, limit: int, like: Tensor) -> tuple[Tensor, ...]:
    """Return the filters' harmonics and windows, if they have any; nothing if harmonics are more than ``limit``."""

    def build() -> tuple[Tensor, ...]:
        spectrum, taps = filter.harmonics_of(limit), filter.taps()
        if spectrum is None:
            return ()
        return (spectrum.to(like.device), *(() if taps is None else (taps.to(like.device),)))

    return filter.cached((limit, like.dtype), build)


def _support(smooth: tuple[Tensor, ...]) -> int:
    """Return how far windows reach, 0 if there are none."""
    return smooth[1].shape[-1] // 2 if len(smooth) > 1 else 0


def _keep(filter: Filter, tensors: int, like: Tensor, memory: Memory) -> bool:
    size = tensors * len(like) * filter.channels * like.element_size()
    return torch.is_grad_enabled() and (memory == "keep" or (memory == "auto" and size <= limits.KEPT_BYTES))


def _bands(smooth: tuple[Tensor, ...]) -> str:
    windows = f" and windows of {support} nodes" if (support := _support(smooth)) else ""
    return f"{smooth[0].shape[1]} harmonics{windows}"


def _rings(sizes: tuple[int, ...]) -> str:
    return (
        f"one ring of {sizes[0]:,} nodes" if len(sizes) == 1 else f"{len(sizes):,} rings of up to {max(sizes):,} nodes"
    )


def _start(filter: Filter) -> int:
    """Return the nodes from which a ring is long."""
    return limits.LONG_RING_OF_WINDOWS if filter.windows_reach else limits.LONG_RING


def _stop(filter: Filter) -> int:
    """Return the nodes up to which rings are short."""
    return limits.SHORT_RING_OF_WINDOWS if filter.windows_reach else limits.SHORT_RING


def _why_fft(sizes: tuple[int, ...], stop: int, start: int) -> str:
    if max(sizes) <= stop:
        return f"{_rings(sizes)}, filters of too many harmonics"
    if len(sizes) == 1 and sizes[0] >= start:
        return f"{_rings(sizes)}, filters of too many harmonics, or windows that reach around it"
    return f"{_rings(sizes)}, neither short (up to {stop:,}) nor one long ring (from {start:,})"
