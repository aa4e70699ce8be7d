"""Flickr and ogbn-arxiv without their features: ``adj_full.npz`` as in GraphSAINT's layout, and the labels and split of
each.

For speed and memory at true size. Nodes get random features of the true width, the same at every reading; no score is
comparable with a published one.
"""

from __future__ import annotations

from pathlib import Path

import torch

from geco.data.dataset import GraphDataset
from geco.data.registry.spec import Spec
from geco.data.sources import ogb_node, saint
from geco.data.sources._one_graph import single

__all__ = ["read"]


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return the data set of a folder in this layout."""
    edge_index, nodes = saint.adjacency(folder / "adj_full.npz")
    if "class_map.json" in spec.layouts[0].files:
        known = {"y": saint.labels(folder / "class_map.json", nodes, spec)}
        split = saint.roles(folder / "role.json")
    else:
        known, split = ogb_node.known_of_nodes(folder, nodes)
    x = torch.randn(nodes, spec.sizes.features or 1, generator=torch.Generator().manual_seed(0))
    return single(spec, folder, {"x": x, "edge_index": edge_index, **known}, [split])
