from __future__ import annotations

import numpy as np

from geco.data.encodings import LaplacianEigenvectors, budget
from tests.data.encodings.graphs import random_graph


def test_estimate_is_of_the_right_order() -> None:
    nodes, edges = np.arange(1, 201), 4 * np.arange(1, 201)
    encoding = LaplacianEigenvectors(4)
    seen = []

    def graph(index: int) -> budget.Graph:
        seen.append(index)
        return random_graph(index + 1, 4), index + 1, None

    seconds = budget.seconds_needed(encoding, nodes, edges, graph)
    assert len(set(seen)) == budget.SAMPLES
    assert max(seen) > 150
    assert 0.01 < seconds < 60
