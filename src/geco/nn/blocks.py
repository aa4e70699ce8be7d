r"""Two blocks of a GECO layer: local propagation (the paper's local context block, LCB) and feed-forward.

Shapes: N nodes, M edges, C input channels, D channels (in formulas D is also the degrees).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.utils import softmax

from geco.nn.functional import dropout, full_precision
from geco.nn.graph.adjacency import Adjacency, Normalisation
from geco.nn.graph.edge_sum import EdgeSum
from geco.nn.graph.prepare import Graph, prepare
from geco.nn.resolve import activation, check_name

__all__ = ["AdjacencyName", "FeedForward", "LocalPropagation"]

AdjacencyName = Literal["sym", "row", "none", "attention"]


class LocalPropagation(nn.Module):
    r"""Local propagation block, :math:`[X, \hat A X]`.

    :math:`\hat A` is :math:`D^{-1/2} A D^{-1/2}` (``sym``), :math:`D^{-1} A` (``row``) or A (``none``): no parameters,
    no self loops. The paper also names a local attention as in GAT; ``attention`` is :math:`\hat A_{ij} =
    w_{ij}\,\mathrm{softmax}_j(\mathrm{LeakyReLU}(a \cdot x_i + b \cdot x_j))` over the edges into i, whose only
    parameters are a and b.

    Args:
        adjacency: how it is normalised: ``sym``, ``row``, ``none`` or ``attention``.
        channels: C, needed for ``attention`` only.

    Shapes:
        ``x`` (N, C), ``edge_index`` (2, M), ``edge_weight`` (M,) to (N, 2 C).

    Example:
        >>> LocalPropagation()(torch.ones(3, 2), torch.tensor([[0, 1], [1, 0]]))
        tensor([[1., 1., 1., 1.],
                [1., 1., 1., 1.],
                [1., 1., 0., 0.]])
    """

    def __init__(self, adjacency: AdjacencyName = "sym", channels: int | None = None) -> None:
        super().__init__()
        check_name("adjacency", adjacency, get_args(AdjacencyName))
        if adjacency == "attention" and channels is None:
            raise ValueError("adjacency='attention' has weights: give channels as well")
        self.adjacency = adjacency
        self.weight = nn.Parameter(torch.empty(2, channels or 0)) if adjacency == "attention" else None
        self.masked = EdgeSum()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the attention vectors, if there are any."""
        if self.weight is not None:
            nn.init.xavier_uniform_(self.weight)

    @property
    def normalisation(self) -> Normalisation:
        """How the adjacency is built; attention starts from the plain one."""
        return "none" if self.adjacency == "attention" else self.adjacency

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Return ``[X, A X]``."""
        g = prepare(x, edge_index, None, edge_weight, normalisation=self.normalisation)
        return torch.cat([x, self.propagate(x, g)], 1)

    def propagate(self, x: Tensor, graph: Graph) -> Tensor:
        """Return ``A X``, ``(N, C)``; half precision is computed in float32."""
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        adj = graph.adjacency(self.normalisation, wide.dtype)
        with full_precision(x.device):
            return self._sum(wide, adj).to(x.dtype)

    def _sum(self, x: Tensor, adj: Adjacency) -> Tensor:
        if self.weight is None and not self.masked.explain:
            return adj @ x
        seen = adj.reached(x)
        share = adj.value.to(x.dtype) if self.weight is None else self._attend(seen, adj, self.weight.to(x.dtype))
        messages = seen[adj.source] * share.unsqueeze(1)
        if self.masked.explain:
            return self.masked(adj.source, adj.target, messages, x.shape[0])  # type: ignore[no-any-return]
        return torch.zeros_like(x).index_add(0, adj.target, messages)

    def _attend(self, x: Tensor, adj: Adjacency, weight: Tensor) -> Tensor:
        to, of = (x @ weight.t()).unbind(1)
        score = nn.functional.leaky_relu(to[adj.target] + of[adj.source], 0.2)
        share: Tensor = softmax(score, adj.target, num_nodes=x.shape[0]) * adj.value.to(x.dtype)
        return share

    def extra_repr(self) -> str:
        """Return how the adjacency is normalised."""
        return f"adjacency={self.adjacency}"


class FeedForward(nn.Module):
    r"""Feed-forward block, :math:`\sigma(X W_1) W_2`, with dropout after each map.

    Args:
        channels: D.
        hidden_channels: width between the maps; the paper's is D.
        dropout: probability.
        act: activation: a name PyG's resolver knows, a callable, a module, or None.
        act_kwargs: its options, if it is a name or a class.

    Shapes:
        (N, D) to (N, D).

    Example:
        >>> FeedForward(4)(torch.randn(3, 4)).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        channels: int,
        hidden_channels: int | None = None,
        dropout: float = 0.0,
        act: str | Callable[..., Any] | None = "relu",
        act_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.lin1 = nn.Linear(channels, hidden_channels or channels)
        self.act = activation(act, **(act_kwargs or {}))
        self.lin2 = nn.Linear(hidden_channels or channels, channels)
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.lin1.reset_parameters()
        self.lin2.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """Apply to each row."""
        h = dropout(self.act(self.lin1(x)), self.dropout, self.training)
        return dropout(self.lin2(h), self.dropout, self.training)
