r"""Heads: from vectors of nodes to what is predicted of nodes, of graphs, or of graphs as a sequence of tokens.

In evaluation mode what is predicted for a graph does not depend on its batch mates.

Shapes: N nodes, B graphs, D channels, T targets, P places of a sequence, V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn import MLP
from torch_geometric.utils import scatter, softmax

from geco.nn.resolve import check_name

__all__ = ["GraphHead", "NodeHead", "Pool", "Pooling", "TokenHead", "Widths", "check_vectors"]

Pooling = Literal["mean", "sum", "max", "attention"]
Widths = Literal["flat", "halving"]


class NodeHead(nn.Module):
    r"""An MLP of each node's vector, :math:`y_i = W_n \sigma(\cdots \sigma(W_1 h_i))`, with dropout before each map.

    With one layer it is a linear map. ``halving`` widths, D to D/2 to D/4 to T with three layers, are the head of SAN
    and of GraphGPS on molecules; ``flat`` ones, D to D to T with two, the head of LRGB's re-assessment, and with
    BatchNorm GraphGym's, which GraphGPS has on superpixels and proteins.

    Args:
        channels: D.
        out_channels: T.
        layers: number of maps.
        widths: between the maps: D (``flat``), or half of what was before (``halving``).
        dropout: probability.
        act: activation, a name PyG's resolver knows.
        norm: whether BatchNorm follows each map but the last; a batch of one row is taken as in evaluation mode.

    Shapes:
        (N, D) to (N, T).

    Example:
        >>> NodeHead(96, 21, layers=3)(torch.randn(5, 96)).shape
        torch.Size([5, 21])
    """

    def __init__(
        self,
        channels: int,
        out_channels: int,
        *,
        layers: int = 1,
        widths: Widths = "flat",
        dropout: float = 0.0,
        act: str = "relu",
        norm: bool = False,
    ) -> None:
        super().__init__()
        if min(channels, out_channels, layers) < 1:
            raise ValueError(
                f"channels, out_channels and layers must be at least 1, got {channels}, {out_channels} and {layers}"
            )
        check_name("widths", widths, get_args(Widths))
        if widths == "halving" and channels >> (layers - 1) < 1:
            raise ValueError(f"{channels} channels cannot be halved {layers - 1} times; use fewer layers")
        self.dropout = dropout
        inner = [channels >> i if widths == "halving" else channels for i in range(layers)]
        single = {"allow_single_element": True} if norm else None
        self.mlp = MLP(
            [*inner, out_channels],
            dropout=float(dropout),
            act=act,
            norm="batch_norm" if norm else None,
            norm_kwargs=single,
        )

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.mlp.reset_parameters()

    def forward(self, h: Tensor) -> Tensor:
        """Return a row per node."""
        check_vectors(h, self.mlp.in_channels)
        out: Tensor = self.mlp(nn.functional.dropout(h, self.dropout, self.training))
        return out


class Pool(nn.Module):
    r"""From the nodes of each graph to one vector: their mean, sum, maximum, or :math:`\sum_i \alpha_i h_i` with
    attention :math:`\alpha = \mathrm{softmax}(a \cdot h + c)` over the graph's nodes. A graph without nodes gets zeros.

    Args:
        kind: ``mean``, ``sum``, ``max`` or ``attention``.
        channels: D.

    Shapes:
        ``h`` (N, D), ``batch`` (N,) to (B, D).

    Example:
        >>> Pool("mean", 1)(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([0, 0, 2]))
        tensor([[2.],
                [0.],
                [5.]])
    """

    def __init__(self, kind: Pooling, channels: int) -> None:
        super().__init__()
        check_name("pool", kind, get_args(Pooling))
        self.kind, self.channels = kind, channels
        self.gate = nn.Linear(channels, 1) if kind == "attention" else None

    def reset_parameters(self) -> None:
        """Reset the attention's weights, if it has any."""
        if self.gate is not None:
            self.gate.reset_parameters()

    def forward(self, h: Tensor, batch: Tensor | None = None, num_graphs: int | None = None) -> Tensor:
        """Return a row per graph; ``num_graphs`` is B if the last ones may be empty."""
        check_vectors(h, self.channels)
        batch, count = _graphs(h, batch, num_graphs)
        if self.gate is None:
            return scatter(h, batch, 0, count, self.kind)  # type: ignore[no-any-return]
        share = softmax(self.gate(h), batch, num_nodes=count)
        return scatter(share * h, batch, 0, count, "sum")  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """Return which one it is."""
        return self.kind


class GraphHead(NodeHead):
    r"""A pool and an MLP, :math:`y_g = \mathrm{MLP}(\mathrm{pool}_{i \in g} h_i)`.

    Args:
        channels: D.
        out_channels: T.
        pool: see `Pool`.
        layers: see `NodeHead`, as the further ones.
        widths: between the maps.
        dropout: probability.
        act: activation.
        norm: whether there is BatchNorm.

    Shapes:
        ``h`` (N, D), ``batch`` (N,) to (B, T).

    Example:
        >>> head = GraphHead(64, 1, layers=3, widths="halving")
        >>> head(torch.randn(5, 64), torch.tensor([0, 0, 1, 1, 1])).shape, head.mlp
        (torch.Size([2, 1]), MLP(64, 32, 16, 1))
    """

    def __init__(
        self,
        channels: int,
        out_channels: int,
        *,
        pool: Pooling = "mean",
        layers: int = 1,
        widths: Widths = "flat",
        dropout: float = 0.0,
        act: str = "relu",
        norm: bool = False,
    ) -> None:
        super().__init__(channels, out_channels, layers=layers, widths=widths, dropout=dropout, act=act, norm=norm)
        self.pool = Pool(pool, channels)

    def reset_parameters(self) -> None:
        """Reset all weights."""
        super().reset_parameters()
        self.pool.reset_parameters()

    def forward(self, h: Tensor, batch: Tensor | None = None, num_graphs: int | None = None) -> Tensor:
        """Return a row per graph; ``num_graphs`` is B if the last ones may be empty."""
        return super().forward(self.pool(h, batch, num_graphs))


class TokenHead(GraphHead):
    r"""Scores of every token at every place, :math:`y_{gp} = W_p\,\mathrm{pool}_{i \in g} h_i + b_p`, the maps of all
    places in one matrix. The places are independent of one another, as in OGB's example for ogbg-code2.

    Args:
        channels: D.
        places: P.
        vocabulary: V, with the tokens for unknown words and for the end, which come last.
        pool: see `Pool`.
        dropout: probability.

    Shapes:
        ``h`` (N, D), ``batch`` (N,) to (B, P, V).

    Example:
        >>> TokenHead(8, 5, 5002)(torch.randn(4, 8), torch.tensor([0, 0, 1, 1])).shape
        torch.Size([2, 5, 5002])
    """

    def __init__(
        self, channels: int, places: int, vocabulary: int, *, pool: Pooling = "mean", dropout: float = 0.0
    ) -> None:
        if places < 1 or vocabulary < 3:
            raise ValueError(
                f"a sequence needs a place and a word besides unknown and end, got {places} and {vocabulary}"
            )
        super().__init__(channels, places * vocabulary, pool=pool, dropout=dropout)
        self.places, self.vocabulary = places, vocabulary

    def forward(self, h: Tensor, batch: Tensor | None = None, num_graphs: int | None = None) -> Tensor:
        """Return the scores for each graph."""
        out: Tensor = super().forward(h, batch, num_graphs).unflatten(1, (self.places, self.vocabulary))
        return out

    def words(self, scores: Tensor, vocabulary: Sequence[str]) -> list[list[str]]:
        """Return the best word of each place up to the end, for each graph; unknown words are left out.

        Args:
            scores: ``(B, P, V)``.
            vocabulary: the V words, the last but one for unknown, the last for the end.
        """
        if len(vocabulary) != self.vocabulary:
            raise ValueError(f"the vocabulary has {len(vocabulary)} words, the head was made for {self.vocabulary}")
        unknown, end = self.vocabulary - 2, self.vocabulary - 1
        rows = [row[: row.index(end)] if end in row else row for row in scores.argmax(2).tolist()]
        return [[vocabulary[token] for token in row if token != unknown] for row in rows]


def check_vectors(h: Tensor, channels: int) -> None:
    """Refuse what is not a vector of the right width for each node."""
    if h.dim() != 2 or h.shape[1] != channels:
        raise ValueError(f"the head was made for vectors (N, {channels}), got {tuple(h.shape)}")


def _graphs(h: Tensor, batch: Tensor | None, num_graphs: int | None) -> tuple[Tensor, int]:
    """Return the graph of each node and the number of graphs, checked."""
    if batch is None:
        if num_graphs not in (None, 1):
            raise ValueError(f"{num_graphs} graphs need batch, the graph of each node")
        return torch.zeros(len(h), dtype=torch.int64, device=h.device), 1
    if batch.shape != h.shape[:1] or batch.is_floating_point() or batch.dtype == torch.bool:
        raise ValueError(f"batch must be the graph of each of {len(h)} nodes, got {batch.dtype} {tuple(batch.shape)}")
    low, high = (int(batch.min()), int(batch.max())) if len(batch) else (0, -1)
    if low < 0 or (num_graphs is not None and high >= num_graphs):
        raise ValueError(f"batch names graphs {low} to {high}, there are {num_graphs or high + 1}, counted from 0")
    return batch.long(), high + 1 if num_graphs is None else num_graphs
