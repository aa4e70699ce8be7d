"""Filters with drawn weights: a fresh one is the mean, and tests of it would show nothing of its waves and windows.

And blocks of rows for windows on rings that a test can afford.
"""

from __future__ import annotations

import pytest
from torch import nn

from geco.nn.filters import waves, windows
from geco.nn.ops import limits


@pytest.fixture(autouse=True)
def drawn_filters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the weights of waves and windows, unless a test is marked ``fresh``."""
    if request.node.get_closest_marker("fresh") is None:  # keywords would hold the names of folders, too
        for module in (waves, windows):
            monkeypatch.setattr(module, "silence", lambda mix: nn.init.normal_(mix.weight, std=0.05))


@pytest.fixture(autouse=True)
def blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let windows go by blocks of rows from where waves do."""
    monkeypatch.setattr(limits, "LONG_RING_OF_WINDOWS", limits.LONG_RING)
