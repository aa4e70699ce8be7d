"""Studies in a process that holds far more than they do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _no_search_for_garbage() -> Iterator[None]:
    """After each trial all objects are looked through, and here those of pytest and all tests too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geco.tune.trial.collect", lambda: None)
        yield
