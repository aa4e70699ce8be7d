"""Unpack archives from elsewhere: only plain files and folders, only below the given folder, all of them or none."""

from __future__ import annotations

import errno
import gzip
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from filelock import FileLock

from geco.data.safe.limits import LimitedStream, expanded_limit
from geco.errors import DataError, ResourceError

__all__ = ["unpack"]

MEMBERS = 1_000_000  # more files than any known data set has
CHUNK = 2**20  # bytes

Member = tuple[str, IO[bytes] | None]  # name, and the content or None for a folder


def unpack(archive: Path, folder: Path, strip: bool = True) -> None:
    """Unpack a zip or tar archive into a folder, replacing files of the same names.

    Refused with a DataError, and nothing written: names that are absolute, have ``..`` or occur twice, links, devices,
    encrypted members, a target that is a link, and more bytes than `geco.data.safe.limits.expanded_limit` allows. Files
    come into place by renaming, after all of them are unpacked.

    Args:
        archive: ``.zip``, ``.tar`` or ``.tar.gz``, recognised by its content.
        folder: made if it is missing.
        strip: drop the top folder if all members are in one.

    Example:
        >>> folder = Path(tempfile.mkdtemp())
        >>> with zipfile.ZipFile(folder / "a.zip", "w") as file:
        ...     file.writestr("top/x.csv", "1")
        >>> unpack(folder / "a.zip", folder / "data")
        >>> (folder / "data" / "x.csv").read_text()
        '1'
    """
    if not archive.is_file():
        raise DataError(f"there is no archive {archive}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f".{folder.name}.unpack.lock"):
            for old in folder.parent.glob(f".{folder.name}.*.unpack"):  # left by killed processes
                shutil.rmtree(old, ignore_errors=True)
            part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".unpack", dir=folder.parent))
            try:
                _extract(archive, part)
                _move(_top(part) if strip else part, folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except DataError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
            raise ResourceError(
                f"cannot unpack {archive} to {folder}: {error.strerror}; nothing was changed"
            ) from error
        raise _refused(archive, str(error)) from error
    except Exception as error:  # damaged bytes may cause any
        raise _refused(archive, str(error) or type(error).__name__) from error


def _refused(archive: Path, why: str) -> DataError:
    return DataError(f"cannot unpack {archive}: {why}; nothing was unpacked, remove it and download it again")


def _extract(archive: Path, part: Path) -> None:
    """Write all members below ``part``, counting what they hold."""
    left, seen = expanded_limit(archive.stat().st_size), set[PurePosixPath]()
    for name, stream in _members(archive):
        path = _checked(archive, name)
        if stream is None or _is_litter(path):
            continue
        if path in seen:
            raise _refused(archive, f"it holds {name!r} twice")
        seen.add(path)
        (part / path).parent.mkdir(parents=True, exist_ok=True)
        left -= _write(stream, part / path, left)
        if left < 0 or len(seen) > MEMBERS:
            raise _refused(
                archive, f"it holds far more than data does (over {MEMBERS:,} files, or 200 times its size and 1 GiB)"
            )
    if not seen:
        raise _refused(archive, "it holds no files")


def _write(stream: IO[bytes], target: Path, limit: int) -> int:
    """Copy a member and return its size; stops soon after the limit."""
    size = 0
    with target.open("xb") as file:
        while size <= limit and (data := stream.read(CHUNK)):
            size += file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return size


def _checked(archive: Path, name: str) -> PurePosixPath:
    """Return a member's name as a path below the folder, or refuse it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or re.match("[A-Za-z]:", name) or "\\" in name or "\0" in name:
        raise _refused(archive, f"its member {name!r} would not lie below the folder")
    return path


def _is_litter(path: PurePosixPath) -> bool:
    """What macOS adds to archives."""
    return path.parts[0] == "__MACOSX" or path.name == ".DS_Store"


def _members(archive: Path) -> Iterator[Member]:
    return _zip_members(archive) if zipfile.is_zipfile(archive) else _tar_members(archive)


def _zip_members(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _refused(archive, f"its member {member.filename!r} is a link or a device")
            if member.flag_bits & 1:
                raise _refused(archive, f"its member {member.filename!r} is encrypted")
            if member.is_dir():
                yield member.filename, None
            else:
                with file.open(member) as stream:
                    yield member.filename, stream


def _tar_members(archive: Path) -> Iterator[Member]:
    """Read from front to end, so that what is decompressed is counted, headers and padding too."""
    with archive.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream: Any = (
            LimitedStream(gzip.GzipFile(fileobj=raw), expanded_limit(archive.stat().st_size), archive)
            if zipped
            else raw
        )
        with tarfile.open(fileobj=stream, mode="r|") as file:
            for member in file:
                if not (member.isreg() or member.isdir()):
                    raise _refused(archive, f"its member {member.name!r} is a link or a device")
                yield member.name, file.extractfile(member) if member.isreg() else None


def _top(part: Path) -> Path:
    """Return the only folder in a folder, or the folder itself."""
    inside = list(part.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else part


def _move(source: Path, folder: Path) -> None:
    """Rename all files into place, after checking that none of them would go through a link."""
    files = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())
    for name in files:
        for place in (folder / name, *(folder / parent for parent in name.parents)):
            if place.is_symlink() and place != folder:
                raise DataError(f"{place} is a link; nothing was unpacked, remove it or choose another folder")
        if (folder / name).is_dir():
            raise DataError(f"{folder / name} is a folder where a file should go; nothing was unpacked, remove it")
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(source / name, folder / name)
