"""Files and entries on disks that fill and processes that die: the old one or the new one, never neither."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from geco import store
from geco.errors import ResourceError
from geco.machine import resident
from geco.store import Entry, read_entry, write_entry, write_file
from tests.train.runs import child, on_call


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_that_cannot_be_written_leaves_the_old_one(
    call: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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


def test_killed_between_the_two_moves_of_a_replacement(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Killed after the old entry was moved away and before the new one came, the old one is read, and put back."""
    path = tmp_path / "best"
    write_entry(path, Entry({"x": torch.ones(2)}, {"epoch": 1}))

    def die() -> None:
        on_call(monkeypatch, store.os, "replace", 2, lambda: os.kill(os.getpid(), signal.SIGKILL))
        write_entry(path, Entry({"x": torch.zeros(2)}, {"epoch": 2}))

    assert child(monkeypatch, path, die)[0] == -signal.SIGKILL
    assert not path.exists()
    assert read_entry(path).about == {"epoch": 1}
    store.sweep(path)
    assert path.is_dir()
    assert read_entry(path).about == {"epoch": 1}
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_disk_full_when_it_is_flushed(number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Some file systems notice a full disk or a quota only when they are told to write."""
    path = tmp_path / "best"
    write_entry(path, Entry({"x": torch.ones(2)}, {"epoch": 1}))

    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(
            ResourceError, match=r"no space, needs 0.0 MiB, has .* MiB free .* that was there is changed"
        ):
            write_entry(path, Entry({"x": torch.zeros(2)}, {"epoch": 2}))
    assert read_entry(path).about == {"epoch": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["best"]


def test_small_file_system(tmp_path: Path) -> None:
    """A file system of 1 MiB; what fits stays, what does not says what it needs and what there is."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("this process may not mount a file system")
    try:
        write_entry(tmp_path / "a", Entry({"x": torch.ones(2**16)}, {}))
        with pytest.raises(ResourceError, match=r"no space, needs 4\.0 MiB, has 0\.[0-9] MiB free"):
            write_entry(tmp_path / "a", Entry({"x": torch.zeros(2**20)}, {}))
        assert bool(read_entry(tmp_path / "a").arrays["x"].all())
        assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("call", [1, 2])
def test_not_permitted_at_the_last_moment(call: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Refused at either move of the commit, it is an error and never "saved"; the old one stays."""
    path = tmp_path / "best"
    write_entry(path, Entry({"x": torch.ones(2)}, {"epoch": 1}))

    def deny() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        on_call(patch, store.os, "replace", call, deny)
        with pytest.raises(PermissionError):
            write_entry(path, Entry({"x": torch.zeros(2)}, {"epoch": 2}))
    assert read_entry(path).about == {"epoch": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["best"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process has of files is read from /proc")
def test_opening_an_entry_takes_no_memory_for_its_arrays(tmp_path: Path) -> None:
    """They are in the file until they are looked at, and its pages are the system's to give away."""
    write_entry(tmp_path / "large", Entry({"x": torch.ones(2**24)}, {}))  # 64 MiB
    before = resident("RssAnon")
    array = read_entry(tmp_path / "large").arrays["x"]
    rows = array[:: 2**12].clone()
    assert float(array.sum()) == 2**24
    assert resident("RssAnon") - before < 2**23
    assert float(rows.sum()) == 2**12
