"""OGB's data sets of many graphs, as its archives hold them: ``raw/*.csv.gz`` without header and
``split/<kind>/*.csv.gz``.

The rows of all graphs lie after one another; ``num-node-list`` and ``num-edge-list`` say where each ends. An edge is
stored once and becomes two, the reverse right after it, as OGB has it for molecules and proteins.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geco.data.dataset import GraphDataset, Info
from geco.data.molecules import ATOM_CATEGORIES, BOND_CATEGORIES
from geco.data.registry.spec import Spec
from geco.data.sources._many_graphs import from_columns, info_of, known, read_counts, read_rows, read_split
from geco.errors import DataError

__all__ = ["read"]


def read(folder: Path, spec: Spec) -> GraphDataset:
    """Return ogbg-molhiv, ogbg-molpcba or ogbg-ppa.

    Args:
        folder: with ``raw`` and ``split``.
        spec: of the data set.
    """
    raw = folder / "raw"
    nodes, edges = read_counts(raw)
    info, split, features = (_proteins if spec.name == "ogbg-ppa" else _molecules)(
        raw, spec, int(nodes.sum()), int(edges.sum())
    )
    ends = read_rows(raw / "edge.csv.gz", int(edges.sum()), 2, np.int32)
    features["edge/edge_index"] = np.stack([ends, ends[:, ::-1]], 1).reshape(-1, 2).T  # (2, M): there, then back
    features["edge/edge_attr"] = features["edge/edge_attr"].repeat(2, 0)
    features["graph/y"] = _targets(raw / "graph-label.csv.gz", spec, len(nodes))
    return from_columns(info, nodes, 2 * edges, features, read_split(folder / "split" / split, len(nodes)))


def _molecules(raw: Path, spec: Spec, nodes: int, edges: int) -> tuple[Info, str, dict[str, np.ndarray]]:
    """Return what is asked, the kind of split, and features that are categories."""
    x = read_rows(raw / "node-feat.csv.gz", nodes, len(ATOM_CATEGORIES), np.int16)
    edge_attr = read_rows(raw / "edge-feat.csv.gz", edges, len(BOND_CATEGORIES), np.int16)
    return info_of(spec, ATOM_CATEGORIES, BOND_CATEGORIES), "scaffold", {"node/x": x, "edge/edge_attr": edge_attr}


def _proteins(raw: Path, spec: Spec, nodes: int, edges: int) -> tuple[Info, str, dict[str, np.ndarray]]:
    """Return the same where nodes have no features, so all are of one category, and edges have seven real ones."""
    edge_attr = read_rows(raw / "edge-feat.csv.gz", edges, 7, np.float32)
    return info_of(spec, (1,)), "species", {"node/x": np.zeros((nodes, 1), np.uint8), "edge/edge_attr": edge_attr}


def _targets(path: Path, spec: Spec, graphs: int) -> np.ndarray:
    if spec.target == "labels":
        return known(read_rows(path, graphs, spec.num_targets, np.float32), path)
    y = read_rows(path, graphs, 1, np.int64)[:, 0]
    if graphs and not 0 <= y.min() <= y.max() < spec.num_targets:
        raise DataError(f"{path}: classes are 0 to {spec.num_targets - 1}, got {y.min()} to {y.max()}")
    return y
