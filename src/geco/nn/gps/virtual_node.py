r"""A virtual node: one state for each graph, which all nodes write and read.

Shapes: N nodes, D channels, B graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

from torch import Tensor, nn

from geco.nn.blocks import FeedForward
from geco.nn.graph.padding import blocks
from geco.nn.graph.prepare import Graph, input_rings
from geco.nn.resolve import check_name

__all__ = ["VirtualNode"]

Collect = Literal["mean", "sum"]


class VirtualNode(nn.Module):
    r"""One virtual node for each graph, :math:`y_i = W_2\, \sigma\big(W_1\, \tfrac{1}{n} \sum_j x_j + b_1\big) + b_2`
    with the sum over the n nodes of i's graph: the same for all of them, and added to them by the skip around it.

    Networks with a virtual node (OGB's GIN-virtual and GCN-virtual) hand its state s on: :math:`s_{l + 1} =
    \mathrm{MLP}(s_l + \sum_j x_j)`, which layer l + 1 adds to its nodes; s begins as a learned vector, at zero, and the
    MLP has D, 2 D and D channels with BatchNorm and ReLU after each map. Ours is a layer by itself, as in
    "Distinguished in uniform" (ICLR 2024), which compared a virtual node with attention on LRGB: what is read is added
    within the layer, no state goes on to the next, and the learned start is :math:`b_1`. There is no BatchNorm,
    which cannot train on one graph; the norm of the layer comes after the skip. The mean is ours where OGB has the sum:
    sums grow with the graph, and that BatchNorm undid it. ``collect="sum"`` is theirs.

    Args:
        channels: D.
        collect: how nodes are put together: ``mean`` or ``sum``.
        act: :math:`\sigma`, a name PyG's resolver knows, a callable, a module or None.

    Shapes:
        ``x`` (N, D), ``batch`` (N,) to (N, D).

    Example:
        >>> import torch
        >>> y = VirtualNode(8)(torch.randn(5, 8), torch.tensor([0, 0, 0, 1, 1]))
        >>> bool((y[0] == y[2]).all()), bool((y[0] == y[3]).all())
        (True, False)
    """

    def __init__(
        self, channels: int, *, collect: Collect = "mean", act: str | Callable[..., Any] | None = "relu"
    ) -> None:
        super().__init__()
        if channels < 1:
            raise ValueError(f"channels must be at least 1, got {channels}")
        check_name("collect", collect, get_args(Collect))
        self.channels, self.collect = channels, collect
        self.state = FeedForward(channels, 2 * channels, act=act)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.state.reset_parameters()

    def forward(self, x: Tensor, batch: Tensor | None = None, *, graph: Graph | None = None) -> Tensor:
        """Return each node's virtual node; a ``graph`` from `prepare` stands for ``batch``."""
        rings = input_rings(x, self.channels, batch, graph=graph)
        layout = blocks(rings.sizes, x.device)
        parts = zip(layout.lay_out(rings.arrange(x)), layout.each, strict=True)
        states = [self.state(self._collected(part, block.mask)).expand_as(part) for part, block in parts]
        return rings.restore(layout.take_back(states))

    def _collected(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the mean or the sum of each graph of a block, ``(G, W, D)`` to ``(G, 1, D)``."""
        total = x.sum(1, keepdim=True)  # zeros at padding
        if self.collect == "sum":
            return total
        return total / (x.shape[1] if mask is None else mask.sum(1).view(-1, 1, 1))

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"{self.channels}, collect={self.collect}"
