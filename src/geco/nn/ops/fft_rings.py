r"""The global context block by FFT: any filter, any number of rings of any size in one pass, exact per ring.

Rings are grouped by the length they are transformed at, which depends on the ring's own size alone. A ring of N nodes
shorter than its transform length L >= 2N - 1 is padded with zeros, and its filter is laid out around both ends of L, so
that places 0 to N - 1 of the result are the circular convolution of length N. Channels are worked through in chunks
that fit the cache, and everything but the inputs is recomputed in backward unless kept.

Shapes: N nodes in all, G rings of a group, S sizes of a group, W widest ring of a group, L transform length,
        K order, C channels of a chunk, R features of the filters, P places of all distinct ring lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from geco.nn.ops import limits
from geco.nn.ops.fft_layout import Group, layout
from geco.nn.ops.fft_products import (
    SPARE,
    channel_first,
    channel_last,
    mixed,
    project,
    room_for,
    unmix,
    unproject,
)
from geco.nn.ops.protocol import Gradients, Kept, Projection

__all__ = ["FFTRings"]

BLOCK = 2**25  # numbers of gates and value that are laid out at once
CHUNK = 2**22  # numbers of one projection that are transformed at once: about what a cache holds


class FFTRings:
    """Forward and backward of the K convolutions and gates over a batch of rings.

    Args:
        sizes: nodes of each ring, in the order of the rows.
        device: where to work.
        keep: hold gates and values between forward and backward.
    """

    def __init__(self, sizes: tuple[int, ...], device: torch.device, keep: bool) -> None:
        self.keep, self.num_nodes = keep, sum(sizes)
        self.distinct_sizes, self.groups, self.back = layout(sizes, device)

    def transform(self, filters: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Transform the features: mix and ``(R, P)`` to mix and, for each group, ``(R, S * 2 * (L // 2 + 1))``."""
        mix, phi = filters
        phi = channel_first(phi.t()) if phi.shape[1] > limits.ONE_PRODUCT and phi.stride(1) != 1 else phi
        spectra = [mix]
        padded = phi if self.groups[0].places is None else torch.nn.functional.pad(phi, (0, 1))
        for group in self.groups:
            rows = padded if group.places is None else padded.index_select(1, group.places)
            spectrum = torch.fft.rfft(rows.reshape(phi.shape[0], -1, group.length))
            spectra.append(torch.view_as_real(spectrum).flatten(1))
        return tuple(spectra)

    def forward(self, projection: Projection, spectra: Sequence[Tensor]) -> tuple[Tensor, Kept]:
        """Return ``P_K * (F_K conv ... P_1 * (F_1 conv V))`` as ``(N, D)``, and what backward needs; see `Plan`."""
        parts, centre, weight, bias = projection
        mix, *features = spectra
        out = parts[0].new_empty(self.num_nodes, mix.shape[1])
        kept = []
        zeros = int(self.back is not None)
        blocks = self._slices(mix.shape[1], BLOCK // len(weight))
        room, *rooms = self._rooms(blocks, weight, spectra, parts[0])
        for block in blocks:
            z = project(parts, centre, weight[:, block], bias[:, block], zeros, None if self.keep else room)
            filters = [mixed(mix[:, block], feature, r) for feature, r in zip(features, rooms, strict=True)]
            for chunk in self._slices(z.shape[1], CHUNK):
                results = []
                for group, filter in zip(self.groups, filters, strict=True):
                    *gates, v = _pick(z[:, chunk], group)
                    laid = _laid_out(v, group)
                    for gate, f in zip(gates, _spectra(filter[:, chunk], group), strict=True):
                        v = torch.mul(gate, _inverse(torch.fft.rfft(laid).mul_(f), group), out=laid[..., : group.width])
                    results.append(v)
                channel_last(self._join(results), out[:, block][:, chunk])
            if self.keep:
                kept.append(z)
        return out, kept

    def backward(self, grad: Tensor, projection: Projection, spectra: Sequence[Tensor], kept: Kept) -> Gradients:
        """Return the gradients of the parts, weight, bias and (mix, features before `transform`)."""
        parts, centre, weight, bias = projection
        mix, *features = spectra
        blocks, zeros = self._slices(mix.shape[1], BLOCK // len(weight)), int(self.back is not None)
        dparts = [torch.empty_like(part) for part in parts]
        dweight, dbias, dmix = torch.zeros_like(weight), torch.empty_like(bias), torch.zeros_like(mix)
        dfeatures = [torch.zeros_like(feature) for feature in features]
        room, *rooms = self._rooms(blocks, weight, spectra, parts[0])
        for n, block in enumerate(blocks):
            z = kept[n] if kept else project(parts, centre, weight[:, block], bias[:, block], zeros, room)
            filters = [mixed(mix[:, block], feature, r) for feature, r in zip(features, rooms, strict=True)]
            dz = self._rings_backward(grad[:, block], z, filters)
            dbias[:, block] = dz.sum(2)
            dweight[:, block] = unproject(dz, parts, centre, weight[:, block], dparts, n > 0)
            for group, feature, dfilter, dfeature in zip(self.groups, features, filters, dfeatures, strict=True):
                counts = group.weight.to(feature.dtype).repeat(feature.shape[1] // len(group.weight))
                dmix[:, block] += unmix(dfilter, mix[:, block], feature, counts, dfeature)
        return Gradients(dparts, dweight, dbias, (dmix, self._transform_back(dfeatures)))

    def _rings_backward(self, grad: Tensor, z: Tensor, filters: list[Tensor]) -> Tensor:
        """Return the gradients of gates and value, ``(K + 1, C, N)``; those of the filters take the filters' place."""
        dz = torch.empty_like(z) if self.keep else z  # in place where nobody needs z any more
        for chunk in self._slices(z.shape[1], CHUNK):
            top = self._pad(channel_first(grad[:, chunk]).unsqueeze(0))  # (1, C, N)
            pieces = []
            for group, filter in zip(self.groups, filters, strict=True):
                piece = _pick(z[:, chunk], group)
                dpiece = _pick(dz[:, chunk], group) if self.back is None else piece  # where there are several, a copy
                _group_backward(piece, _pick(top, group)[0], filter[:, chunk], group, dpiece)
                pieces.append(dpiece)
            if self.back is not None:
                dz[:, chunk, :-1] = self._join([piece.flatten(0, 1) for piece in pieces]).view(
                    len(z), -1, self.num_nodes
                )
        return dz[..., : self.num_nodes]

    def _transform_back(self, dfeatures: list[Tensor]) -> Tensor:
        """Return the gradient of the features before `transform`, ``(R, P)``."""
        dphi = dfeatures[0].new_zeros(dfeatures[0].shape[0], sum(self.distinct_sizes) + 1)
        for group, dfeature in zip(self.groups, dfeatures, strict=True):
            rows = dfeature.view(len(dphi), -1, group.length // 2 + 1, 2)
            back = torch.fft.irfft(torch.view_as_complex(rows), n=group.length).flatten(1)
            if group.places is None:
                dphi[:, :-1] += back
            else:
                dphi.index_add_(1, group.places, back)
        return dphi[:, :-1]

    def _slices(self, channels: int, numbers: int) -> list[slice]:
        """Cut the channels so that a projection of each slice has at most so many numbers."""
        width = sum(g.length * (1 if g.nodes is None else g.nodes.numel() // g.width) for g in self.groups)
        count = -(-channels // max(1, min(channels, numbers // width)))
        edges = [channels * i // count for i in range(count + 1)]
        return [slice(a, b) for a, b in pairwise(edges)]

    def _rooms(self, blocks: list[slice], weight: Tensor, spectra: Sequence[Tensor], like: Tensor) -> list[Tensor]:
        """Return memory for the gates and value of a block and for its filters, one group after the other."""
        most = max(block.stop - block.start for block in blocks)
        rows = [0 if self.keep else len(weight) * most, *[(len(weight) - 1) * most] * len(self.groups)]
        columns = [self.num_nodes + 1, *(feature.shape[1] for feature in spectra[1:])]
        return [room_for(r, c, like) for r, c in zip(rows, columns, strict=True)]

    def _pad(self, z: Tensor) -> Tensor:
        """Append the zero that places beyond a ring's end point at, where there are such places."""
        return z if self.back is None else torch.nn.functional.pad(z, (0, 1))

    def _join(self, pieces: list[Tensor]) -> Tensor:
        """Bring the groups' results, each ``(C, G, W)``, back into the order of the rows, ``(C, N)``."""
        if self.back is None:
            return pieces[0].flatten(1)
        return torch.cat([piece.flatten(1) for piece in pieces], 1).index_select(1, self.back)


def _group_backward(z: Tensor, grad: Tensor, filters: Tensor, group: Group, dz: Tensor) -> None:
    """Write the gradients of gates and value ``(K + 1, C, G, W)`` to ``dz``, of the filters in their place."""
    *gates, v = z
    spectra, convolved = [], []
    each, laid = _spectra(filters, group), _laid_out(v, group)
    here = laid[..., : group.width]
    for gate, filter in zip(gates, each, strict=True):
        spectra.append(torch.fft.rfft(laid))
        convolved.append(_inverse(spectra[-1] * filter, group))
        torch.mul(gate, convolved[-1], out=here)
    for i in reversed(range(len(gates))):
        torch.mul(grad, gates[i], out=here)
        back = torch.fft.rfft(laid)
        torch.mul(grad, convolved[i], out=dz[i])
        product = each[i].conj_physical_() * back  # a filter's place is free from here on
        _by_size(back.mul_(spectra[i].conj_physical_()), group, filters[i])
        grad = _inverse(product, group)
    dz[-1] = grad


def _spectra(filters: Tensor, group: Group) -> Tensor:
    """Return the spectra of a chunk's filters, ``(K, C, G or 1, L // 2 + 1)``."""
    spectrum = torch.view_as_complex(filters.unflatten(2, (-1, group.length // 2 + 1, 2)))
    return spectrum if group.size is None else spectrum.index_select(2, group.size)


def _by_size(spectrum: Tensor, group: Group, out: Tensor) -> None:
    """Add up rings of one size, ``(C, G, L // 2 + 1)`` to real ``(C, S * 2 * (L // 2 + 1))``."""
    rows = torch.view_as_real(spectrum).flatten(2)  # (C, G, 2 * (L // 2 + 1))
    if group.size is None:
        torch.sum(rows, 1, out=out)
    else:
        out.zero_().unflatten(1, (-1, rows.shape[2])).index_add_(1, group.size, rows)


def _laid_out(v: Tensor, group: Group) -> Tensor:
    """Return values at their places of the transform in new memory, ``(C, G, W)`` to ``(C, G, L)``, zeros behind."""
    laid = v.new_empty(*v.shape[:-1], group.length + SPARE)[..., : group.length]
    laid[..., : group.width] = v
    laid[..., group.width :] = 0.0
    return laid


def _inverse(spectrum: Tensor, group: Group) -> Tensor:
    y: Tensor = torch.fft.irfft(spectrum, n=group.length)
    return y if group.length == group.width else y[..., : group.width]


def _pick(z: Tensor, group: Group) -> Tensor:
    """Lay padded rows of nodes out on the group's rings, ``(K + 1, C, N + 1)`` to ``(K + 1, C, G, W)``."""
    if group.nodes is None:
        return z.unsqueeze(2)
    return z.index_select(2, group.nodes).view(*z.shape[:2], -1, group.width)
