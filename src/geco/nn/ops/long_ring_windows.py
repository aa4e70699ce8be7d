r"""The global context block on one large ring when its filters are waves and windows: no transform of length N.

The waves go as in `geco.nn.ops.long_ring`. A window reaches S nodes either way, so a block of T rows is convolved by
one transform of a fast length :math:`L \ge T + 2S` that stays in the cache, from its rows and S more on both sides
(overlap-save), and handed back to them in backward (overlap-add). Values are channel-first, the gates' products write
them so, and stay in blocks: memory of a block is used again by the next step, that of a tensor of N rows is paged in
again.

Shapes: N nodes, D channels, C columns of one part, K order, B harmonics, S support, T rows a block, L transform length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import torch
from torch import Tensor

from geco.nn.functional import fast_length
from geco.nn.ops.long_ring import LongRing, block_rows, real_rows, split_columns
from geco.nn.ops.protocol import Gradients, Kept, Projection

__all__ = ["LongRingWithWindows", "transform_length"]


def transform_length(num_nodes: int, bands: int, support: int) -> int:
    """Return L for the blocks of a ring."""
    return fast_length(block_rows(num_nodes, bands) + 2 * support)


class LongRingWithWindows(LongRing):
    """Forward and backward of the K convolutions and gates. Held for backward are the values between the convolutions.

    Args:
        num_nodes: N, at least `geco.nn.ops.limits.LONG_RING`.
        bands: B, harmonics of the waves.
        support: S of the windows.
        like: a tensor of the type and device to work in.
        unit: whether waves are sqrt(N) times stronger than the mean.
    """

    def __init__(self, num_nodes: int, bands: int, support: int, like: Tensor, unit: bool) -> None:
        super().__init__(num_nodes, bands, like, False, unit)
        self.support, self.length = support, transform_length(num_nodes, bands, support)

    def transform(self, filters: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return the waves' spectra ``(K, B, D)`` and transforms of the windows, ``(K, D, L // 2 + 1)``."""
        spectrum, taps = filters
        laid = self.q.new_zeros(*taps.shape[:2], self.length)
        laid[..., : self.support + 1] = taps[..., self.support :]
        laid[..., self.length - self.support :] = taps[..., : self.support]
        return spectrum, torch.fft.rfft(laid)

    def forward(self, projection: Projection, spectra: Sequence[Tensor]) -> tuple[Tensor, Kept]:
        """Return ``P_K * (F_K conv ... P_1 * (F_1 conv V))`` as ``(N, D)``, and what backward needs; see `Plan`."""
        parts, centre, weight, bias = projection
        spectrum, windows = spectra
        order = len(spectrum)
        channels = windows.shape[1]
        out, blocks = parts[0].new_empty(self.num_rows, channels), list[list[Tensor]]()
        values = [self._value_waves(parts, centre, weight, bias)]
        for i in range(order):
            local = self._spread(spectrum[i], values[-1])
            met = []
            block = list[Tensor]()
            for n, (rows, h) in enumerate(self._rows(parts, centre, i == 0)):
                source = self._source(i, rows, h, weight, bias, blocks)
                mixed = self._mixed(torch.fft.rfft(source, n=self.length), windows[i], local[n], rows)
                gate = self._project(h, weight[i], bias[i], rows)
                if i + 1 == order:
                    out[rows] = mixed.mul_(gate).t()
                else:
                    block.append(gate.mul_(mixed))
                    met.append(self._met(gate))
            if i + 1 < order:
                blocks.append(block)
                values.append(self.gather(met))
        return out, [*values, *chain.from_iterable(blocks)]

    def backward(self, grad: Tensor, projection: Projection, spectra: Sequence[Tensor], kept: Kept) -> Gradients:
        """Return the gradients of the parts and, in float64, of weight and bias, and of waves and windows."""
        parts, centre, weight, bias = projection
        spectrum, windows = spectra
        order = len(spectrum)
        values = kept[: len(spectrum)]
        count = -(-self.num_rows // self.rows)
        blocks = [kept[start : start + count] for start in range(order, len(kept), count)]
        dparts, g = [part.new_empty(part.shape) for part in parts], grad.new_empty(windows.shape[1], self.length)
        dgates = _room(dparts, order, grad)
        dspectrum, dwindows = torch.empty_like(spectrum), torch.zeros_like(windows)
        above = list[Tensor]()  # what the convolution above hands down by windows,
        waves: Tensor | None = None  # and by waves
        for i in reversed(range(order)):
            local = self._spread(spectrum[i], values[i])
            met = []
            below = list[Tensor]()
            back = windows[i].conj_physical()
            for n, (rows, h) in enumerate(self._rows(parts, centre, i == 0)):
                seen = torch.fft.rfft(self._source(i, rows, h, weight, bias, blocks), n=self.length)  # (D, L // 2 + 1)
                # the memory of what arrives is used again below
                top = grad[rows].t().contiguous() if waves is None else self._arriving(above.pop(0), waves[n], rows)
                torch.mul(self._mixed(seen, windows[i], local[n], rows), top, out=dgates[i][rows].view_as(top))
                g[:, len(top[0]) :] = 0.0
                met.append(
                    self._met(torch.mul(top, self._project(h, weight[i], bias[i], rows), out=g[:, : len(top[0])]))
                )
                spread = torch.fft.rfft(g)
                dwindows[i].addcmul_(seen.conj_physical_(), spread)
                below.append(torch.fft.irfft(spread.mul_(back), n=self.length))
            self._overlap(below)
            harmonics = self._complex(self.gather(met)) * self.share
            dspectrum[i] = harmonics * self._complex(values[i]).conj()
            above = below
            waves = self._local(real_rows(harmonics * spectrum[i].conj()))
        assert waves is not None
        dvalue = (self._arriving(a, w, rows) for a, w, rows in zip(above, waves, self._slices(), strict=True))
        dweight, dbias = self._projection_back(projection, dgates, dvalue, dparts)
        return Gradients(dparts, dweight, dbias, (dspectrum, self._transform_back(dwindows)))

    def _projection_back(
        self, projection: Projection, dgates: list[Tensor], dvalue: Iterator[Tensor], dparts: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Return the gradients of weight and bias and write those of the parts, which may lie where the gates' do."""
        parts, centre, weight, bias = projection
        dweight, dbias = (torch.zeros_like(t, dtype=torch.float64) for t in (weight, bias))
        for v, (rows, h) in zip(dvalue, self._rows(parts, centre, False), strict=True):
            z = v.new_empty(len(weight), *v.shape)  # (K + 1, D, T)
            for laid, d in zip(z, [*(gate[rows].view_as(v) for gate in dgates), v], strict=True):
                laid.copy_(d)
            dbias.add_(z.sum(2))
            dweight.add_((z.flatten(0, 1) @ h).view_as(weight))
            dh = z.flatten(0, 1).t() @ weight.flatten(0, 1)  # (T, C of all parts): faster than part by part
            for dpart, d in zip(dparts, dh.split([part.shape[1] for part in parts], 1), strict=True):
                dpart[rows] = d
        return dweight, dbias

    def _transform_back(self, dwindows: Tensor) -> Tensor:
        """Return the gradient of the taps from what blocks and their sources share, ``(K, D, L // 2 + 1)``."""
        shared = torch.fft.irfft(dwindows, n=self.length)  # rows count from a block's first, sources from S before it
        return torch.cat([shared[..., self.length - 2 * self.support :], shared[..., :1]], -1).double()

    def _value_waves(self, parts: Sequence[Tensor], centre: Sequence[Tensor], weight: Tensor, bias: Tensor) -> Tensor:
        """Return the harmonics of V, ``(2B, D)``, from those of H."""
        value = self.ones @ bias[-1].unsqueeze(0).double()
        for part, c, w in zip(parts, centre, split_columns(weight, parts), strict=True):
            value.addmm_(self._seen(part, c), w[-1].double())
        return value

    def _rows(self, parts: Sequence[Tensor], centre: Sequence[Tensor], wide: bool) -> Iterator[tuple[slice, Tensor]]:
        """Yield each block's rows and its centred H, if ``wide`` with S more rows on both sides, around the ring.

        H is in one workspace for all blocks: it is gone with the next.
        """
        n = self.num_rows
        s = self.support if wide else 0
        widths = [part.shape[1] for part in parts]
        work = parts[0].new_empty(min(self.rows, n) + 2 * s, sum(widths))
        for rows in self._slices():
            low, high = rows.start - s, rows.stop + s
            around = None if low >= 0 and high <= n else torch.arange(low, high, device=work.device) % n
            h = work[: high - low]
            for x, c, out in zip(parts, centre, h.split(widths, 1), strict=True):
                torch.sub(x[low:high] if around is None else x.index_select(0, around), c, out=out)
            yield rows, h

    def _source(
        self, i: int, rows: slice, h: Tensor, weight: Tensor, bias: Tensor, blocks: Sequence[Sequence[Tensor]]
    ) -> Tensor:
        """Return what convolution i reads in a block and S rows around it, ``(D, T + 2 S)``."""
        if i == 0:
            return torch.addmm(bias[-1].unsqueeze(1), weight[-1], h.t())
        out, at = h.new_empty(len(weight[-1]), rows.stop - rows.start + 2 * self.support), 0
        for piece in self._columns(blocks[i - 1], rows.start - self.support, rows.stop + self.support):
            out[:, at : (at := at + piece.shape[1])] = piece  # by all threads, where a concatenation takes one
        return out

    def _columns(self, blocks: Sequence[Tensor], low: int, high: int) -> Iterator[Tensor]:
        """Yield columns from ``low`` to ``high`` of values in blocks, around the ring, a piece for each block."""
        while low < high:
            n, first = divmod(low % self.num_rows, self.rows)
            stop = min(first + high - low, self.rows, self.num_rows - n * self.rows)
            yield blocks[n][:, first:stop]
            low += stop - first

    def _project(self, h: Tensor, weight: Tensor, bias: Tensor, rows: slice) -> Tensor:
        """Return a gate of a block, ``(D, T)``."""
        return torch.addmm(bias.unsqueeze(1), weight, self._inner(h, rows).t())

    def _slices(self) -> Iterator[slice]:
        """Yield each block's rows."""
        starts = range(0, self.num_rows, self.rows)
        return (slice(start, min(start + self.rows, self.num_rows)) for start in starts)

    def _inner(self, h: Tensor, rows: slice) -> Tensor:
        count = rows.stop - rows.start
        return h if len(h) == count else h[self.support : self.support + count]

    def _mixed(self, seen: Tensor, window: Tensor, waves: Tensor, rows: slice) -> Tensor:
        """Convolve a block by its window and waves, ``(D, L // 2 + 1)`` to ``(D, T)``."""
        count = rows.stop - rows.start
        y: Tensor = torch.fft.irfft(seen * window, n=self.length)[:, self.support : self.support + count]
        return y.addmm_(waves.t(), self.q[:count].t())

    def _arriving(self, above: Tensor, waves: Tensor, rows: slice) -> Tensor:
        """Return the gradient of a convolution's source in a block, ``(D, T)``."""
        count = rows.stop - rows.start
        return torch.addmm(above[:, :count], waves.t(), self.q[:count].t())

    def _overlap(self, spread: list[Tensor]) -> None:
        """Add what each block, ``(D, L)`` with places from -S on, negative ones last, gives to S rows around it."""
        for n, block in enumerate(spread):
            low, high = n * self.rows, min((n + 1) * self.rows, self.num_rows)
            after = block[:, high - low : high - low + self.support]
            for edge, first in ((block[:, self.length - self.support :], low - self.support), (after, high)):
                pieces = list(self._columns(spread, first, first + self.support))
                for piece, part in zip(pieces, edge.split([p.shape[1] for p in pieces], 1), strict=True):
                    piece.add_(part)

    def _met(self, v: Tensor) -> Tensor:
        """Return a block's products with Q, ``(D, T)`` to ``(p, D)`` in float64."""
        mean = v.mean(1, keepdim=True)
        sums = self.sums[0 if v.shape[1] == self.rows else 1]
        return torch.addmm(((v - mean) @ self.q[: v.shape[1]]).t().double(), sums, mean.t().double())


def _room(dparts: list[Tensor], order: int, like: Tensor) -> list[Tensor]:
    """Return memory for the gradients of K gates, ``(N, D)`` each: that of the parts' as far as it goes."""
    fit = [dpart for dpart in dparts if dpart.shape == like.shape][:order]
    return fit + [like.new_empty(like.shape) for _ in range(order - len(fit))]
