r"""Convolutions along the node order, each graph by itself: Hyena, and the short ones that the paper tries in its
place.

Shapes: N nodes, C input channels, D channels, K order, G graphs of a block, W nodes of its largest, B bands, R hidden
units.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from geco.nn.filters.paper import check_features_count, position_features
from geco.nn.functional import dropout, fast_length
from geco.nn.graph.padding import Block, blocks
from geco.nn.graph.prepare import Graph, input_rings
from geco.nn.resolve import reset

__all__ = ["Hyena", "HyenaFilter", "ShortConv", "causal_conv"]


class ShortConv(nn.Module):
    r"""Depthwise causal convolution over the node order, :math:`y_t = b + \sum_{k<w} W_k \odot x_{t-k}`, zeros before a
    graph's first node: Conv-w of the paper's ablation.

    The paper says that 1D convolutions "originally used in Hyena" stand in for the local block. Hyena's is depthwise
    and causal, so this one is; it takes the place of :math:`\hat A X`, and the block still passes :math:`[X, Y]` on
    (see `Cascade`).

    Args:
        channels: D.
        width: w.

    Shapes:
        ``x`` (N, D), ``batch`` (N,), ``permutation`` (N,) to (N, D).

    Example:
        >>> ShortConv(4, width=10)(torch.randn(5, 4), torch.tensor([0, 0, 0, 1, 1])).shape
        torch.Size([5, 4])
    """

    def __init__(self, channels: int, width: int = 1) -> None:
        super().__init__()
        if channels < 1 or width < 1:
            raise ValueError(f"channels and width must be at least 1, got {channels} and {width}")
        self.conv = nn.Conv1d(channels, channels, width, padding=width - 1, groups=channels)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.conv.reset_parameters()

    def forward(
        self, x: Tensor, batch: Tensor | None = None, permutation: Tensor | None = None, *, graph: Graph | None = None
    ) -> Tensor:
        """Convolve each graph's nodes; ``permutation`` is the node at each place (default: as they come)."""
        rings = input_rings(x, self.conv.in_channels, batch, permutation, graph)
        layout = blocks(rings.sizes, x.device)
        parts = [self.along(part.transpose(1, 2)).transpose(1, 2) for part in layout.lay_out(rings.arrange(x))]
        return rings.restore(layout.take_back(parts))

    def along(self, x: Tensor) -> Tensor:
        """Convolve along the last dimension, ``(G, D, W)`` to ``(G, D, W)``."""
        y: Tensor = self.conv(x)
        return y[..., : x.shape[-1]]


class HyenaFilter(nn.Module):
    r"""Hyena's implicit filters, :math:`F(t) = e^{-|\delta| \tau} \odot \mathrm{FFN}(\tau, \cos f\omega, -\sin
    f\omega)` with :math:`\tau = t / (\ell - 1)`, :math:`\omega = 2\pi t / \ell` and sine activations that share one
    trained frequency vector.

    As published, :math:`\ell` is the length of the sequence; here it is that of each graph ("filter size as the entire
    graph", as the paper compares with it), so that graphs of different size have different filters. Given as a number,
    it is a fixed unit in nodes: a node at distance t is weighed alike in every graph, and positions go on past
    :math:`\ell`. Not as published, positions are computed, not stored (nor trained).

    Args:
        count: filters per channel.
        channels: D.
        features: 2 B + 1, odd; frequencies f are spaced evenly from 1e-4 to B - 1, as published.
        width: R.
        depth: hidden layers after the first.
        frequency: initial frequency of the sines; 14 as in the published language models.
        length: :math:`\ell`; None is each graph's number of nodes.
        interleaved: which filter of the FFN is whose: filter i of channel c is the one at c * count + i, as published,
            or at i * D + c, as networks of before had it. It decides how fast each decays, if there are several per
            channel.

    Shapes:
        n to (count, D, n).

    Example:
        >>> HyenaFilter(1, 4)(7).shape
        torch.Size([1, 4, 7])
    """

    def __init__(
        self,
        count: int,
        channels: int,
        *,
        features: int = 33,
        width: int = 64,
        depth: int = 2,
        frequency: float = 14.0,
        length: int | None = None,
        interleaved: bool = True,
    ) -> None:
        super().__init__()
        check_features_count(features)
        if width < 1 or depth < 0 or (length is not None and length < 2):
            raise ValueError(f"width must be at least 1, depth 0 and length 2; got {width}, {depth} and {length}")
        self.count, self.channels, self.bands, self.length = count, channels, features // 2, length
        self.initial_frequency, self.interleaved = frequency, interleaved
        self.layers = nn.ModuleList(nn.Linear(width if i else features, width) for i in range(depth + 1))
        self.frequency = nn.Parameter(torch.full((width,), frequency))
        self.mix = nn.Linear(width, count * channels, bias=False)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        reset(self.layers)
        reset(self.mix)
        nn.init.constant_(self.frequency, self.initial_frequency)

    def forward(self, n: int) -> Tensor:
        """Return the filters of a graph of n nodes at places 0 to n - 1."""
        place = torch.arange(n, device=self.mix.weight.device, dtype=torch.float64).unsqueeze(1)
        return self._at(place, self.length or n)

    def of(self, sizes: Tensor, width: int) -> Tensor:
        """Return the filters of graphs of several sizes ``(S,)`` at places 0 to W - 1, ``(count, D, S, W)``.

        What stands past a graph's end, where convolutions are causal, reaches no node of it.
        """
        place = torch.arange(width, device=sizes.device, dtype=torch.float64).repeat(len(sizes)).unsqueeze(1)
        filters = self._at(place, sizes.repeat_interleave(width).unsqueeze(1))
        return filters.reshape(self.count, self.channels, len(sizes), width)

    def _at(self, place: Tensor, length: Tensor | int) -> Tensor:
        """Return the filters at places ``(P, 1)`` of sequences of the given length, ``(count, D, P)``."""
        like = self.mix.weight
        h = position_features(place, length, self.bands).to(like.dtype)
        with torch.autocast(like.device.type, enabled=False):  # fast sines need the precision
            for layer in self.layers:
                h = torch.sin(self.frequency * layer(h))
            filters: Tensor = self.mix(h).t() * self._decay(place, length)
        if self.interleaved:
            return filters.view(self.channels, self.count, -1).transpose(0, 1)
        return filters.view(self.count, self.channels, -1)

    def _decay(self, place: Tensor, length: Tensor | int) -> Tensor:
        """Return the window, ``(count * D, P)``: filters fall to 1/100 at 0.3 (the last) to 1.5 lengths (the first)."""
        like = self.mix.weight
        target = math.log(1e-2)
        rate = torch.linspace(target / 1.5, target / 0.3, len(like), dtype=torch.float64, device=like.device)
        last = (length - 1).clamp(min=1).t() if isinstance(length, Tensor) else max(length - 1, 1)
        return torch.exp(rate.unsqueeze(1) * place.t() / last).to(like.dtype)


class Hyena(nn.Module):
    r"""Hyena as published, on each graph's nodes in order: K + 1 streams :math:`G_0, \dots, G_{K-1}, V` from a linear
    map and a short convolution, then for i = K - 1 to 1 :math:`V \leftarrow F_i * (G_i \odot V) + S_i \odot (G_i \odot
    V)`, and :math:`\mathrm{out} = W (G_0 \odot V)`. Convolutions are causal, so a node depends only on those before it.

    Args:
        channels: D.
        order: K >= 2; there are K - 1 long convolutions.
        in_channels: C, D by default.
        short: width of the short convolution.
        dropout: of what goes into a long convolution.
        filter_kwargs: options of `HyenaFilter`.

    Shapes:
        ``x`` (N, C), ``batch`` (N,), ``permutation`` (N,) to (N, D).

    Example:
        >>> Hyena(4)(torch.randn(5, 4), torch.tensor([0, 0, 0, 1, 1])).shape
        torch.Size([5, 4])
    """

    multiplies = True  # node features with one another: see `GPSLayer`

    def __init__(
        self,
        channels: int,
        order: int = 2,
        *,
        in_channels: int | None = None,
        short: int = 3,
        dropout: float = 0.0,
        filter_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if channels < 1 or order < 2:
            raise ValueError(f"channels must be at least 1 and Hyena's order at least 2, got {channels} and {order}")
        self.channels, self.order, self.dropout = channels, order, dropout
        self.in_channels = in_channels or channels
        self.in_proj = nn.Linear(self.in_channels, (order + 1) * channels)
        self.short = ShortConv((order + 1) * channels, short)
        self.filter = HyenaFilter(order - 1, channels, **(filter_kwargs or {}))
        self.skip = nn.Parameter(torch.randn(order - 1, channels))
        self.out_proj = nn.Linear(channels, channels)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        for module in (self.in_proj, self.short, self.filter, self.out_proj):
            module.reset_parameters()
        nn.init.normal_(self.skip)

    def forward(
        self, x: Tensor, batch: Tensor | None = None, permutation: Tensor | None = None, *, graph: Graph | None = None
    ) -> Tensor:
        """Mix each graph's nodes; ``permutation`` is the node at each place (default: as they come)."""
        rings = input_rings(x, self.in_channels, batch, permutation, graph)
        layout = blocks(rings.sizes, x.device)
        streams = layout.lay_out(rings.arrange(self.in_proj(x)))
        shared = None if self.filter.length is None else self.filter(max(rings.sizes))  # (K - 1, D, longest)
        parts = [
            self._block(part, *self._filters(block, shared)) for part, block in zip(streams, layout.each, strict=True)
        ]
        out: Tensor = self.out_proj(rings.restore(layout.take_back(parts)))
        return out

    def _filters(self, block: Block, shared: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return a block's filters, ``(K - 1, D, W)``, or its sizes', ``(K - 1, S, D, W)``, and whose, ``(G,)``."""
        if shared is not None:
            return shared[..., : block.width], None
        if block.mask is None:
            return self.filter(block.width), None
        sizes, which = block.mask.sum(1).unique(return_inverse=True)
        return self.filter.of(sizes, block.width).transpose(1, 2), which

    def _block(self, streams: Tensor, filters: Tensor, which: Tensor | None) -> Tensor:
        """Run the recurrence on ``(G, W, (K + 1) D)``; causal, so padding at a graph's end reaches no node."""
        first, *gates, v = self.short.along(streams.transpose(1, 2)).chunk(self.order + 1, 1)  # (G, D, W) each
        for gate, f, skip in zip(reversed(gates), filters, self.skip, strict=True):
            v = dropout(v * gate, self.dropout, self.training)
            v = causal_conv(v, f, which) + skip.unsqueeze(1) * v
        return (first * v).transpose(1, 2)

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"{self.channels}, order={self.order}"


def causal_conv(v: Tensor, f: Tensor, which: Tensor | None = None) -> Tensor:
    r"""Return :math:`y_t = \sum_{i \le t} f_{t-i} v_i`, ``(..., n)`` with ``(..., n)`` to ``(..., n)``.

    Args:
        v: values.
        f: filters, which broadcast.
        which: filter of each of v's first dimension, if they do not.

    Example:
        >>> causal_conv(torch.tensor([1., 2., 3.]), torch.tensor([0., 1., 0.])).round(decimals=4) + 0
        tensor([0., 1., 2.])
    """
    n = v.shape[-1]
    dtype = v.dtype
    length = fast_length(2 * n - 1)
    with torch.autocast(v.device.type, enabled=False):
        work = torch.promote_types(f.dtype, torch.float32)
        filters = torch.fft.rfft(f.to(work), n=length)
        spectrum = torch.fft.rfft(v.to(work), n=length) * (filters if which is None else filters[which])
        y: Tensor = torch.fft.irfft(spectrum, n=length)
        return y[..., :n].to(dtype)
