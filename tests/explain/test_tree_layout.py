from __future__ import annotations

import math

import numpy as np
import pytest

from geco.explain.tree_layout import grown, placed

PATH = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])


def test_nodes_between_are_left_out_and_counted() -> None:
    tree = grown(PATH, 7, 2, [1, 5, 6])
    steps = {branch.node: branch.steps for branch in tree.below}
    assert steps == {1: 1, 5: 3, 6: 0}


def test_branches_share_the_circle_and_keep_apart() -> None:
    star = np.array([[0] * 8, [*range(1, 9)]])
    at = placed(grown(star, 9, 0, range(1, 9)), gap=10.0)
    points = [at[node] for node in range(1, 9)]
    radii = {round(math.hypot(*point), 6) for point in points}
    assert len(radii) == 1
    assert min(math.dist(p, q) for p in points for q in points if p != q) > 4
    assert at[0] == (0, 0)


def test_two_arms_lie_opposite() -> None:
    at = placed(grown(PATH, 6, 2, range(6)), gap=10.0)
    assert at[1] == pytest.approx((-10, 0), abs=1e-9)
    assert at[3] == pytest.approx((10, 0), abs=1e-9)
    assert at[5] == pytest.approx((30, 0), abs=1e-9)


def test_the_layout_is_always_the_same() -> None:
    star = np.array([[0] * 8, [*range(1, 9)]])
    assert placed(grown(star, 9, 0, range(1, 9))) == placed(grown(star, 9, 0, [8, 3, 1, 2, 4, 5, 6, 7]))
