r"""Positions and structure of a node, as `geco.data.encodings` computes them, made into channels of its vector.

Shapes: N nodes, B graphs, k eigenvectors, C columns, E channels of the encoding.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn import MLP, BatchNorm

from geco.nn.graph.permutation import splitmix
from geco.nn.resolve import check_name

__all__ = ["Kind", "LaplacianDeepSet", "LinearEncoding", "flip_signs", "make_position"]

Kind = Literal["deepset", "linear"]
ROWS = 2048  # nodes whose eigenpairs go through the DeepSet at a time, so that they stay in the cache


class LaplacianDeepSet(nn.Module):
    r"""Laplacian eigenvectors through a DeepSet, :math:`p_i = \rho(\sum_j \phi(s_{gj} v_{ij}, \lambda_j))`.

    As GraphGPS has it: an MLP :math:`\phi` of each eigenpair, their sum, and an MLP :math:`\rho` if ``post_layers``
    says so, with ReLU after each of their maps. An eigenvector's sign means nothing, so in training each of a graph's
    gets a random sign :math:`s_{gj}`, a pure function of (seed, epoch, graph, column): a graph has the same signs in
    whatever batch it comes, and a resumed run or several processes have the same ones, too. In evaluation mode signs
    stay as they are.

    A pair that is missing because the graph has fewer nodes than k counts nowhere. It is NaN, or zero in both: a real
    pair of eigenvalue 0 is not zero on its own component. Without eigenvalues a missing vector cannot be told from
    zeros and is taken as such.

    Args:
        columns: k, or 2k with values.
        channels: E.
        values: whether the k columns of vectors are followed by k columns of eigenvalues.
        layers: maps of phi, 2E wide between them.
        post_layers: maps of rho.
        seed: of the signs.

    Shapes:
        ``pe`` (N, columns), ``batch`` (N,), ``graph_id`` (B,) to (N, E).

    Example:
        >>> LaplacianDeepSet(20, 16)(torch.randn(5, 20)).shape
        torch.Size([5, 16])
    """

    def __init__(
        self, columns: int, channels: int, *, values: bool = True, layers: int = 2, post_layers: int = 0, seed: int = 0
    ) -> None:
        super().__init__()
        if min(columns, channels, layers) < 1 or post_layers < 0:
            raise ValueError(f"columns, channels and layers must be at least 1, got {columns}, {channels} and {layers}")
        if values and columns % 2:
            raise ValueError(f"eigenvectors and as many eigenvalues are an even number of columns, got {columns}")
        self.columns, self.channels, self.values, self.seed, self.epoch = columns, channels, values, seed, 0
        self.phi = _mlp(2 if values else 1, channels, layers)
        self.rho = _mlp(channels, channels, post_layers) if post_layers else nn.Identity()

    def reset_parameters(self) -> None:
        """Reset all weights."""
        for module in (self.phi, self.rho):
            if isinstance(module, MLP):
                module.reset_parameters()

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose signs training uses."""
        self.epoch = epoch

    def forward(self, pe: Tensor, batch: Tensor | None = None, graph_id: Tensor | None = None) -> Tensor:
        """Return the encoding of each node."""
        pe = _checked(pe, self.columns, "eigenvectors").to(self.phi.lins[0].weight.dtype)
        vectors, *values = pe.chunk(2, 1) if self.values else (pe,)
        if self.training:
            vectors = flip_signs(vectors, self.seed, self.epoch, graph_id, batch)
        pairs = torch.stack([vectors, *values], 2)  # (N, k, 2)
        sums = torch.cat([self._sum(rows) for rows in pairs.split(ROWS)])
        out: Tensor = self.rho(sums)
        return out

    def _sum(self, pairs: Tensor) -> Tensor:
        """Return the sum of phi over the pairs that are not missing, ``(n, k, 2)`` to ``(n, E)``."""
        missing = pairs.isnan().any(2)
        if self.values:
            missing |= (pairs == 0).all(2)
        each: Tensor = self.phi(pairs.nan_to_num(0.0))
        return each.masked_fill(missing[:, :, None], 0.0).sum(1)

    def extra_repr(self) -> str:
        """Return what the submodules do not show."""
        return f"columns={self.columns}, values={self.values}"


class LinearEncoding(nn.Module):
    r"""An encoding through a linear map, :math:`p_i = W\,\mathrm{BN}(u_i) + b`.

    With the norm it is what GraphGPS does with return probabilities of random walks (RWSE), whose columns differ in
    scale; without, for degrees or low-rank relative encodings. The norm takes a batch of one node as in evaluation
    mode.

    Args:
        columns: C.
        channels: E.
        norm: whether BatchNorm comes first.

    Shapes:
        ``pe`` (N, C) to (N, E).

    Example:
        >>> LinearEncoding(16, 20)(torch.rand(5, 16)).shape
        torch.Size([5, 20])
    """

    def __init__(self, columns: int, channels: int, *, norm: bool = True) -> None:
        super().__init__()
        if min(columns, channels) < 1:
            raise ValueError(f"columns and channels must be at least 1, got {columns} and {channels}")
        self.columns, self.channels = columns, channels
        self.norm = BatchNorm(columns, allow_single_element=True) if norm else nn.Identity()
        self.linear = nn.Linear(columns, channels)

    def reset_parameters(self) -> None:
        """Reset all weights and statistics."""
        if isinstance(self.norm, BatchNorm):
            self.norm.reset_parameters()
        self.linear.reset_parameters()

    def forward(self, pe: Tensor, batch: Tensor | None = None, graph_id: Tensor | None = None) -> Tensor:
        """Return the encoding of each node; the graphs do not matter."""
        pe = _checked(pe, self.columns, "an encoding").to(self.linear.weight.dtype)
        out: Tensor = self.linear(self.norm(pe))
        return out


def make_position(
    kind: Literal["deepset", "linear"], columns: int, channels: int, **options: Any
) -> LaplacianDeepSet | LinearEncoding:
    """Return the encoder of an encoding by name.

    Args:
        kind: ``deepset`` for Laplacian eigenvectors, ``linear`` for any other.
        columns: of the encoding.
        channels: E.
        options: of `LaplacianDeepSet` or `LinearEncoding`.

    Example:
        >>> make_position("linear", 16, 20, norm=False).linear
        Linear(in_features=16, out_features=20, bias=True)
    """
    check_name("kind of encoder", kind, get_args(Kind))
    return (LaplacianDeepSet if kind == "deepset" else LinearEncoding)(columns, channels, **options)


def flip_signs(
    vectors: Tensor, seed: int, epoch: int = 0, graph_id: Tensor | None = None, batch: Tensor | None = None
) -> Tensor:
    """Give each eigenvector of each graph one random sign, a pure function of seed, epoch, graph and column.

    Args:
        vectors: ``(N, k)``.
        seed: of the run.
        epoch: of the run.
        graph_id: number of each graph in its data set, ``(B,)``; without it all graphs share their signs.
        batch: graph of each node in the batch, ``(N,)``; None for one graph.

    Example:
        >>> vectors = torch.ones(3, 2)
        >>> torch.equal(flip_signs(vectors, seed=0, epoch=1), flip_signs(vectors, seed=0, epoch=1))
        True
    """
    key = torch.zeros(1, dtype=torch.int64, device=vectors.device)
    for word in (seed, epoch, 0 if graph_id is None else graph_id.to(vectors.device).long().view(-1)):
        key = splitmix(key ^ word)
    bits = splitmix(key[:, None] ^ splitmix(torch.arange(vectors.shape[1], device=vectors.device)))  # (B, k)
    sign = (1 - 2 * (bits & 1)).to(vectors.dtype)
    if batch is None and len(sign) != 1:
        raise ValueError(f"graph_id names {len(sign)} graphs; give batch, the graph of each node, too")
    return vectors * (sign if batch is None or graph_id is None else sign[batch])


def _mlp(columns: int, channels: int, layers: int) -> MLP:
    """Return maps that are each followed by ReLU, twice as wide in between."""
    return MLP([columns, *[2 * channels] * (layers - 1), channels], act="relu", norm=None, plain_last=False)


def _checked(pe: Tensor, columns: int, what: str) -> Tensor:
    if pe.dim() != 2 or pe.shape[1] != columns:
        raise ValueError(f"{what} must be (N, {columns}) as the model was made for, got {tuple(pe.shape)}")
    return pe
