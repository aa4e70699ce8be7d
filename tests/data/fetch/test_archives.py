"""Archives made to do harm are refused and leave nothing; valid ones are unpacked whole."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from geco.data.fetch import archives
from geco.data.fetch.archives import unpack
from geco.errors import DataError, ResourceError

Make = Callable[[Path, list[tuple[str, bytes]]], None]


def make_zip(path: Path, members: list[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(zipfile.ZipInfo(name), data)


def make_tar(path: Path, members: list[tuple[str, bytes]], mode: str = "w:gz") -> None:
    with tarfile.open(path, mode) as file:  # type: ignore[call-overload]
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.type = len(data), tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            file.addfile(info, io.BytesIO(data))


def make_plain_tar(path: Path, members: list[tuple[str, bytes]]) -> None:
    make_tar(path, members, "w")


MAKERS = pytest.mark.parametrize("make", [make_zip, make_tar, make_plain_tar])


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refuse(archive: Path, match: str) -> None:
    """The archive is refused, and nothing is anywhere but what was there."""
    root = archive.parent
    (root / "target").mkdir(exist_ok=True)
    (root / "target" / "old").write_bytes(b"old")
    before = {name: data for name, data in files(root).items() if not name.endswith(".lock")}
    with pytest.raises(DataError, match=match):
        unpack(archive, root / "target")
    after = {name: data for name, data in files(root).items() if not name.endswith(".lock")}
    assert after == before
    assert [path.name for path in root.iterdir() if path.is_dir()] == ["target"]


@MAKERS
def test_members_come_without_their_common_folder(make: Make, tmp_path: Path) -> None:
    make(
        tmp_path / "a",
        [("top/", b""), ("top/x.csv", b"1"), ("top/raw/", b""), ("top/raw/y", b"2" * 3_000_000), ("top/empty", b"")],
    )
    unpack(tmp_path / "a", tmp_path / "deep" / "target")
    assert files(tmp_path / "deep" / "target") == {"x.csv": b"1", "raw/y": b"2" * 3_000_000, "empty": b""}
    unpack(tmp_path / "a", tmp_path / "kept", strip=False)
    assert set(files(tmp_path / "kept")) == {"top/x.csv", "top/raw/y", "top/empty"}


@MAKERS
def test_without_a_common_folder_nothing_is_dropped(make: Make, tmp_path: Path) -> None:
    make(tmp_path / "a", [("./one/x", b"1"), ("two/y", b"2"), ("__MACOSX/one/._x", b"-"), ("one/.DS_Store", b"-")])
    unpack(tmp_path / "a", tmp_path / "target")
    assert files(tmp_path / "target") == {"one/x": b"1", "two/y": b"2"}


def test_files_are_replaced_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "x").write_bytes(b"old")
    (tmp_path / "target" / "mine").write_bytes(b"mine")
    (tmp_path / ".target.killed.unpack").mkdir()  # left by a killed process
    make_zip(tmp_path / "a.zip", [("x", b"new")])
    unpack(tmp_path / "a.zip", tmp_path / "target")
    assert files(tmp_path / "target") == {"x": b"new", "mine": b"mine"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".target.unpack.lock", "a.zip", "target"]


@MAKERS
@pytest.mark.parametrize("name", ["../x", "a/../../x", "/tmp/x", "a\\..\\x", "C:/x", "C:x"])
def test_names_outside_the_folder_are_refused(make: Make, tmp_path: Path, name: str) -> None:
    make(tmp_path / "a", [("good", b"1"), (name, b"2")])
    refuse(tmp_path / "a", "would not lie below the folder")


@MAKERS
def test_duplicates_and_conflicts_are_refused(make: Make, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate") if make is make_zip else open(os.devnull):
        make(tmp_path / "a", [("x", b"1"), ("x", b"2")])
    refuse(tmp_path / "a", "'x' twice")
    make(tmp_path / "a", [("x", b"1"), ("./x", b"2")])
    refuse(tmp_path / "a", "twice")
    make(tmp_path / "a", [("x", b"1"), ("x/y", b"2")])
    refuse(tmp_path / "a", "cannot unpack")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "a", "w") as file:
        file.addfile(tarfile.TarInfo("good"))
        info = tarfile.TarInfo("bad")
        info.type, info.linkname = kind, "../../etc/passwd"
        file.addfile(info)
    refuse(tmp_path / "a", "'bad' is a link or a device")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_zip_are_refused(tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("bad")
    info.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a", "w") as file:
        file.writestr("good", b"1")
        file.writestr(info, "/etc/passwd")
    refuse(tmp_path / "a", "'bad' is a link or a device")


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    make_zip(tmp_path / "a", [("x", b"1")])
    data = bytearray((tmp_path / "a").read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a").write_bytes(data)
    refuse(tmp_path / "a", "encrypted")


@MAKERS
def test_bombs_are_refused(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "expanded_limit", lambda size: 3_000_000)
    make(tmp_path / "a", [(name, bytes(1_100_000)) for name in "xyz"])
    refuse(tmp_path / "a", "far more than data|more than 3,000,000 bytes")
    make(tmp_path / "a", [(name, bytes(900_000)) for name in "xyz"])
    unpack(tmp_path / "a", tmp_path / "target")
    assert len(files(tmp_path / "target")) == 4  # and the old one


def test_the_limit_is_about_the_archive_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(archives, "expanded_limit", lambda size: asked.append(size) or 10**6)
    make_zip(tmp_path / "a", [("x", b"1")])
    unpack(tmp_path / "a", tmp_path / "target")
    assert asked == [(tmp_path / "a").stat().st_size]


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MEMBERS", 5)
    make_zip(tmp_path / "a", [(str(n), b"") for n in range(6)])
    refuse(tmp_path / "a", "over 5 files")


def test_a_size_that_lies_in_zip_is_refused(tmp_path: Path) -> None:
    make_zip(tmp_path / "a", [("x", bytes(5000))])
    data = bytearray((tmp_path / "a").read_bytes())
    for mark, place in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):  # uncompressed size, in both headers
        start = data.index(mark) + place
        data[start : start + 4] = (10).to_bytes(4, "little")
    (tmp_path / "a").write_bytes(data)
    refuse(tmp_path / "a", "CRC")


def test_a_header_of_huge_size_in_tar_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.size = 2**40  # and five bytes come
    (tmp_path / "a").write_bytes(gzip.compress(info.tobuf() + b"short"))
    refuse(tmp_path / "a", "cannot unpack")


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04 not a zip", b"<html></html>" * 100, b"\x1f\x8bnot gzip", bytes(10240)]
)
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    refuse(tmp_path / "a", "cannot unpack .*download it again")


@MAKERS
def test_truncated_archives_are_refused(make: Make, tmp_path: Path) -> None:
    make(tmp_path / "whole", [("x", os.urandom(50_000)), ("y", os.urandom(50_000))])
    whole = (tmp_path / "whole").read_bytes()
    (tmp_path / "whole").unlink()
    for size in (30, 600, 60_000, 99_000):
        (tmp_path / "a").write_bytes(whole[:size])
        refuse(tmp_path / "a", "cannot unpack")


def test_links_in_the_target_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    outside = tmp_path / "outside"
    outside.write_bytes(b"safe")
    make_zip(tmp_path / "a", [("raw/x", b"new"), ("y", b"new")])
    (tmp_path / "target" / "y").symlink_to(outside)
    with pytest.raises(DataError, match="is a link"):
        unpack(tmp_path / "a", tmp_path / "target")
    (tmp_path / "target" / "y").unlink()
    (tmp_path / "target" / "raw").symlink_to(tmp_path)
    with pytest.raises(DataError, match="is a link"):
        unpack(tmp_path / "a", tmp_path / "target")
    assert outside.read_bytes() == b"safe"
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "target" / "y").exists()


def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "target" / "x").mkdir(parents=True)
    make_zip(tmp_path / "a", [("a", b"1"), ("x", b"1")])
    refuse(tmp_path / "a", "folder where a file should go")


def test_a_missing_archive_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no archive"):
        unpack(tmp_path / "a", tmp_path / "target")


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archives.os, "fsync", full)
    make_zip(tmp_path / "a", [("x", b"1")])
    with pytest.raises(ResourceError, match="No space left"):
        unpack(tmp_path / "a", tmp_path / "target")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".target.unpack.lock", "a", "target"]
    assert files(tmp_path / "target") == {}
