r"""The twins: every operator once more, slow and obvious, as the oracle of the tests and the baseline of the benchmark.

Shapes: N nodes, M edges, C input channels, D channels, K order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from geco.nn.gps.attention_bias import HopMask, Proximity, ShortestPath
from geco.nn.graph.node_pairs import FAR

if TYPE_CHECKING:
    from geco.nn.conv import GECOConv
    from geco.nn.gps.attention import SelfAttention
    from geco.nn.gps.attention_bias import AttentionBias
    from geco.nn.gps.exphormer import Exphormer
    from geco.nn.gps.virtual_node import VirtualNode

__all__ = [
    "attention",
    "circulant",
    "circular_conv",
    "diffused",
    "exphormer",
    "geco_conv",
    "global_context",
    "normalised_adjacency",
    "surrogate_attention",
    "virtual_node",
]


def circulant(f: Tensor) -> Tensor:
    r"""Return the matrix :math:`S_{ti} = f_{(t-i) \bmod N}`, ``(..., N)`` to ``(..., N, N)``.

    >>> circulant(torch.tensor([1., 2., 3.]))
    tensor([[1., 3., 2.],
            [2., 1., 3.],
            [3., 2., 1.]])
    """
    place = torch.arange(f.shape[-1], device=f.device)
    return f[..., (place.unsqueeze(1) - place) % f.shape[-1]]


def circular_conv(v: Tensor, f: Tensor) -> Tensor:
    """Return :func:`geco.nn.functional.circular_conv` as a matrix product, O(N^2)."""
    return (circulant(f) @ v.unsqueeze(-1)).squeeze(-1)


def normalised_adjacency(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    norm: str = "sym",
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    r"""Return :math:`\hat A` as a dense ``(N, N)`` matrix, row = target; degree 0 gives 0."""
    weight = torch.ones(edge_index.shape[1]) if edge_weight is None else edge_weight
    dense = torch.zeros(num_nodes, num_nodes, dtype=dtype)
    for source, target, w in zip(*edge_index.tolist(), weight.tolist(), strict=True):
        dense[target, source] += w
    degree = dense.sum(1)
    if norm == "row":
        return torch.where(degree == 0, 0.0, 1 / degree).unsqueeze(1) * dense
    if norm == "sym":
        scale = torch.where(degree == 0, 0.0, degree.rsqrt())
        return scale.unsqueeze(1) * dense * scale
    return dense


def diffused(x: Tensor, edge_index: Tensor, steps: int) -> Tensor:
    r"""Return :math:`\frac{1}{S + 1} \sum_s \tilde A^s X` of `geco.nn.network.diffusion` by powers, O(N^3)."""
    loops = torch.arange(len(x)).expand(2, -1)  # exactly one at every node
    edges = torch.cat([edge_index[:, edge_index[0] != edge_index[1]], loops], 1)
    matrix = normalised_adjacency(edges, len(x), dtype=x.dtype)
    return sum((torch.linalg.matrix_power(matrix, s) @ x for s in range(steps + 1)), torch.zeros_like(x)) / (steps + 1)


def global_context(projected: Tensor, filters: Tensor) -> Tensor:
    r"""Return Algorithm 1 on one graph by plain FFTs of length N: K times :math:`V \leftarrow P_i \odot (F_i
    \circledast V)`.

    Args:
        projected: gates and value side by side, ``(N, (K + 1) * D)``.
        filters: ``(K, D, N)``.
    """
    *gates, v = projected.t().chunk(len(filters) + 1)  # (D, N) each
    for p, f in zip(gates, filters, strict=True):
        v = p * torch.fft.irfft(torch.fft.rfft(v) * torch.fft.rfft(f), n=v.shape[-1])
    return v.t()


def geco_conv(conv: GECOConv, x: Tensor, adj: Tensor) -> Tensor:
    r"""Return :math:`\mathrm{GCB}(\mathrm{BN}([X, \hat A X]))` as one would first write it, from stock PyTorch
    operators.

    Args:
        conv: the layer whose weights to use; its running statistics are neither used nor changed in training mode.
        x: ``(N, D)``.
        adj: :math:`\hat A`, dense or torch CSR, ``(N, N)``.
    """
    context, norm = conv.context, conv.norm
    h = torch.cat([x, adj @ x], 1)
    running = (None, None) if norm.training else (norm.running_mean, norm.running_var)
    h = torch.nn.functional.batch_norm(h, *running, norm.weight, norm.bias, norm.training, eps=norm.eps)
    projected = torch.nn.functional.linear(h, context.projection.weight, context.projection.bias)
    assert context.filter is not None
    out: Tensor = context.out_proj(global_context(projected, context.filter(len(x))))
    return out


def attention(layer: SelfAttention, x: Tensor, edge_index: Tensor) -> Tensor:
    r"""Return `geco.nn.gps.attention.SelfAttention` of one graph in evaluation mode, head by head, O(N^2) and with a
    bias O(N^4).

    Args:
        layer: whose weights to use.
        x: ``(N, D)``.
        edge_index: ``(2, M)``, taken both ways.
    """
    rows = (x @ layer.qkv.weight.t() + layer.qkv.bias).view(len(x), 3, layer.heads, -1)
    mixed = []
    for head in range(layer.heads):
        q, k, v = rows[:, 0, head], rows[:, 1, head], rows[:, 2, head]
        score = q @ k.t() / q.shape[1] ** 0.5
        score = score if layer.bias is None else score + _score_bias(layer.bias, head, edge_index, score)
        mixed.append(torch.softmax(score, 1) @ v)
    out: Tensor = layer.out(torch.cat(mixed, 1))
    return out


def _score_bias(bias: AttentionBias, head: int, edge_index: Tensor, score: Tensor) -> Tensor:
    """Return what is added to the scores of a head, ``(N, N)``."""
    nodes = len(score)
    linked = torch.eye(nodes, dtype=torch.float64)
    for source, target in edge_index.t().tolist():
        linked[source, target] = linked[target, source] = 1
    # There are as many hops from a node to another as powers, from the 0th on, that do not join the two.
    apart = torch.stack([torch.linalg.matrix_power(linked, s) == 0 for s in range(nodes)]).sum(0)
    apart = torch.where(apart == nodes, FAR, apart)
    told = torch.zeros_like(score)
    if isinstance(bias, HopMask):
        return told.masked_fill(apart > (head + 1 if bias.hops is None else bias.hops), -torch.inf)
    if isinstance(bias, ShortestPath):
        return sum((bias.weight[s, head] * (apart.clamp(max=bias.reach + 1) == s) for s in range(bias.reach + 2)), told)
    assert isinstance(bias, Proximity)
    scale = linked.sum(1).rsqrt()
    near = (scale.unsqueeze(1) * linked * scale).to(score.dtype)
    return sum((bias.weight[s, head] * torch.linalg.matrix_power(near, s + 1) for s in range(bias.powers)), told)


def exphormer(
    layer: Exphormer, x: Tensor, edge_index: Tensor, random: Tensor, edge_attr: Tensor | None = None
) -> Tensor:
    r"""Return `geco.nn.gps.exphormer.Exphormer` of one graph in evaluation mode, by dense weights of all pairs of
    nodes and virtual nodes, O(N^2).

    Args:
        layer: whose weights to use.
        x: ``(N, D)``.
        edge_index: the graph's own edges, ``(2, M)``.
        random: those of the random graph, ``(2, R)``.
        edge_attr: ``(M, E)`` or None.
    """
    nodes, heads, count = len(x), layer.heads, layer.virtual_nodes
    width = layer.channels // heads
    w_q, w_k, w_v = layer.qkv.weight.chunk(3)
    kinds = layer.kinds @ layer.edge.weight.t()
    own = kinds[:1].expand(edge_index.shape[1], -1) if edge_attr is None else edge_attr @ layer.edge.weight.t()

    def attend(to: Tensor, of: Tensor, edges: Tensor, e: Tensor) -> Tensor:
        split = [t.view(-1, heads, width) for t in (to @ w_q.t(), of @ w_k.t(), of @ w_v.t(), e)]
        score = (split[0][edges[1]] * split[1][edges[0]] * split[3]).sum(2) / width**0.5  # (edges, H)
        empty = x.new_zeros(len(to), len(of), heads)
        weight = empty.index_put((edges[1], edges[0]), torch.exp(score.clamp(-5, 5)), accumulate=True)
        return (torch.einsum("ijh,jhc->ihc", weight, split[2]) / (weight.sum(1).unsqueeze(2) + 1e-6)).flatten(1)

    edges, e = torch.cat([edge_index, random], 1), torch.cat([own, kinds[1:2].expand(random.shape[1], -1)])
    if not count or layer.virtual is None:
        return attend(x, x, edges, e)
    each = torch.cartesian_prod(torch.arange(nodes), torch.arange(count)).t()  # every node with every virtual node
    to_virtual, of_virtual = kinds[2:].chunk(2)
    states = attend(layer.virtual, x, each, to_virtual[each[1]])
    edges = torch.cat([edges, torch.stack([nodes + each[1], each[0]])], 1)
    return attend(x, torch.cat([x, states]), edges, torch.cat([e, of_virtual[each[1]]]))


def virtual_node(layer: VirtualNode, x: Tensor) -> Tensor:
    """Return `geco.nn.gps.virtual_node.VirtualNode` of one graph with the matrix of all means or sums, O(N^2)."""
    matrix = torch.ones(len(x), len(x), dtype=x.dtype) / (len(x) if layer.collect == "mean" else 1)
    out: Tensor = layer.state(matrix @ x)
    return out


def surrogate_attention(q: Tensor, k: Tensor, psi: Tensor, phi: Tensor) -> Tensor:
    r"""Return the surrogate attention matrix, :math:`A_{ij} = q_i \sum_n k_n \psi_{(i-n) \bmod N}\, \varphi_{(n-j)
    \bmod N}`.

    In the names of `GlobalContext` with K = 2: :math:`q = P_2, k = P_1, \psi = F_2, \varphi = F_1`, and the block is A
    V.

    Args:
        q: last gate, ``(..., N)``.
        k: first gate, ``(..., N)``.
        psi: last filter, ``(..., N)``.
        phi: first filter, ``(..., N)``.

    Shapes:
        ``(..., N)`` to ``(..., N, N)``, one matrix per channel.

    Example:
        >>> one = torch.ones(3)
        >>> surrogate_attention(one, one, torch.tensor([1., 0., 0.]), one)
        tensor([[1., 1., 1.],
                [1., 1., 1.],
                [1., 1., 1.]])
    """
    return q.unsqueeze(-1) * circulant(psi) @ (k.unsqueeze(-1) * circulant(phi))
