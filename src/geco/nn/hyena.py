r"""Convolutions along the node order, each graph by itself: Hyena, and the short ones that the paper tries in its place.

Shapes: N nodes, C input channels, D channels, K order, G graphs of a block, W nodes of its largest, B bands, R hidden units.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from geco.nn.functional import dropout, fast_length
from geco.nn.graph import check_features
from geco.nn.padded import Blocks, blocks
from geco.nn.permutation import arranged
from geco.nn.segments import Segments, segments

__all__ = ["Hyena", "HyenaFilter", "ShortConv", "causal_conv"]


class ShortConv(nn.Module):
    r"""Depthwise causal convolution over the node order, :math:`y_t = b + \sum_{k<w} W_k \odot x_{t-k}`, zeros before a graph's
    first node: Conv-w of the paper's ablation.

    The paper says that 1D convolutions "originally used in Hyena" stand in for the local block. Hyena's is depthwise and
    causal, so this one is; it takes the place of :math:`\hat A X`, and the block still passes :math:`[X, Y]` on (see
    `Cascade`).

    Args:
        channels: D.
        width: w.

    Shapes:
        ``x`` (N, D), ``batch`` (N,), ``order`` (N,) to (N, D).

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
        """Draw all weights anew."""
        self.conv.reset_parameters()

    def forward(self, x: Tensor, batch: Tensor | None = None, order: Tensor | None = None) -> Tensor:
        """Convolve each graph's nodes; ``order`` is the node at each place (default: as they come)."""
        check_features(x, self.conv.in_channels)
        rings, layout = _laid_out(x, batch, order)
        parts = [self.along(part.transpose(1, 2)).transpose(1, 2) for part in layout.lay_out(rings.arrange(x))]
        return rings.restore(layout.take_back(parts))

    def along(self, x: Tensor) -> Tensor:
        """Convolve along the last dimension, ``(G, D, W)`` to ``(G, D, W)``."""
        y: Tensor = self.conv(x)
        return y[..., : x.shape[-1]]


class HyenaFilter(nn.Module):
    r"""Hyena's implicit filters, :math:`F(t) = e^{-|\delta| \tau} \odot \mathrm{FFN}(\tau, \cos f\omega, -\sin f\omega)` with
    :math:`\tau = t / (\ell - 1)`, :math:`\omega = 2\pi t / \ell` and sine activations that share one trained frequency vector.

    As published, positions count nodes in a fixed unit :math:`\ell`, so a node at distance t is weighed alike in every
    graph. Not as published, :math:`\ell` is no limit: positions are computed, not stored (nor trained), and go on past
    :math:`\ell`. For the paper's "filter size as the entire graph" set ``length`` to N.

    Args:
        count: filters per channel.
        channels: D.
        features: 2 B + 1, odd; frequencies f are spaced evenly from 1e-4 to B - 1, as published.
        width: R.
        depth: hidden layers after the first.
        frequency: initial frequency of the sines; 14 as in the published language models.
        length: :math:`\ell`.

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
        length: int = 1024,
    ) -> None:
        super().__init__()
        if features < 3 or features % 2 == 0:
            raise ValueError(f"features must be odd and at least 3, a position and pairs of waves; got {features}")
        if width < 1 or depth < 0 or length < 2:
            raise ValueError(f"width must be at least 1, depth 0 and length 2; got {width}, {depth} and {length}")
        self.count, self.channels, self.bands, self.length = count, channels, features // 2, length
        self.initial_frequency = frequency
        self.layers = nn.ModuleList(nn.Linear(width if i else features, width) for i in range(depth + 1))
        self.frequency = nn.Parameter(torch.full((width,), frequency))
        self.mix = nn.Linear(width, count * channels, bias=False)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for layer in [*self.layers, self.mix]:
            assert isinstance(layer, nn.Linear)
            layer.reset_parameters()
        nn.init.constant_(self.frequency, self.initial_frequency)

    def forward(self, n: int) -> Tensor:
        """Return the filters at places 0 to n - 1."""
        like = self.mix.weight
        place = torch.arange(n, device=like.device, dtype=torch.float64).unsqueeze(1)
        wave = torch.linspace(1e-4, self.bands - 1, self.bands, dtype=torch.float64, device=like.device)
        angle = 2 * math.pi * place / self.length * wave
        h = torch.cat([place / (self.length - 1), angle.cos(), -angle.sin()], 1).to(like.dtype)
        with torch.autocast(like.device.type, enabled=False):  # fast sines need the precision
            for layer in self.layers:
                h = torch.sin(self.frequency * layer(h))
            filters: Tensor = self.mix(h).t() * self._decay(place)
        return filters.view(self.count, self.channels, n)

    def _decay(self, place: Tensor) -> Tensor:
        """Return the window, ``(count * D, n)``: a channel falls to 1/100 at 0.3 (the last) to 1.5 (the first) lengths."""
        like, target = self.mix.weight, math.log(1e-2)
        rate = torch.linspace(target / 1.5, target / 0.3, len(like), dtype=torch.float64, device=like.device)
        return torch.exp(rate.unsqueeze(1) * place.t() / (self.length - 1)).to(like.dtype)


class Hyena(nn.Module):
    r"""Hyena as published, on each graph's nodes in order: K + 1 streams :math:`G_0, \dots, G_{K-1}, V` from a linear map and a
    short convolution, then for i = K - 1 to 1 :math:`V \leftarrow F_i * (G_i \odot V) + S_i \odot (G_i \odot V)`, and
    :math:`\mathrm{out} = W (G_0 \odot V)`. Convolutions are causal, so a node hears only those before it.

    Args:
        channels: D.
        order: K >= 2; there are K - 1 long convolutions.
        in_channels: C, D by default.
        short: width of the short convolution.
        dropout: of what goes into a long convolution.
        filter_kwargs: options of `HyenaFilter`.

    Shapes:
        ``x`` (N, C), ``batch`` (N,), ``order`` (N,) to (N, D).

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
        filter_kwargs: dict[str, int | float] | None = None,
    ) -> None:
        super().__init__()
        if channels < 1 or order < 2:
            raise ValueError(f"channels must be at least 1 and Hyena's order at least 2, got {channels} and {order}")
        self.channels, self.order, self.dropout = channels, order, dropout
        self.in_channels = in_channels or channels
        self.in_proj = nn.Linear(self.in_channels, (order + 1) * channels)
        self.short = ShortConv((order + 1) * channels, short)
        self.filter = HyenaFilter(order - 1, channels, **(filter_kwargs or {}))  # type: ignore[arg-type]
        self.skip = nn.Parameter(torch.randn(order - 1, channels))
        self.out_proj = nn.Linear(channels, channels)

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in (self.in_proj, self.short, self.filter, self.out_proj):
            module.reset_parameters()
        nn.init.normal_(self.skip)

    def forward(self, x: Tensor, batch: Tensor | None = None, order: Tensor | None = None) -> Tensor:
        """Mix each graph's nodes; ``order`` is the node at each place (default: as they come)."""
        check_features(x, self.in_channels)
        rings, layout = _laid_out(x, batch, order)
        filters = self.filter(max(rings.sizes))  # (K - 1, D, longest)
        parts = [self._block(part, filters) for part in layout.lay_out(rings.arrange(self.in_proj(x)))]
        out: Tensor = self.out_proj(rings.restore(layout.take_back(parts)))
        return out

    def _block(self, streams: Tensor, filters: Tensor) -> Tensor:
        """Run the recurrence on ``(G, W, (K + 1) D)``; causal, so padding behind a graph's end reaches no node of it."""
        first, *gates, v = self.short.along(streams.transpose(1, 2)).chunk(self.order + 1, 1)  # (G, D, W) each
        for gate, f, skip in zip(reversed(gates), filters, self.skip, strict=True):
            v = dropout(v * gate, self.dropout, self.training)
            v = causal_conv(v, f[:, : v.shape[-1]]) + skip.unsqueeze(1) * v
        return (first * v).transpose(1, 2)

    def extra_repr(self) -> str:
        """Say what the submodules do not show."""
        return f"{self.channels}, order={self.order}"


def causal_conv(v: Tensor, f: Tensor) -> Tensor:
    r"""Return :math:`y_t = \sum_{i \le t} f_{t-i} v_i`, ``(..., n)`` with ``(..., n)`` to ``(..., n)``.

    Example:
        >>> causal_conv(torch.tensor([1., 2., 3.]), torch.tensor([0., 1., 0.])).round(decimals=4) + 0
        tensor([0., 1., 2.])
    """
    n, dtype = v.shape[-1], v.dtype
    length = fast_length(2 * n - 1)
    with torch.autocast(v.device.type, enabled=False):
        work = torch.promote_types(f.dtype, torch.float32)
        spectrum = torch.fft.rfft(v.to(work), n=length) * torch.fft.rfft(f.to(work), n=length)
        y: Tensor = torch.fft.irfft(spectrum, n=length)
        return y[..., :n].to(dtype)


def _laid_out(x: Tensor, batch: Tensor | None, order: Tensor | None) -> tuple[Segments, Blocks]:
    rings = segments(len(x), batch, x.device)
    rings = rings if order is None else arranged(rings, batch, order)
    return rings, blocks(rings.sizes, x.device)
