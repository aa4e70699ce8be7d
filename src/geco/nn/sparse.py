r"""PyG's `GCNConv` and `SAGEConv`, weights and results as they are, with the sum over edges as one sparse product.

PyG gathers a message for every edge and scatters them; on a CPU that is many times slower than the product with the
adjacency in CSR that GECO's own local block uses, and baselines should not lose time to it.

Shapes: N nodes, M edges, C input channels, D channels.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, SAGEConv

from geco.nn.adjacency import adjacency

__all__ = ["SparseGCNConv", "SparseSAGEConv"]


class SparseGCNConv(GCNConv):  # type: ignore[misc]
    r"""Graph convolution :math:`\tilde D^{-1/2} \tilde A \tilde D^{-1/2} X W + b`, where :math:`\tilde A` is A with exactly one
    self loop at every node.

    Args:
        in_channels: C.
        out_channels: D.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> x, conv = torch.randn(3, 5), SparseGCNConv(5, 8)
        >>> bool(torch.allclose(conv(x, edges), GCNConv.forward(conv, x, edges), atol=1e-6))
        True
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return a row per node."""
        h = self.lin(x)  # (N, D)
        loops = edge_index[0][edge_index[0] == edge_index[1]]
        missing = 1 - torch.bincount(loops, minlength=len(x)).to(h.dtype).unsqueeze(1)  # (N, 1)
        scale = (torch.bincount(edge_index[1], minlength=len(x)).to(h.dtype).unsqueeze(1) + missing).rsqrt()
        h = scale * h
        out: Tensor = scale * (adjacency(edge_index, len(x), norm="none") @ h + missing * h) + self.bias
        return out


class SparseSAGEConv(SAGEConv):  # type: ignore[misc]
    r"""GraphSAGE with the mean over neighbours, :math:`D^{-1} A X W_1 + b + X W_2`.

    Args:
        in_channels: C.
        out_channels: D.

    Example:
        >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
        >>> x, conv = torch.randn(3, 5), SparseSAGEConv(5, 8)
        >>> bool(torch.allclose(conv(x, edges), SAGEConv.forward(conv, x, edges), atol=1e-6))
        True
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return a row per node."""
        count = torch.bincount(edge_index[1], minlength=len(x)).clamp(min=1).to(x.dtype).unsqueeze(1)  # (N, 1)
        out: Tensor = self.lin_l(adjacency(edge_index, len(x), norm="none") @ x / count) + self.lin_r(x)
        return out
