r"""The global context block on one large ring when its filters are smooth: matrix products only, at any N.

A filter with B harmonics makes :math:`F \circledast V = \Phi\, S\, \Phi^\top V`, where :math:`\Phi` (N, 2B) holds the
cosines and sines of the ring and S multiplies harmonic by harmonic. Within a block of rows these waves turn little, so
a few polynomials Q span them to rounding: :math:`\Phi = \mathrm{blockdiag}(Q)\, M`. Products with Q run through the
cache block by block; M is small, and its side of the work is done in float64, so that a large mean does not drown the
waves in its rounding. No transform of length N is taken, so a prime N costs what a power of two does.

Where a ring is shared out over several processes, each has its own rows and tables for them; what is summed over a ring
are its harmonics, 2B rows for each convolution and as many for its gradient.

Shapes: N nodes, D channels, C columns of one part, K order, B harmonics, T rows a block, p polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from geco.nn.graph.remembered import cached
from geco.nn.graph.span import Span
from geco.nn.ops import limits
from geco.nn.ops.protocol import Gradients, Kept, Projection

__all__ = ["LongRing", "block_rows", "harmonic_limit", "real_rows", "split_columns", "wave_tables"]

BLOCKS = (2048, 1024, 512, 256)  # rows a block: its D-wide slices stay in the cache
TURNS = 4.0  # the longest block in which the fastest wave turns no more than this often


@lru_cache(maxsize=4096)
def harmonic_limit(num_nodes: int) -> int:
    """Return the most harmonics for which M stays small beside the rows themselves."""
    limit = 0
    for bands in range(8, num_nodes // 8 + 1, 8):
        rows = block_rows(num_nodes, bands)
        polynomials = math.pi * bands * rows / num_nodes + 17  # what _polynomials finds, in good approximation
        if num_nodes / rows * polynomials * 2 * bands > limits.TABLE_PER_NODE * num_nodes + limits.TABLE_BESIDES:
            break
        limit = bands
    return limit


def block_rows(num_nodes: int, bands: int) -> int:
    """Return T."""
    return next((t for t in BLOCKS if bands * t <= TURNS * num_nodes), BLOCKS[-1])


class LongRing:
    """Forward and backward of the K convolutions and gates, with gates recomputed in backward unless kept.

    Args:
        num_nodes: N.
        bands: B, harmonics of the filters.
        like: a tensor of the type and device to work in.
        keep: hold the gates between forward and backward.
        unit: whether waves are sqrt(N) times stronger than the mean.
        span: the places of the ring that are here, if others are elsewhere: gradients of weights are then those of the
            rows that are here.
    """

    def __init__(
        self, num_nodes: int, bands: int, like: Tensor, keep: bool, unit: bool = False, span: Span | None = None
    ) -> None:
        first, self.num_rows = (0, num_nodes) if span is None else (span.first, span.count)
        self.bands, self.keep, self.span = bands, keep, span
        tables = wave_tables(num_nodes, first, self.num_rows, bands, like.dtype, like.device)
        self.q, self.waves, self.ones, self.sums = tables
        self.rows = self.q.shape[0]
        # Real parts count twice (k and -k) but for k = 0; the ring's inverse transform divides by its length.
        strength = num_nodes**0.5 if unit else 1.0
        self.share = torch.full((bands, 1), 2.0 * strength / num_nodes, dtype=torch.float64, device=like.device)
        self.share[0] = 1.0 / num_nodes

    def transform(self, filters: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Filters come as spectra already, ``(K, B, D)``."""
        return filters

    def forward(self, projection: Projection, spectra: Sequence[Tensor]) -> tuple[Tensor, Kept]:
        """Return ``P_K * (F_K conv ... P_1 * (F_1 conv V))`` as ``(N, D)``, and what backward needs; see `Plan`."""
        parts, centre, weight, bias = projection
        (spectrum,) = spectra
        order, channels = spectrum.shape[0], spectrum.shape[2]
        weights = split_columns(weight, parts)
        seen = [self._seen(part, c) for part, c in zip(parts, centre, strict=True)]  # (2B, C) each
        value = sum(s @ w[order].double() for s, w in zip(seen, weights, strict=True))
        assert isinstance(value, Tensor)
        value.addmm_(self.ones, bias[order].unsqueeze(0).double())
        values = [self._total(value)]
        out = parts[0].new_empty(self.num_rows, channels)
        gates = [torch.empty_like(out) if self.keep else None for _ in range(order)]
        u, p = out.new_empty(2, min(self.rows, self.num_rows), channels)
        h = [part.new_empty(len(u), part.shape[1]) for part in parts]
        for i in range(order):
            local = self._spread(spectrum[i], values[-1])
            met = []
            for n, (rows, gate) in enumerate(self._gates(parts, centre, weights, bias, i, gates[i], p, h)):
                v = torch.mm(self.q[: len(gate)], local[n], out=u[: len(gate)]).mul_(gate)
                if i + 1 == order:
                    out[rows] = v
                else:
                    met.append(self._meet(v))
            if i + 1 < order:
                values.append(self._total(self.gather(met)))
        return out, [*seen, *values, *(g for g in gates if g is not None)]

    def backward(self, grad: Tensor, projection: Projection, spectra: Sequence[Tensor], kept: Kept) -> Gradients:
        """Return the gradients of the parts and, in float64, of weight, bias and spectra."""
        parts, centre, weight, bias = projection
        (spectrum,) = spectra
        order, channels = spectrum.shape[0], spectrum.shape[2]
        weights = split_columns(weight, parts)
        seen, values, gates = kept[: len(parts)], kept[len(parts) : len(parts) + order], kept[len(parts) + order :]
        dparts = [torch.empty_like(part) for part in parts]
        dweight, dbias = (torch.zeros_like(t, dtype=torch.float64) for t in (weight, bias))
        dspectrum = torch.empty_like(spectrum)
        dweights = split_columns(dweight, parts)
        u, g, p = grad.new_empty(3, min(self.rows, self.num_rows), channels)
        h = [part.new_empty(len(u), part.shape[1]) for part in parts]
        arriving: Tensor | None = None  # local waves of the gradient that comes from the convolution above
        for i in reversed(range(order)):
            local = self._spread(spectrum[i], values[i])
            met = []
            for n, (rows, gate) in enumerate(
                self._gates(parts, centre, weights, bias, i, gates[i] if gates else None, p, h, bool(gates))
            ):
                q = self.q[: len(gate)]
                top = grad[rows] if arriving is None else torch.mm(q, arriving[n], out=g[: len(gate)])
                dgate = torch.mm(q, local[n], out=u[: len(gate)]).mul_(top)
                for x, dpart, w, dw in zip(h, dparts, weights, dweights, strict=True):
                    if arriving is None:
                        torch.mm(dgate, w[i].t(), out=dpart[rows])
                    else:
                        dpart[rows].addmm_(dgate, w[i].t())
                    dw[i].add_(x[: len(gate)].t() @ dgate)
                dbias[i] += dgate.sum(0)
                met.append(self._meet(torch.mul(top, gate, out=u[: len(gate)])))
            back = self._complex(self.gather(met)) * self.share
            dspectrum[i] = back * self._complex(values[i]).conj()
            dvalue = self._total(real_rows(back * spectrum[i].conj()))  # (2B, D)
            arriving = self._local(dvalue)
        dbias[order] = (self.ones.t() @ dvalue)[0]
        for s, w, dpart, dw in zip(seen, weights, dparts, dweights, strict=True):
            dw[order].copy_(s.t() @ dvalue)
            self._add_harmonics(dvalue @ w[order].t().double(), dpart)
        return Gradients(dparts, dweight, dbias, (dspectrum,))

    def _add_harmonics(self, dseen: Tensor, dpart: Tensor) -> None:
        """Add to a gradient ``(N, C)`` what harmonics of its part, ``(2B, C)``, hand back."""
        waves = self._local(dseen)
        for n, block in enumerate(self._blocks(dpart)):
            block.addmm_(self.q[: len(block)], waves[n])

    def _meet(self, v: Tensor) -> Tensor:
        """Return a block's products with Q, ``(rows, C)`` to ``(p, C)`` in float64, and spoil v."""
        mean = v.mean(0, keepdim=True)
        sums = self.sums[0 if len(v) == self.rows else 1]
        return torch.addmm((self.q[: len(v)].t() @ v.sub_(mean)).double(), sums, mean.double())

    def gather(self, met: list[Tensor]) -> Tensor:
        """Add up the blocks' products with Q, each ``(p, C)``, to harmonics, ``(2B, C)``."""
        return self.waves.t() @ torch.cat(met)

    def _total(self, value: Tensor) -> Tensor:
        """Return the sum of everyone's harmonics, where a ring is shared out."""
        return value if self.span is None else self.span.total(value)

    def _spread(self, spectrum: Tensor, value: Tensor) -> Tensor:
        """Convolve harmonic by harmonic and return each block's coefficients, ``(blocks, p, D)``."""
        return self._local(real_rows(spectrum * self.share * self._complex(value)))

    def _local(self, value: Tensor) -> Tensor:
        return (self.waves @ value).to(self.q.dtype).view(-1, self.q.shape[1], value.shape[1])

    def _complex(self, value: Tensor) -> Tensor:
        return torch.complex(value[: self.bands], value[self.bands :])

    def _blocks(self, x: Tensor) -> Iterator[Tensor]:
        return iter(x.split(self.rows))

    def _seen(self, part: Tensor, centre: Tensor) -> Tensor:
        """Return a part's harmonics, ``(N, C)`` to ``(2B, C)``."""
        return self.gather([self._meet(h - centre) for h in self._blocks(part)])

    def _gates(
        self,
        parts: Sequence[Tensor],
        centre: Sequence[Tensor],
        weights: list[Tensor],
        bias: Tensor,
        i: int,
        held: Tensor | None,
        work: Tensor,
        h: list[Tensor],
        filled: bool = False,
    ) -> Iterator[tuple[slice, Tensor]]:
        """Yield the rows and gate i of each block, and leave the block's centred parts in ``h``.

        The gate is computed into ``held`` or else ``work``, unless ``held`` is filled already.
        """
        for start in range(0, self.num_rows, self.rows):
            rows = slice(start, min(start + self.rows, self.num_rows))
            gate = work[: rows.stop - start] if held is None else held[rows]
            centred = [torch.sub(x[rows], c, out=y[: len(gate)]) for x, c, y in zip(parts, centre, h, strict=True)]
            if not filled:
                torch.addmm(bias[i], centred[0], weights[0][i], out=gate)
                for x, w in zip(centred[1:], weights[1:], strict=True):
                    gate.addmm_(x, w[i])
            yield rows, gate


def split_columns(weight: Tensor, parts: Sequence[Tensor]) -> list[Tensor]:
    """Return each part's share of the projection, transposed, ``(K + 1, C, D)``."""
    return [w.transpose(1, 2) for w in weight.split([part.shape[1] for part in parts], 2)]


def real_rows(value: Tensor) -> Tensor:
    """Return real parts, then imaginary ones, complex ``(B, D)`` to ``(2B, D)``."""
    return torch.cat([value.real, value.imag])


@cached(16)
def wave_tables(
    num_nodes: int, first: int, count: int, bands: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, ...]:
    """Return Q ``(T, p)``, M ``(blocks * p, 2B)`` with cosines first and negative sines after them, and two sums, for
    so many places from the first one on.

    All but Q in float64. The sums are those of the waves over all of these rows, ``(2B, 1)``, and those of Q over a
    whole block and over the last one, ``(2, p, 1)``.
    """
    rows = block_rows(num_nodes, bands)
    speed = 2 * math.pi * torch.arange(bands, dtype=torch.float64) / num_nodes
    angle = torch.arange(rows, dtype=torch.float64).unsqueeze(1) * speed
    q = _polynomials(angle[:, -1], torch.finfo(dtype).eps / 16)
    block = torch.complex(q.t() @ angle.cos(), q.t() @ angle.sin())  # (p, B)
    start = torch.arange(first, first + max(1, count), rows)  # without places one block without rows
    places = (start.unsqueeze(1) * torch.arange(bands)) % num_nodes  # (blocks, B), whole turns taken off
    turns = places.double() * (2 * math.pi / num_nodes)
    turn = torch.complex(turns.cos(), turns.sin())
    waves = (turn.unsqueeze(1) * block).flatten(0, 1)  # (blocks * p, B)
    waves = torch.cat([waves.real, -waves.imag], 1)
    sums = torch.stack([q.sum(0), q[: (count - 1) % rows + 1 if count else 0].sum(0)])
    ones = waves.t() @ torch.cat([sums[0].repeat(len(start) - 1), sums[1]])
    return q.to(device, dtype), waves.to(device), ones.unsqueeze(1).to(device), sums.unsqueeze(2).to(device)


def _polynomials(angle: Tensor, tolerance: float) -> Tensor:
    """Return as many orthonormal polynomials on T points as the fastest wave needs, ``(T, p)``."""
    rows = angle.numel()
    x = torch.linspace(-1, 1, rows, dtype=torch.float64).arccos()
    most = min(rows, int(angle[-1]) + 64)
    q, _ = torch.linalg.qr(torch.cos(x.unsqueeze(1) * torch.arange(most)))
    share = (q.t() @ torch.stack([angle.cos(), angle.sin()], 1)).square().sum(1)  # of the wave's energy, by degree
    left = share.flip(0).cumsum(0).flip(0).sqrt()
    needed = int((left > tolerance * math.sqrt(rows)).sum())
    basis: Tensor = q[:, : min(most, needed + 1)]
    return basis.contiguous()
