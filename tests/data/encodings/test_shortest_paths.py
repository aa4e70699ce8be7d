from __future__ import annotations

import numpy as np
import pytest

from geco.data.encodings import shortest_paths
from geco.data.encodings.base import undirected
from tests.data.encodings.graphs import Ends, best_error, hops, random_graph, ring, star_of_paths


@pytest.mark.parametrize(
    ("ends", "nodes", "factor"),
    [
        (ring(300), 300, 1.1),
        (star_of_paths(5, 60), 301, 1.3),
        (random_graph(300, 3), 300, 1.4),
        (random_graph(300, 8), 300, 1.3),
    ],
    ids=["ring", "star", "thin", "thick"],
)
def test_landmarks_are_nearly_as_good(ends: Ends, nodes: int, factor: float) -> None:
    values, vectors = shortest_paths.landmark_pairs(undirected(ends, nodes), 8)
    matrix = hops(ends, nodes)
    assert np.linalg.norm((vectors * values) @ vectors.T - matrix) < factor * best_error(matrix, 8)


def test_landmarks_are_far_apart_and_reach_every_component() -> None:
    ends = np.hstack([ring(40), 40 + ring(10)])
    chosen, far = shortest_paths.landmarks(undirected(ends, 50), 4)
    assert chosen[0] == 0
    assert chosen[1] == 40  # no path: farther than any node
    assert chosen[2] == 20
    assert np.isfinite(far).all()
    assert far.max() == 21
