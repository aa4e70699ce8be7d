"""Files that are whole or not there, and arrays and facts as a folder: ``data.safetensors`` and ``manifest.json``.

Both are written beside their place and moved there by one rename after everything in them is on disk. The manifest has
size and sha256 of the data; reading checks them, so a folder is intact or refused. Prepared data, imported data and
checkpoints are such folders.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from geco.errors import ResourceError

__all__ = [
    "Entry", "flush", "has_entry", "read_about", "read_entry", "remove_entry", "sha256", "sweep", "write_entry",
    "write_file",
]  # fmt: skip

OLD = ".old.part"  # ends the name of an entry while another takes its place


@dataclass(frozen=True)
class Entry:
    """Arrays by name, and what they are in JSON's types."""

    arrays: dict[str, Tensor]
    about: dict[str, Any]


def write_entry(path: Path, entry: Entry) -> None:
    """Write an entry in place of the one there is, if any; whatever goes wrong, that one stays. A full disk is a
    ResourceError.

    Example:
        >>> import tempfile, torch
        >>> path = Path(tempfile.mkdtemp()) / "ones"
        >>> write_entry(path, Entry({"x": torch.ones(2)}, {"made": "today"}))
        >>> read_entry(path).about
        {'made': 'today'}
    """
    try:
        with _disk_errors(path, sum(a.nbytes for a in entry.arrays.values())):
            part = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
            data, manifest = part / "data.safetensors", part / "manifest.json"
            save_file({name: array.contiguous() for name, array in entry.arrays.items()}, data)
            facts = {"about": entry.about, "size": data.stat().st_size, "sha256": sha256(data)}
            manifest.write_text(json.dumps(facts, indent=2), encoding="utf-8")
            for file in (data, manifest, part):
                flush(file)
            part.chmod(0o755)
            if path.exists():  # a folder cannot be replaced in one move: between the two, readers take the old one
                os.replace(path, part.with_name(part.name.removesuffix(".part") + OLD))
            os.replace(part, path)
            flush(path.parent)
    finally:
        sweep(path)


def write_file(path: Path, data: bytes) -> None:
    """Write a file in place of the one there is, if any; whatever goes wrong, that one stays. A full disk is a
    ResourceError.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
        >>> write_file(path, b"0.5")
        >>> path.read_bytes()
        b'0.5'
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _disk_errors(path, len(data)):
            part.write_bytes(data)
            flush(part)
            os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def read_entry(path: Path) -> Entry:
    """Return an intact entry, or raise ValueError with what is wrong with it."""
    try:
        place = path if path.exists() else next(iter(_replaced(path)), path)
        manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
        data = place / "data.safetensors"
        if data.stat().st_size != manifest["size"] or sha256(data) != manifest["sha256"]:
            raise ValueError("its data does not have the size and checksum of its manifest")
        with safe_open(data, "pt") as file:
            return Entry({name: file.get_tensor(name) for name in file.keys()}, manifest["about"])  # noqa: SIM118
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ValueError(f"{path} is damaged ({error})") from error


def read_about(path: Path) -> dict[str, Any]:
    """Return what an entry's arrays are, without reading them, or raise ValueError."""
    try:
        return dict(json.loads((path / "manifest.json").read_text(encoding="utf-8"))["about"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error})") from error


def remove_entry(path: Path) -> None:
    """Remove an entry, intact or damaged, by one rename before anything in it is deleted."""
    sweep(path)
    if path.exists():
        os.replace(path, path.with_name(f".{path.name}.removed.part"))
        sweep(path)


def has_entry(path: Path) -> bool:
    """Tell whether there is an entry, intact or damaged."""
    return path.exists() or bool(_replaced(path))


def sweep(path: Path) -> None:
    """Remove what killed processes left beside an entry, and undo a replacement cut in two; nobody else may be writing
    it.
    """
    if not path.exists():
        for old in _replaced(path)[:1]:
            os.replace(old, path)
    for old in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """Return a file's sha256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _replaced(path: Path) -> list[Path]:
    """Return the entry that was being replaced when its writer was killed, if any."""
    return list(path.parent.glob(f".{glob.escape(path.name)}.*{OLD}"))


@contextlib.contextmanager
def _disk_errors(path: Path, size: int) -> Iterator[None]:
    """Say what a full disk needs; safetensors reports the system's errors as its own."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        named = re.search(r"os error (\d+)", str(error))
        number = error.errno if isinstance(error, OSError) else int(named[1]) if named else None
        if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            free = shutil.disk_usage(path.parent).free
            raise ResourceError(
                f"could not write {path}: no space, needs {size / 2**20:.1f} MiB, has {free / 2**20:.1f} MiB free "
                f"({os.strerror(number)}); free some space or choose another folder. Nothing that was there is changed"
            ) from error
        if isinstance(error, SafetensorError):
            raise ResourceError(f"could not write {path}: {error}") from error
        raise


def flush(path: Path) -> None:
    """Have a file on the disk, or the names in a folder, where the system can: Windows opens no folders."""
    folder = path.is_dir()
    try:
        handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    except PermissionError:
        if folder:
            return
        raise
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
