r"""The global context block on many short rings when its filters are smooth: matrix products only, row by row.

A filter with B harmonics makes :math:`F \circledast V = \Phi\, S\, \Phi^\top V`, where :math:`\Phi` holds the cosines
and sines of the ring and S multiplies harmonic by harmonic. A ring of n nodes has no more than n // 2 + 1 harmonics;
those above fold onto them, which is exact. Windows over distances are laid around a ring of each size and transformed
as a value would be (`geco.nn.ops.short_ring_windows`). A graph's result depends on its own size and the filters alone.

Shapes: N nodes in all, P places of all blocks, D channels, C columns of one part, K order, B harmonics of the filters,
        R harmonics of all rings; of a block: T places, G, h as in `geco.nn.ops.short_ring_pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from geco.nn.functional import row_starts, segment_matmul
from geco.nn.graph.remembered import cached
from geco.nn.ops.protocol import Gradients, Kept, Projection
from geco.nn.ops.short_ring_pairs import RingBlock, arrange
from geco.nn.ops.short_ring_windows import Csr, window_layout

__all__ = ["ShortRings"]

# One filter's harmonics on the rings of a block, real and imaginary parts, (G, h, D) each.
Harmonics = tuple[Tensor, Tensor]


class ShortRings:
    """Forward and backward of the K convolutions and gates over a batch of short rings.

    Args:
        sizes: nodes of each ring, in the order of the rows.
        bands: B.
        like: a tensor of the type and device to work in.
        keep: hold gates, harmonics and convolved values between forward and backward.
        support: S of the windows, 0 if there are none.
        unit: whether waves are sqrt(n) times stronger than the mean on a ring of n nodes.
    """

    def __init__(
        self, sizes: tuple[int, ...], bands: int, like: Tensor, keep: bool, support: int = 0, unit: bool = False
    ) -> None:
        self.keep, self.dtype = keep, like.dtype
        layout = _layout(sizes, bands, support > 0, unit, like.dtype, like.device)
        self.blocks, self.back, self.fold, self.unfold = layout
        self.windows = (
            [window_layout(block.distinct_sizes, support, like.dtype, like.device) for block in self.blocks]
            if support
            else []
        )
        self.places = [len(block.nodes) for block in self.blocks]
        self.waves = [len(block.sizes) * block.waves for block in self.blocks]

    def transform(self, filters: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Fold the filters' spectra ``(K, B, D)`` onto the harmonics of each ring: real and imaginary parts, ``(R, K *
        D)``.

        To them come those of the windows, ``(K, D, 2 S + 1)``, if there are any.
        """
        rows = filters[0].transpose(0, 1).flatten(1)  # (B, K * D)
        folded = (segment_matmul(*fold, part) for fold, part in zip(self.fold, (rows.real, rows.imag), strict=True))
        spectra = tuple(part.to(self.dtype) for part in folded)
        if self.windows:
            taps = filters[1].flatten(0, 1).t().contiguous()  # (2 S + 1, K * D)
            for block, window, *parts in zip(
                self.blocks, self.windows, *(s.split(self.waves) for s in spectra), strict=True
            ):
                window.add_to(parts, taps, block)
        return spectra

    def forward(self, projection: Projection, spectra: Sequence[Tensor]) -> tuple[Tensor, Kept]:
        """Return ``P_K * (F_K conv ... P_1 * (F_1 conv V))`` as ``(N, D)``, and what backward needs; see `Plan`."""
        parts, centre, weight, bias = projection
        rows = parts[0].new_empty(sum(self.places), weight.shape[1])
        kept = []
        for block, out, filters in zip(
            self.blocks, rows.split(self.places), self._filters(spectra, weight), strict=True
        ):
            gates, seen, mixed = _convolve(block, _centred(parts, centre, block), weight, bias, filters)
            torch.mul(gates[:, -1], mixed[-1], out=out)
            if self.keep:
                kept += [gates, *seen, *mixed]
        return rows.index_select(0, self.back), kept

    def backward(self, grad: Tensor, projection: Projection, spectra: Sequence[Tensor], kept: Kept) -> Gradients:
        """Return the gradients of the parts, weight, bias and the filters' spectra."""
        parts, centre, weight, bias = projection
        order = len(weight) - 1
        widths = [part.shape[1] for part in parts]
        drows = [part.new_empty(sum(self.places), width) for part, width in zip(parts, widths, strict=True)]
        weights = weight.flatten(0, 1).split(widths, 1)
        dweights = [torch.zeros_like(w) for w in weights]
        dbias = torch.zeros_like(bias)
        dspectra = [torch.empty_like(s) for s in spectra]
        outs = zip(*(d.split(self.places) for d in drows), strict=True)
        for n, (block, out, filters, dfilters) in enumerate(
            zip(self.blocks, outs, self._filters(spectra, weight), self._filters(dspectra, weight), strict=True)
        ):
            h = _centred(parts, centre, block)
            if kept:
                gates, *rest = kept[n * (2 * order + 1) : (n + 1) * (2 * order + 1)]
                seen, mixed = rest[:order], rest[order:]
            else:
                gates, seen, mixed = _convolve(block, h, weight, bias, filters)
            top = grad.index_select(0, block.nodes).index_fill_(0, block.empty, 0.0)
            dz = _convolve_back(block, top, gates, seen, mixed, filters, dfilters)
            dbias += dz.sum(0)
            flat = dz.flatten(1)
            for x, w, dw, drow in zip(h, weights, dweights, out, strict=True):
                dw.addmm_(flat.t(), x)
                torch.mm(flat, w, out=drow)
        dparts = [drow.index_select(0, self.back) for drow in drows]
        dweight = torch.cat(dweights, 1).view_as(weight)
        return Gradients(dparts, dweight, dbias, self._transform_back(dspectra, order))

    def _transform_back(self, dspectra: list[Tensor], order: int) -> tuple[Tensor, ...]:
        real, imag = (segment_matmul(*unfold, d).double() for unfold, d in zip(self.unfold, dspectra, strict=True))
        dspectrum = torch.complex(real, imag).view(len(real), order, -1).transpose(0, 1)
        if not self.windows:
            return (dspectrum,)
        pieces = zip(self.blocks, self.windows, *(d.split(self.waves) for d in dspectra), strict=True)
        dtaps = torch.stack([window.back(parts, block) for block, window, *parts in pieces]).sum(0)  # (2 S + 1, K * D)
        return dspectrum, dtaps.double().t().unflatten(0, (order, -1))

    def _filters(self, spectra: Sequence[Tensor], weight: Tensor) -> list[list[Harmonics]]:
        """Return each block's K filters."""
        each = (s.view(len(s), -1, weight.shape[1]).split(self.waves) for s in spectra)  # (G * h, K, D)
        shaped = ([p.unflatten(0, (-1, b.waves)).unbind(2) for p, b in zip(e, self.blocks, strict=True)] for e in each)
        return [list(zip(p, q, strict=True)) for p, q in zip(*shaped, strict=True)]


def _centred(parts: Sequence[Tensor], centre: Sequence[Tensor], block: RingBlock) -> list[Tensor]:
    return [part.index_select(0, block.nodes).sub_(c) for part, c in zip(parts, centre, strict=True)]


def _project(h: list[Tensor], weight: Tensor, bias: Tensor, block: RingBlock) -> Tensor:
    """Return some of a block's gates and value, ``(T, len(weight), D)``, zeros at empty places."""
    first, *rest = zip(h, weight.flatten(0, 1).split([x.shape[1] for x in h], 1), strict=True)
    z = torch.addmm(bias.flatten(), first[0], first[1].t())
    for x, w in rest:
        z.addmm_(x, w.t())
    return z.index_fill_(0, block.empty, 0.0).view(len(z), len(weight), -1)


def _convolve(
    block: RingBlock, h: list[Tensor], weight: Tensor, bias: Tensor, filters: list[Harmonics]
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Return the gates ``(T, K, D)``, each convolution's harmonics ``(2, G, h, D)`` and result ``(T, D)``."""
    gates = _project(h, weight[:-1], bias[:-1], block)
    v = _project(h, weight[-1:], bias[-1:], block)[:, 0]
    rings, seen, mixed = block.opened(), list[Tensor](), list[Tensor]()
    for i, (p, q) in enumerate(filters):
        seen.append(rings.analysis(v if i == 0 else gates[:, i - 1] * mixed[-1]))
        mixed.append(rings.synthesis(_times(seen[-1], p, q, 1.0)))
    return gates, seen, mixed


def _convolve_back(
    block: RingBlock,
    top: Tensor,
    gates: Tensor,
    seen: list[Tensor],
    mixed: list[Tensor],
    filters: list[Harmonics],
    dfilters: list[Harmonics],
) -> Tensor:
    """Return the gradient of gates and value, ``(T, K + 1, D)``, and write that of the filters."""
    rings, dz = block.opened(), gates.new_empty(len(gates), gates.shape[1] + 1, gates.shape[2])
    for i in reversed(range(len(filters))):
        torch.mul(top, mixed[i], out=dz[:, i])
        dy = rings.analysis(top * gates[:, i])
        _correlate(seen[i], dy, *dfilters[i])
        top = rings.synthesis(_times(dy, *filters[i], -1.0))
    dz[:, -1] = top
    return dz.index_fill_(0, block.empty, 0.0)


def _times(x: Tensor, p: Tensor, q: Tensor, sign: float) -> Tensor:
    """Multiply harmonics with those of the filters (sign 1) or of the filters read backwards (sign -1)."""
    y = x * p
    y[0].addcmul_(x[1], q, value=sign)
    y[1].addcmul_(x[0], q, value=-sign)
    return y


def _correlate(x: Tensor, dy: Tensor, dp: Tensor, dq: Tensor) -> None:
    """Write the gradients of p and q in `_times`."""
    torch.mul(x[0], dy[0], out=dp).addcmul_(x[1], dy[1])
    torch.mul(x[1], dy[0], out=dq).addcmul_(x[0], dy[1], value=-1.0)


@cached(64)
def _layout(
    sizes: tuple[int, ...], bands: int, whole: bool, unit: bool, dtype: torch.dtype, device: torch.device
) -> tuple[tuple[RingBlock, ...], Tensor, list[Csr], list[Csr]]:
    """Return the blocks, each node's place, and the foldings of real and imaginary parts (in float64) with their
    transposes.

    ``whole`` keeps all harmonics of every ring, which windows need, ``unit`` is as in `ShortRings`.
    """
    blocks, back = arrange(sizes, max(sizes) if whole else bands, torch.empty(0, dtype=dtype, device=device))
    waves = torch.cat([torch.full_like(block.sizes, block.waves) for block in blocks])
    at, real, imag = _folding(torch.cat([block.sizes for block in blocks]), bands, unit)
    row = at + (waves.cumsum(0) - waves).unsqueeze(1)
    by = torch.argsort(row.flatten(), stable=True)
    pointer = row_starts(row.flatten(), int(waves.sum())).to(device)
    fold = [(pointer, (by % bands).to(device), value.flatten()[by].to(device)) for value in (real, imag)]
    each = torch.arange(bands + 1).mul(len(row)).to(device)  # every ring has one entry of every harmonic
    unfold = [(each, row.t().flatten().to(device), value.t().flatten().to(device, dtype)) for value in (real, imag)]
    return blocks, back, fold, unfold


def _folding(sizes: Tensor, bands: int, unit: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return where each harmonic goes among those of a ring, and times what, ``(rings, B)``: for real and imaginary
    parts.

    Harmonic k and its mirror image -k act together, hence 2. On a ring of n nodes they stand at k mod n and n - k mod
    n, of which the lower is stored; the ring's inverse transform divides by n, after which waves of unit gain are
    multiplied by sqrt(n).
    """
    n, k = sizes.unsqueeze(1), torch.arange(bands)
    at = k % n
    mirrored = 2 * at > n
    at = torch.where(mirrored, n - at, at)
    real = torch.where(k == 0, 1.0, 2.0 * n.double().sqrt() if unit else 2.0).double() / n
    imag = torch.where((at == 0) | (2 * at == n), 0.0, torch.where(mirrored, -real, real))
    return at, real, imag
