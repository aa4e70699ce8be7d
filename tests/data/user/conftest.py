"""A user's small graph as tables, and a cache away from the machine's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "nodes.csv").write_text("id,colour,label\na,red,x\nb,blue,y\nc,red,x\n")
    (folder / "edges.csv").write_text("source,target\na,b\nb,c\n")
    return folder
