"""Downloads from servers that behave badly: a whole file or a clear line, never a wrong file."""

from __future__ import annotations

import hashlib
import logging
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from geco.data.fetch import download
from geco.data.fetch.download import fetch
from geco.data.registry.spec import Remote
from geco.errors import DataError, ResourceError
from tests.data.fetch.server import BODY, HALF, SHA256, Handler, Server, hang_up, only


def test_a_file_comes_whole_once_and_its_sum_is_told(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "geco")
    path = fetch(server.file(), tmp_path / "new" / "folder")
    assert path.read_bytes() == BODY
    assert SHA256 in caplog.text
    assert only(path.parent) == ["data.bin"]
    assert fetch(server.file(), path.parent) == path
    assert server.ranges == [None]


@pytest.mark.parametrize(
    "known", [{"sha256": SHA256.upper()}, {"md5": hashlib.md5(BODY).hexdigest()}, {"size": len(BODY)}]
)
def test_a_known_sum_or_size_is_compared(server: Server, tmp_path: Path, known: dict[str, Any]) -> None:
    assert fetch(server.file(**known), tmp_path).read_bytes() == BODY


@pytest.mark.parametrize("known", [{"sha256": "0" * 64}, {"md5": "0" * 32}])
def test_a_wrong_sum_is_refused_and_removed(server: Server, tmp_path: Path, known: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="0000 was expected; it was removed"):
        fetch(server.file(**known), tmp_path)
    assert only(tmp_path) == []


def test_a_damaged_file_is_fetched_anew(server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "geco")
    (tmp_path / "data.bin").write_bytes(BODY[:-1] + b"x")
    assert fetch(server.file(sha256=SHA256), tmp_path).read_bytes() == BODY
    assert "has the sha256" in caplog.text


def test_it_continues_where_the_connection_died(server: Server, tmp_path: Path) -> None:
    server.answer = lambda handler, number: hang_up(handler, BODY[:HALF]) if number == 1 else handler.rest()
    assert fetch(server.file(sha256=SHA256), tmp_path).read_bytes() == BODY
    assert server.ranges == [None, f"bytes={HALF}-"]


def test_a_later_start_continues(server: Server, tmp_path: Path) -> None:
    server.answer = lambda handler, number: (
        hang_up(handler, BODY[:HALF]) if number == 1 else handler.connection.shutdown(socket.SHUT_RDWR)
    )
    with pytest.raises(DataError, match=r"closed connection.*5 times; try again later \(what came is kept\)"):
        fetch(server.file(), tmp_path)
    assert only(tmp_path) == ["data.bin.part", "data.bin.part.json"]
    server.answer = lambda handler, number: handler.rest()
    assert fetch(server.file(), tmp_path).read_bytes() == BODY
    assert server.ranges[-1] == f"bytes={HALF}-"


def test_many_losses_are_survived_while_bytes_come(server: Server, tmp_path: Path) -> None:
    def answer(handler: Handler, number: int) -> None:
        start = int((handler.headers.get("Range") or "bytes=0-")[6:-1])
        piece = BODY[start : start + 100_000]
        status, headers = (206, {"Content_Range": f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"}) if start else (200, {})
        handler.reply(piece, status, length=len(BODY) - start, **headers)

    server.answer = answer
    assert fetch(server.file(sha256=SHA256), tmp_path).read_bytes() == BODY
    assert len(server.ranges) == 8 > download.TRIES


def test_a_server_that_ignores_ranges_starts_anew(server: Server, tmp_path: Path) -> None:
    server.answer = lambda handler, number: hang_up(handler, BODY[:HALF]) if number == 1 else handler.reply(BODY)
    assert fetch(server.file(sha256=SHA256), tmp_path).read_bytes() == BODY
    assert server.ranges == [None, f"bytes={HALF}-"]


def test_another_version_starts_anew(server: Server, tmp_path: Path) -> None:
    other = BODY[::-1]
    server.answer = lambda handler, number: (
        hang_up(handler, BODY[:HALF]) if number == 1 else handler.rest(other, '"two"')
    )
    assert fetch(server.file(), tmp_path).read_bytes() == other


@pytest.mark.parametrize("etag", ['W/"weak"', ""])
def test_without_a_sure_version_it_starts_anew(server: Server, tmp_path: Path, etag: str) -> None:
    server.answer = lambda handler, number: (
        hang_up(handler, BODY[:HALF], ETag=etag) if number == 1 else handler.reply(BODY)
    )
    assert fetch(server.file(), tmp_path).read_bytes() == BODY
    assert server.ranges == [None, None]


def test_the_wrong_part_is_not_taken(server: Server, tmp_path: Path) -> None:
    def answer(handler: Handler, number: int) -> None:
        if number == 1:
            hang_up(handler, BODY[:HALF])
        elif number == 2:
            handler.reply(BODY[5:], 206, Content_Range=f"bytes 5-{len(BODY) - 1}/{len(BODY)}")
        else:
            handler.rest()

    server.answer = answer
    assert fetch(server.file(), tmp_path).read_bytes() == BODY
    assert server.ranges == [None, f"bytes={HALF}-", None]


def test_a_part_longer_than_the_file_starts_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.bin.part").write_bytes(BODY + b"more")
    (tmp_path / "data.bin.part.json").write_text(f'{{"url": "{server.file().url}", "version": "\\"one\\""}}')
    assert fetch(server.file(sha256=SHA256), tmp_path).read_bytes() == BODY
    assert server.ranges == [f"bytes={len(BODY) + 4}-", None]


def test_a_part_that_is_whole_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.bin.part").write_bytes(BODY)
    (tmp_path / "data.bin.part.json").write_text(f'{{"url": "{server.file().url}", "version": "\\"one\\""}}')
    assert fetch(server.file(sha256=SHA256), tmp_path).read_bytes() == BODY
    assert only(tmp_path) == ["data.bin"]


def test_a_truncated_body_is_refused(server: Server, tmp_path: Path) -> None:
    server.answer = lambda handler, number: handler.reply(BODY[:HALF], length=len(BODY), ETag="")
    with pytest.raises(DataError, match="ended at 400,000 of 768,000 bytes"):
        fetch(server.file(), tmp_path)
    assert "data.bin" not in only(tmp_path)


@pytest.mark.parametrize("known", [{"size": len(BODY)}, {"sha256": SHA256}])
def test_a_length_that_is_too_small_is_refused(server: Server, tmp_path: Path, known: dict[str, Any]) -> None:
    server.answer = lambda handler, number: handler.reply(BODY, length=HALF)
    with pytest.raises(DataError, match="expected"):
        fetch(server.file(**known), tmp_path)
    assert "data.bin" not in only(tmp_path)


def test_a_full_disk_is_told(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = download.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(download.shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(ResourceError, match=r"needs 768,000 bytes more .* 1,000 free"):
        fetch(server.file(), tmp_path)
    monkeypatch.setattr(download.shutil, "disk_usage", lambda path: usage)

    def full(*args: Any) -> Iterator[bytes]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "progress_bytes", full)
    with pytest.raises(ResourceError, match="No space left on device"):
        fetch(server.file(), tmp_path)
    assert "data.bin" not in only(tmp_path)


def test_offline_says_what_to_put_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Remote("https://example.org/a.zip", "a.zip", size=3)
    with pytest.raises(
        DataError, match=r"a\.zip is not there, and downloads are off; get https://example.org/a.zip elsewhere"
    ):
        fetch(remote, tmp_path, offline=True)
    monkeypatch.setenv("GECO_OFFLINE", "1")
    (tmp_path / "a.zip").write_bytes(b"four")
    with pytest.raises(DataError, match="has 4 bytes where 3 were expected"):
        fetch(remote, tmp_path)
    (tmp_path / "a.zip").write_bytes(b"abc")
    assert fetch(remote, tmp_path) == tmp_path / "a.zip"


def test_two_processes_download_once(server: Server, tmp_path: Path) -> None:
    def answer(handler: Handler, number: int) -> None:
        time.sleep(0.5)  # both are started by then
        handler.rest()

    server.answer = answer
    code = (
        "import sys; from pathlib import Path; from geco.data.fetch.download import fetch;"
        "from geco.data.registry.spec import Remote;"
        "print(fetch(Remote(sys.argv[1], 'data.bin'), Path(sys.argv[2])).stat().st_size)"
    )
    command = [sys.executable, "-c", code, server.file().url, str(tmp_path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(2)]
    assert [process.communicate(timeout=60)[0].strip() for process in both] == [str(len(BODY))] * 2
    assert server.ranges == [None]
