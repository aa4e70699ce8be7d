r"""The matrix products around the FFTs of the global context block, a few rows or columns at a time to stay in the
cache.

Shapes: N nodes, C channels, K order, R features of the filters, J rows of gates and value, M columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from geco.nn.ops import limits

__all__ = ["channel_first", "channel_last", "mixed", "project", "room_for", "unmix", "unproject"]

ROWS, COLUMNS = 512, 2048  # nodes, columns of spectra
SPARE = 16  # places between rows, which would lie a power of two apart otherwise and share few lines of the cache


def project(
    parts: Sequence[Tensor],
    centre: Sequence[Tensor],
    weight: Tensor,
    bias: Tensor,
    zeros: int = 0,
    room: Tensor | None = None,
) -> Tensor:
    """Return gates and value channel-first, ``(N, .)`` each to ``(K + 1, C, N + zeros)``.

    Args:
        parts: column groups of H.
        centre: what to take off each column of them.
        weight: ``(K + 1, C, columns of H)``.
        bias: ``(K + 1, C)``.
        zeros: places to append that are zero.
        room: where to put the result, as `room_for` makes it: memory that is used again need not be paged in again.

    Example:
        >>> h = torch.tensor([[3.0], [5.0]])
        >>> project([h], [torch.tensor([1.0])], torch.ones(1, 1, 1), torch.zeros(1, 1), zeros=1)
        tensor([[[2., 4., 0.]]])
    """
    nodes, rows, bias = len(parts[0]), weight.flatten(0, 1), bias.reshape(-1, 1)
    room = room_for(len(rows), nodes + zeros, parts[0]) if room is None else room
    z = room[: len(rows), : nodes + zeros]
    z[:, nodes:] = 0.0
    if nodes > limits.ONE_PRODUCT:
        rows = torch.cat([rows, bias], 1)  # the bias is a column that meets a one: no pass of its own
        for here, h in _centred(parts, centre, ones=1):
            torch.mm(rows, h.t(), out=z[:, here])
        return z.view(*weight.shape[:2], -1)
    z[:, :nodes] = bias
    start = 0
    for part, c in zip(parts, centre, strict=True):
        z[:, :nodes].addmm_(rows[:, start : start + part.shape[1]], (part - c).t())
        start += part.shape[1]
    return z.view(*weight.shape[:2], -1)


def _centred(parts: Sequence[Tensor], centre: Sequence[Tensor], ones: int = 0) -> Iterator[tuple[slice, Tensor]]:
    """Yield a few rows of H at a time, centred, with so many columns of ones; the next take the memory of the last."""
    nodes = len(parts[0])
    widths = [part.shape[1] for part in parts]
    room = parts[0].new_ones(min(ROWS, nodes), sum(widths) + ones)
    for a in range(0, nodes, ROWS):
        here = slice(a, min(a + ROWS, nodes))
        h = room[: here.stop - a]
        for part, c, out in zip(parts, centre, h.split([*widths, ones], 1), strict=False):
            torch.sub(part[here], c, out=out)
        yield here, h


def channel_first(x: Tensor) -> Tensor:
    """Return the transpose of ``(N, C)``, a few rows at a time."""
    out = room_for(x.shape[1], len(x), x)[:, : len(x)]
    for a in range(0, len(x), ROWS):
        out[:, a : a + ROWS] = x[a : a + ROWS].t()
    return out


def channel_last(x: Tensor, out: Tensor) -> None:
    """Write the transpose of ``(C, N)`` to ``out``, ``(N, C)``, a few rows at a time."""
    for a in range(0, len(out), ROWS):
        out[a : a + ROWS] = x[:, a : a + ROWS].t()


def unproject(
    dz: Tensor, parts: Sequence[Tensor], centre: Sequence[Tensor], weight: Tensor, dparts: Sequence[Tensor], add: bool
) -> Tensor:
    """Return the gradient of `project`'s weight; that of the parts is written to ``dparts``, or added.

    Args:
        dz: gradient of gates and value, ``(K + 1, C, N)``.
        parts: as in `project`.
        centre: as in `project`.
        weight: as in `project`.
        dparts: as the parts.
        add: whether to add.
    """
    rows, dz = weight.flatten(0, 1), dz.flatten(0, 1)
    dweight = torch.zeros_like(rows)
    back = rows.t().contiguous()
    for here, h in _centred(parts, centre):
        dweight.addmm_(dz[:, here], h)
        dh = back @ dz[:, here]  # channel-first, which is quicker than the product of the transposed
        for dpart, d in zip(dparts, dh.split([part.shape[1] for part in parts]), strict=True):
            dpart[here] = dpart[here] + d.t() if add else d.t()
    return dweight.view_as(weight)


def room_for(rows: int, columns: int, like: Tensor) -> Tensor:
    """Return empty memory for so many rows and columns."""
    return like.new_empty(rows, columns + SPARE)


def mixed(mix: Tensor, feature: Tensor, room: Tensor | None = None) -> Tensor:
    """Return filters from their features, ``(K, C, R)`` times ``(R, M)`` to ``(K, C, M)``, in the room given."""
    rows = mix.flatten(0, 1)
    room = room_for(len(rows), feature.shape[1], feature) if room is None else room
    out = room[: len(rows), : feature.shape[1]]
    for a in range(0, feature.shape[1], COLUMNS):
        torch.mm(rows, feature[:, a : a + COLUMNS], out=out[:, a : a + COLUMNS])
    return out.view(*mix.shape[:2], -1)


def unmix(dfilters: Tensor, mix: Tensor, feature: Tensor, weight: Tensor, dfeature: Tensor) -> Tensor:
    """Return the gradient of `mixed`'s mix; that of the features is added to ``dfeature``.

    Args:
        dfilters: gradient of the filters, ``(K, C, M)``.
        mix: ``(K, C, R)``.
        feature: ``(R, M)``.
        weight: what each column counts in a sum over them, ``(M,)``; ``dfeature`` is without.
        dfeature: ``(R, M)``.
    """
    flat, rows = dfilters.flatten(0, 1), mix.flatten(0, 1).t()
    dmix = flat.new_zeros(rows.shape[1], rows.shape[0])
    for a in range(0, feature.shape[1], COLUMNS):
        here = slice(a, a + COLUMNS)
        dmix.addmm_(flat[:, here], (feature[:, here] * weight[here]).t())
        dfeature[:, here].addmm_(rows, flat[:, here])
    return dmix.view_as(mix)
