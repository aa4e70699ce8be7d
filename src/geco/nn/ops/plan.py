"""Which algorithm computes the global context block on given rings, chosen by the limits of `geco.nn.ops.limits`.

Shapes: K order, D channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from geco.nn.filters.base import Filter
from geco.nn.ops import limits
from geco.nn.ops.fft_rings import FourierRings
from geco.nn.ops.long_ring import SmoothRing, harmonic_limit
from geco.nn.ops.long_ring_windows import WindowedRing
from geco.nn.ops.protocol import Plan
from geco.nn.ops.short_rings import WaveRings

__all__ = ["Algorithm", "Chosen", "Memory", "choose"]

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


def choose(filter: Filter, sizes: tuple[int, ...], like: Tensor, memory: Memory = "auto") -> Chosen:
    """Choose by the sizes of the rings and the smoothness of the filters.

    Args:
        filter: K filters of D channels.
        sizes: nodes of each ring.
        like: a tensor of the type and device to work in, with as many rows as there are nodes.
        memory: what to hold for backward: inputs only, gates too, or as their size allows.
    """
    if len(sizes) == 1 and (limit := harmonic_limit(sizes[0])):
        known = _smooth(filter, limit, like)
        plan = _long(filter, sizes[0], known, like, memory) if known else None
        if plan is not None:
            return Chosen(
                Algorithm(
                    "long-ring", f"{_rings(sizes)} (long: from {limits.LONG_RING:,}), filters of {_bands(known)}"
                ),
                plan,
                known,
                None,
            )
    if max(sizes) <= limits.SHORT_RING and (known := _smooth(filter, limits.SHORT_RING_HARMONICS, like)):
        support = known[1].shape[-1] // 2 if len(known) > 1 else 0
        keep = _keep(filter, filter.order + 1, like, memory)
        plan = WaveRings(sizes, known[0].shape[1], like, keep, support, filter.unit)
        why = f"{_rings(sizes)} (short: up to {limits.SHORT_RING:,}), filters of {_bands(known)}"
        return Chosen(Algorithm("short-rings", why), plan, known, None)
    fft = FourierRings(sizes, like.device, _keep(filter, filter.order + 1, like, memory))

    def filters() -> tuple[Tensor, ...]:
        return tuple(t.to(like) for t in filter.fast_factors(fft.rings))

    algorithm = Algorithm("fft", _why_fft(sizes))
    if torch.is_grad_enabled():
        return Chosen(algorithm, fft, filters(), None)
    return Chosen(algorithm, fft, (), filter.cached((sizes, like.dtype), lambda: fft.transform(filters())))


def _smooth(filter: Filter, limit: int, like: Tensor) -> tuple[Tensor, ...]:
    """Return the filters' harmonics and windows, if they have any; nothing if harmonics are more than ``limit``."""

    def build() -> tuple[Tensor, ...]:
        spectrum, taps = filter.harmonics_of(limit), filter.taps()
        if spectrum is None:
            return ()
        return (spectrum.to(like.device), *(() if taps is None else (taps.to(like.device),)))

    return filter.cached((limit, like.dtype), build)


def _long(filter: Filter, size: int, known: tuple[Tensor, ...], like: Tensor, memory: Memory) -> Plan | None:
    """Return the plan of one long ring, None if windows reach too far for it."""
    if len(known) > 1:
        plan = WindowedRing(size, known[0].shape[1], known[1].shape[-1] // 2, like, filter.unit)
        return plan if plan.length <= size else None
    return SmoothRing(size, known[0].shape[1], like, _keep(filter, filter.order, like, memory), filter.unit)


def _keep(filter: Filter, tensors: int, like: Tensor, memory: Memory) -> bool:
    size = tensors * len(like) * filter.channels * like.element_size()
    return torch.is_grad_enabled() and (memory == "keep" or (memory == "auto" and size <= limits.KEPT_BYTES))


def _bands(known: tuple[Tensor, ...]) -> str:
    windows = f" and windows of {known[1].shape[-1] // 2} nodes" if len(known) > 1 else ""
    return f"{known[0].shape[1]} harmonics{windows}"


def _rings(sizes: tuple[int, ...]) -> str:
    return (
        f"one ring of {sizes[0]:,} nodes" if len(sizes) == 1 else f"{len(sizes):,} rings of up to {max(sizes):,} nodes"
    )


def _why_fft(sizes: tuple[int, ...]) -> str:
    if max(sizes) <= limits.SHORT_RING:
        return f"{_rings(sizes)}, filters that are not smooth"
    if len(sizes) == 1 and sizes[0] >= limits.LONG_RING:
        return f"{_rings(sizes)}, filters that are not smooth or reach around it"
    return f"{_rings(sizes)}, neither short (up to {limits.SHORT_RING:,}) nor one long ring (from {limits.LONG_RING:,})"
