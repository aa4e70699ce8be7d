"""What the data has of edges and the chosen network does not use: weights, features."""

from __future__ import annotations

import logging

from geco.data.dataset import GraphDataset
from geco.nn.network.network import Network

__all__ = ["unused_fields", "warn_unused"]

logger = logging.getLogger(__name__)

FIELDS = {"edge_weight": "edge weights", "edge_attr": "edge features"}


def unused_fields(network: Network, dataset: GraphDataset) -> list[str]:
    """Return which fields of the edges the data has and the network does not use.

    Args:
        network: that will be trained.
        dataset: that it will be trained on.

    Example:
        >>> import torch
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> graph = erdos_renyi(9, degree=2, features=3)
        >>> weighted = graph.attach("edge/edge_weight", torch.ones(graph.num_edges))
        >>> [unused_fields(Network(body, 3, "node", 2, hidden_channels=4), weighted) for body in ("geco", "gin")]
        [[], ['edge_weight']]
    """
    return [name for name in FIELDS if f"edge/{name}" in dataset.arrays and name not in network.edge_fields]


def warn_unused(unused: list[str], model: str, data: str) -> None:
    """Warn once of what is not used, and by which model."""
    if unused:
        what = " and ".join(FIELDS[name] for name in unused)
        logger.warning(f"warning: {model} does not use the {what} of {data}; a model that does may score higher")
