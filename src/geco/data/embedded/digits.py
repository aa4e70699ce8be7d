"""Handwritten digits as one graph: scikit-learn's 1,797 images, each linked to its nearest neighbours. Needs no
download.
"""

from __future__ import annotations

import numpy as np
import torch

from geco.data.collate import collect
from geco.data.dataset import GraphDataset, Info
from geco.data.splits import stratified_split
from geco.errors import DataError, UsageError

__all__ = ["digits"]


def digits(neighbours: int = 10) -> GraphDataset:
    """Return the digits: nodes are images of 8 x 8 pixels from 0 to 1, classes 0 to 9, split 60/20/20 within each
    class.

    An edge in both directions joins two images if one is among the nearest of the other by pixel distance; among
    equally near ones those of lower number count. The graph is made from all images, as is usual where all nodes are
    known at training.

    Args:
        neighbours: number of nearest images each one is linked to.

    Example:
        >>> graph = digits()[0]
        >>> graph.num_nodes, graph.num_features, graph.is_undirected()
        (1797, 64, True)
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise DataError('digits come with scikit-learn, which is missing: pip install "geco-graph[demo]"') from error
    pixels, classes = load_digits(return_X_y=True)
    if not 1 <= neighbours < len(pixels):
        raise UsageError(f"neighbours must be from 1 to {len(pixels) - 1}, got {neighbours}")
    graph = {
        "x": torch.from_numpy(pixels / 16).float(),
        "y": torch.from_numpy(classes),
        "edge_index": torch.from_numpy(_nearest(pixels, neighbours)),
    }
    note = f"{neighbours} nearest neighbours by pixel distance, made symmetric"
    info = Info("digits", "node", "class", 10, "accuracy", names=tuple("0123456789"), note=note)
    return collect(info, [graph], [stratified_split(classes, (0.6, 0.2, 0.2), seed=0)])


def _nearest(points: np.ndarray, k: int) -> np.ndarray:
    """Return edges ``(2, M)`` between near points, in both directions, sorted. Exact for whole numbers, so no tie is
    random.
    """
    square = (points**2).sum(1)
    distance = square[:, None] - 2 * points @ points.T + square
    np.fill_diagonal(distance, np.inf)
    near = np.zeros(distance.shape, dtype=bool)
    np.put_along_axis(near, np.argsort(distance, axis=1, kind="stable")[:, :k], True, axis=1)
    return np.stack(np.nonzero(near | near.T))
