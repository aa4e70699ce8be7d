from __future__ import annotations

import numpy as np
from hypothesis import given

from geco.data.encodings import Degree
from tests.data.encodings.graphs import Ends, dense, graphs


@given(graphs())
def test_counts_neighbours(graph: tuple[Ends, int]) -> None:
    count = (dense(*graph) > 0).sum(1)
    assert np.allclose(Degree().compute(*graph)[:, 0], np.log(1 + count))
    hot = Degree(max_degree=3).compute(*graph)
    assert np.array_equal(hot.argmax(1), np.minimum(count, 3))
    assert (hot.sum(1) == 1).all()


def test_weights_do_not_count() -> None:
    ends = np.array([[0, 1], [1, 2]])
    assert np.array_equal(Degree().compute(ends, 3, np.array([5.0, 0.1])), Degree().compute(ends, 3))
