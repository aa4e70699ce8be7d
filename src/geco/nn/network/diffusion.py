r"""Features spread along the edges before a network sees them: what a few labels can be learned from.

Shapes: N nodes, M edges, C input channels, D channels, S steps.
"""

from __future__ import annotations

from itertools import islice

from torch import Tensor, nn

from geco.nn.baselines.sparse_convs import gcn_steps

__all__ = ["Diffusion"]


class Diffusion(nn.Module):
    r"""A linear map of the features, averaged over neighbourhoods of every size up to S, brought to unit scale:
    :math:`H = \mathrm{BN}\big(\frac{1}{S + 1} \sum_{s=0}^{S} \tilde A^s X W\big)`, with :math:`\tilde A` as in
    `gcn_steps`.

    Most nodes have no label, yet here all of them contribute by their neighbours' features. Where x was thinned by
    dropout before, each pass sees another mixture of the neighbourhood, as in GRAND (Feng et al. 2020).

    Args:
        in_channels: C.
        channels: D.
        steps: S.

    Shapes:
        ``x`` (N, C), dense or sparse in CSR, ``edge_index`` (2, M), ``edge_weight`` (M,) to (N, D).

    Example:
        >>> import torch
        >>> Diffusion(5, 8, steps=2)(torch.randn(3, 5), torch.tensor([[0, 1], [1, 0]])).shape
        torch.Size([3, 8])
    """

    def __init__(self, in_channels: int, channels: int, steps: int) -> None:
        super().__init__()
        if steps < 1:
            raise ValueError(f"steps must be at least 1, got {steps}")
        self.linear = nn.Linear(in_channels, channels, bias=False)  # BN has one
        self.norm, self.steps = nn.BatchNorm1d(channels), steps

    def reset_parameters(self) -> None:
        """Reset all weights and statistics."""
        self.linear.reset_parameters()
        self.norm.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return a row per node."""
        total = h = self.linear(x)  # (N, D)
        for step in islice(gcn_steps(h, edge_index, edge_weight), self.steps):
            total = total + step
        out: Tensor = self.norm(total / (self.steps + 1))
        return out

    def extra_repr(self) -> str:
        """Return how far it spreads."""
        return f"steps={self.steps}"
