"""Get a file from its publisher: once, whole, checked, and continued where it stopped.

The bytes go to ``<name>.part``; beside it ``<name>.part.json`` keeps the server's mark of this version of the file
(ETag or date), so a later start asks for the rest only if the file is still the same. A lock lets one process download,
others wait.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from filelock import FileLock, Timeout

from geco.console import progress_bytes
from geco.data.fetch import http_request
from geco.data.registry.spec import Remote
from geco.errors import DataError, ResourceError
from geco.store import flush

__all__ = ["fetch"]

logger = logging.getLogger(__name__)

TRIES = 5  # in a row that bring no further byte
WAIT = 1.0  # seconds before the second try, doubled for each further one
TIMEOUT = 60.0  # seconds without a byte
CHUNK = 2**18  # bytes


def fetch(remote: Remote, folder: Path, offline: bool = False) -> Path:
    """Return where a file is, downloading it if it is not there or not as it should be.

    Args:
        remote: its address (https only, or http on this machine), name, and size and checksum where known.
        folder: where it goes; made if it is missing.
        offline: raise DataError instead of downloading; also set by ``$GECO_OFFLINE``.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_text("abc")
        >>> fetch(Remote("https://example.org/a.txt", "a.txt", size=3), folder).name  # it is there
        'a.txt'
    """
    path = folder / remote.name
    fault = _fault(path, remote)
    if fault is None:
        return path
    if offline or os.environ.get("GECO_OFFLINE"):
        raise DataError(f"{path} {fault}, and downloads are off; get {remote.url} elsewhere and put it there")
    http_request.check_address(remote.url)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            fault = _fault(path, remote)  # another process may have brought it
            if fault is not None:
                logger.info(f"{path} {fault}; downloading it")
                _download(remote, path)
    except OSError as error:
        raise ResourceError(
            f"cannot write {path}: {error.strerror or error}; free some space or choose another folder"
        ) from error
    return path


def _fault(path: Path, remote: Remote) -> str | None:
    """Return what is wrong with a file, or None."""
    if not path.is_file():
        return "is not there"
    size = path.stat().st_size
    if remote.size not in (None, size):
        return f"has {size:,} bytes where {remote.size:,} were expected"
    for kind, wanted in (("sha256", remote.sha256), ("md5", remote.md5)):
        if wanted is not None and (found := _digest(path, kind)) != wanted.lower():
            return f"has the {kind} {found} where {wanted} was expected"
    return None


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        lock.acquire(timeout=1)
    except Timeout:
        logger.info(f"another process downloads {path}; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _download(remote: Remote, path: Path) -> None:
    """Bring the file, check it and put it in its place."""
    part, mark = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.part.json")
    _persist(remote, path, part, mark)
    fault = _fault(part, remote)
    mark.unlink(missing_ok=True)
    if fault is not None:
        part.unlink(missing_ok=True)
        raise DataError(
            f"what {remote.url} serves {fault}; it was removed. Try again later, or put the right file at {path}"
        )
    if remote.sha256 is None and remote.md5 is None:
        logger.info(f"{path}: no checksum is known to compare with; its sha256 is {_digest(part, 'sha256')}")
    os.replace(part, path)
    flush(path.parent)


def _persist(remote: Remote, path: Path, part: Path, mark: Path) -> None:
    """Try until the part is complete, or several tries in a row brought nothing."""
    best = tries = 0
    while True:
        try:
            return _attempt(remote, path, part, mark)
        except http_request.Lost as error:
            if isinstance(error, http_request.Stale):
                mark.unlink(missing_ok=True)
            size = _size(part)
            tries, best = (1, size) if size > best else (tries + 1, best)
            if tries >= TRIES:
                raise DataError(
                    f"cannot download {remote.url}: {error}, {tries} times; try again later (what came is kept), "
                    f"or put the file at {path}"
                ) from error
            wait = WAIT * 2 ** (tries - 1)
            logger.warning(f"{path.name}: {error}; trying again in {wait:.0f} s")
            time.sleep(wait)


def _attempt(remote: Remote, path: Path, part: Path, mark: Path) -> None:
    """Ask once for what is missing and write what comes."""
    start = _size(part)
    try:
        response = http_request.request(remote.url, start, _version(mark, remote.url), TIMEOUT)
    except http_request.NothingMissing:
        return
    with response:
        if path.suffix not in (".html", ".htm") and http_request.looks_like_a_page(response):
            raise DataError(
                f"{remote.url} serves a web page, not the file; open it in a browser and put the file at {path}"
            )
        if response.status == 200:  # the whole file: the server ignores the range or has another version
            start = 0
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            raise http_request.Stale("the server sent another part than was asked for")
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() else None
        _check_size(remote, part, start, total)
        if start == 0:
            mark.write_text(
                json.dumps({"url": remote.url, "version": http_request.version(response)}), encoding="utf-8"
            )
        _write(response, part, start, total)


def _check_size(remote: Remote, part: Path, start: int, total: int | None) -> None:
    if None not in (remote.size, total) and remote.size != total:
        raise DataError(
            f"{remote.url} offers {total:,} bytes where {remote.size:,} were expected; it may have been replaced"
        )
    free = shutil.disk_usage(part.parent).free
    missing = (total or remote.size or 0) - start
    if missing > free:
        raise ResourceError(
            f"{remote.name} needs {missing:,} bytes more and the disk of {part.parent} has {free:,} free"
        )


def _write(response: HTTPResponse, part: Path, start: int, total: int | None) -> None:
    with part.open("r+b" if start else "wb") as file:
        size = file.seek(start)
        file.truncate()
        for data in progress_bytes(_chunks(response), part.stem, total, start):
            size += file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if total is not None and size < total:
        raise http_request.Lost(f"the connection ended at {size:,} of {total:,} bytes")


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    try:
        while data := response.read1(CHUNK):
            yield data
    except (OSError, HTTPException) as error:
        raise http_request.Lost(f"the connection was lost ({error or type(error).__name__})") from error


def _version(mark: Path, url: str) -> str | None:
    """Return the server's mark of the version that the part is of, if it is known."""
    try:
        found = json.loads(mark.read_text(encoding="utf-8"))
        return str(found["version"]) if found["url"] == url and found["version"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
