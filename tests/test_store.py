"""Files and entries on disks that fill and processes that die: the old one or the new one, never neither."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from geco.errors import ResourceError
from geco.store import write_file


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_that_cannot_be_written_leaves_the_old_one(call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_file(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(ResourceError, match=r"out\.csv: no space, needs 0\.0 MiB, has .* MiB free"):
            write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]
