"""Runs made in this process, away from the machine's own data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.train.runs import MANY, train_in_child, use


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the machine's own data."""
    monkeypatch.setenv("GECO_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("GECO_DATA", raising=False)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what `geco train` with the flags of `runs` leaves when nothing happens to it."""
    out = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        use(patch, MANY)
        assert train_in_child(patch, out)[0] == 0
    return out / "seed-0"
