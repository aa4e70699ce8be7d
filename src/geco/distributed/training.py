"""One step of training over several ranks that share a graph: every rank has all weights and some of the nodes.

A loss over all nodes is a local sum over the global number of them, so that gradients are summed, not averaged
(`geco.distributed.gradients`). Each rank then takes the same step of the optimiser.

Shapes: N nodes, n of them on this rank, C columns.
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from geco.distributed.exchange import Ranks
from geco.distributed.shard import GraphShard
from geco.errors import UsageError

__all__ = ["all_rows", "check_same_weights", "mean_over_ranks", "own_part"]


def check_same_weights(module: nn.Module, ranks: Ranks) -> None:
    """Refuse, on all ranks, weights and buffers that are not equal on all of them, bit by bit.

    Args:
        module: what is trained.
        ranks: who train it.

    Example:
        >>> check_same_weights(nn.Linear(2, 2), Ranks())
    """
    each = torch.zeros(ranks.size, 4, dtype=torch.int64)
    each[ranks.rank] = _digest(module)
    other = (ranks.known(each) != each[0]).any(1).nonzero().flatten().tolist()
    if other:
        raise UsageError(
            f"ranks start with different weights: {', '.join(map(str, other))} and rank 0 differ; build the network "
            "with the same seed and settings on all, or load the same checkpoint"
        )


def mean_over_ranks(loss: Tensor, count: int, ranks: Ranks) -> Tensor:
    """Return this rank's share of a mean over all ranks: their sum is the mean, and so are the sums of gradients.

    Args:
        loss: sum over what this rank holds, a scalar; where it holds nothing, the sum of an empty tensor that was
            computed as the others were, so that this rank takes part in backward.
        count: what this rank holds.
        ranks: the processes.

    Example:
        >>> mean_over_ranks(torch.tensor(6.0), 3, Ranks())
        tensor(2.)
    """
    return loss / max(1, int(ranks.known(torch.tensor(count))))


def own_part(data: Data, shard: GraphShard) -> Data:
    """Return a graph's data with this rank's nodes alone, in the order of the shard, and the shard as ``prepared``.

    A `geco.nn.network.network.Network` takes it as it takes the whole; norms of its encoder see all nodes after
    `geco.nn.ops.shared_norm.share_norms` with ``shard.rings.span``.

    Args:
        data: of the whole graph.
        shard: of this rank.

    Example:
        >>> from geco.distributed.shard import shard
        >>> from geco.nn.graph.prepare import prepare
        >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0], [1]]), y=torch.arange(3))
        >>> own_part(data, shard(prepare(data.x, data.edge_index), Ranks())).y
        tensor([0, 1, 2])
    """
    rows = {key: value[shard.nodes] for key, value in data.to_dict().items() if data.is_node_attr(key)}
    return Data(**rows, prepared=shard)


@torch.no_grad()
def all_rows(y: Tensor, shard: GraphShard, ranks: Ranks) -> Tensor:
    """Return what all ranks have of their nodes, in the order of the graph's nodes, on every rank, ``(n, C)`` to ``(N,
    C)``.

    Args:
        y: a row for each of this rank's nodes.
        shard: of this rank.
        ranks: who share the graph.
    """
    rows = y.new_zeros(shard.rings.num_nodes, *y.shape[1:])
    return ranks.known(rows.index_copy_(0, shard.nodes, y.detach()))


def _digest(module: nn.Module) -> Tensor:
    """Return 256 bits that tell names, types, shapes and values of all weights and buffers, ``(4,)`` int64."""
    found = hashlib.sha256()
    for name, value in module.state_dict().items():
        found.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        found.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return torch.frombuffer(bytearray(found.digest()), dtype=torch.int64).clone()
