"""What a GECO step is measured against: the same call for all, ``step(x) -> (N, D)`` on a given graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import load_npz
from torch import Tensor, nn

from geco.nn import GECOConv, GECOLayer, reference
from geco.nn.graph.adjacency import adjacency

__all__ = ["CONTENDERS", "QUADRATIC", "Contender", "make", "random_graph", "real_graph"]


@dataclass(frozen=True)
class Contender:
    """A model and a call of it on one graph."""

    module: nn.Module
    step: Callable[[Tensor], Tensor]


class FusedAttention(nn.Module):
    """Multi-head self-attention by PyTorch's fused kernel, with the usual projections."""

    def __init__(self, channels: int, heads: int) -> None:
        """Make the projections."""
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Attend over all nodes, ``(N, D)`` to ``(N, D)``."""
        q, k, v = (
            self.qkv(x).view(len(x), 3, self.heads, -1).permute(1, 2, 0, 3).unsqueeze(1)
        )  # (1, heads, N, D / heads)
        y = nn.functional.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).reshape(x.shape)
        out: Tensor = self.out(y)
        return out


def _conv(edges: Tensor, num_nodes: int, channels: int, **options: object) -> Contender:
    module = GECOConv(channels, **options)  # type: ignore[arg-type]
    return Contender(module, lambda x: module(x, edges))


def _layer(edges: Tensor, num_nodes: int, channels: int) -> Contender:
    module = GECOLayer(channels)
    return Contender(module, lambda x: module(x, edges))


def _plain(edges: Tensor, num_nodes: int, channels: int, **options: object) -> Contender:
    module = GECOConv(channels, **options)  # type: ignore[arg-type]
    forward = adjacency(edges, num_nodes).forward
    assert forward is not None
    crow, col, value = forward
    csr = torch.sparse_csr_tensor(crow.long(), col.long(), value, (num_nodes, num_nodes))
    return Contender(module, lambda x: reference.geco_conv(module, x, csr))


def _attention(edges: Tensor, num_nodes: int, channels: int) -> Contender:
    module = FusedAttention(channels, heads=4)
    return Contender(module, module)


def _gps(edges: Tensor, num_nodes: int, channels: int, kind: str) -> Contender:
    from torch_geometric.nn import GCNConv, GPSConv

    module = GPSConv(channels, GCNConv(channels, channels), heads=4, attn_type=kind)
    return Contender(module, lambda x: module(x, edges))


def _sgformer(edges: Tensor, num_nodes: int, channels: int) -> Contender:
    from torch_geometric.nn import SGFormer

    module = SGFormer(channels, channels, channels)
    batch = torch.zeros(num_nodes, dtype=torch.long)
    return Contender(module, lambda x: module(x, edges, batch))


CONTENDERS: dict[str, Callable[[Tensor, int, int], Contender]] = {
    "geco conv": _conv,
    "geco conv, plain form": lambda e, n, c: _conv(e, n, c, algorithm="plain"),
    "geco conv, rough filters": lambda e, n, c: _conv(
        e, n, c, filter="waves", filter_kwargs={"position": "absolute", "gain": "mean"}
    ),
    "plain composition": _plain,
    "geco conv, paper filter": lambda e, n, c: _conv(e, n, c, filter="paper"),
    "plain composition, paper filter": lambda e, n, c: _plain(e, n, c, filter="paper"),
    "geco layer": _layer,
    "fused attention": _attention,
    "gps, performer": lambda e, n, c: _gps(e, n, c, "performer"),
    "gps, multihead": lambda e, n, c: _gps(e, n, c, "multihead"),
    "sgformer": _sgformer,
}
QUADRATIC = {"fused attention": 32768, "gps, multihead": 16384}  # the largest graph each is given


def make(name: str, edges: Tensor, num_nodes: int, channels: int) -> Contender:
    """Build a contender with the same seed every time."""
    torch.manual_seed(0)
    return CONTENDERS[name](edges, num_nodes, channels)


def random_graph(num_nodes: int, degree: int = 10) -> Tensor:
    """Return an Erdős–Rényi graph of the given average degree as directed edges, ``(2, N * degree)``."""
    return torch.randint(0, num_nodes, (2, num_nodes * degree), generator=torch.Generator().manual_seed(0))


def real_graph(name: str, folder: Path) -> tuple[Tensor, int] | None:
    """Return the edges and number of nodes of Flickr or arxiv, made undirected, if their structure is there."""
    path = folder / {"flickr": "flickr-structure", "arxiv": "ogbn-arxiv-structure"}[name] / "adj_full.npz"
    if not path.exists():
        return None
    adj = load_npz(path)
    adj = adj + adj.T
    return torch.from_numpy(np.stack(adj.nonzero())).long(), adj.shape[0]
