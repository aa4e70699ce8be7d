"""What memory there is."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from geco.machine import available_memory, resident
from tests.train.runs import child


def test_available_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is available is what the process's own limit leaves, where that is less than the machine has."""
    before = available_memory()
    assert before is not None
    assert 2**28 < before < 2**50
    assert 2**24 < (available_memory(swap=False) or 0) < 2**50

    def check() -> None:
        most = resident("VmSize") + 2**28
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        assert 0 < (available_memory() or 0) <= 2**28

    code, err = child(monkeypatch, tmp_path / "run", check)
    assert code == 0, err
