"""Pages instead of files, errors, redirects, silence."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from geco.data.fetch import download, http_request
from geco.data.fetch.download import fetch
from geco.data.registry.spec import Remote
from geco.errors import DataError
from tests.data.fetch.server import BODY, HALF, SHA256, Handler, Server, hang_up, only


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/octet-stream"])
def test_a_page_instead_of_a_file_is_refused(server: Server, tmp_path: Path, kind: str) -> None:
    page = b"\n <!DOCTYPE html><html>Sign in</html>"
    server.answer = lambda handler, number: handler.reply(page, Content_Type=kind)
    with pytest.raises(DataError, match=r"serves a web page.*put the file at .*data\.bin"):
        fetch(server.file(), tmp_path)
    assert only(tmp_path) == []
    assert len(server.ranges) == 1


def test_a_page_spares_the_part(server: Server, tmp_path: Path) -> None:
    server.answer = lambda handler, number: (
        hang_up(handler, BODY[:HALF]) if number == 1 else handler.reply(b"<html>", Content_Type="text/html")
    )
    with pytest.raises(DataError, match="web page"):
        fetch(server.file(), tmp_path)
    server.answer = lambda handler, number: handler.rest()
    assert fetch(server.file(), tmp_path).read_bytes() == BODY
    assert server.ranges[-1] == f"bytes={HALF}-"


def test_a_page_is_taken_where_one_is_wanted(server: Server, tmp_path: Path) -> None:
    server.answer = lambda handler, number: handler.reply(b"<html></html>", Content_Type="text/html")
    assert fetch(server.file("index.html"), tmp_path).read_bytes() == b"<html></html>"


def test_missing_and_busy(server: Server, tmp_path: Path) -> None:
    server.answer = lambda handler, number: handler.reply(b"", 404)
    with pytest.raises(DataError, match="answers 404 Not Found"):
        fetch(server.file(), tmp_path)
    assert len(server.ranges) == 1
    server.answer = lambda handler, number: handler.reply(b"", 503) if number < 4 else handler.rest()
    assert fetch(server.file(), tmp_path).read_bytes() == BODY
    assert len(server.ranges) == 4


def test_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "WAIT", 0.001)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening
        with pytest.raises(DataError, match=r"not reached.*5 times; try again later"):
            fetch(Remote(f"http://127.0.0.1:{taken.getsockname()[1]}/a", "a"), tmp_path)


def test_redirects(server: Server, tmp_path: Path) -> None:
    def answer(handler: Handler, number: int) -> None:
        if handler.path == "/data.bin":
            handler.reply(b"", 302, Location="/there")
        else:
            handler.rest()

    server.answer = answer
    assert fetch(server.file(), tmp_path).read_bytes() == BODY
    assert len(server.ranges) == 2


@pytest.mark.parametrize("target", ["http://example.org/x", "ftp://127.0.0.1/x", "file:///etc/passwd"])
def test_redirects_to_unsafe_places_are_refused(server: Server, tmp_path: Path, target: str) -> None:
    server.answer = lambda handler, number: handler.reply(b"", 302, Location=target)
    with pytest.raises(DataError):
        fetch(server.file(), tmp_path)
    assert "data.bin" not in only(tmp_path)


def test_https_never_leads_to_http() -> None:
    redirects, request = http_request._Redirects(), http_request.Request("https://example.org/a")
    with pytest.raises(DataError, match="not https"):
        redirects.redirect_request(request, None, 302, "", {}, "http://localhost/a")  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["http://example.org/a", "ftp://example.org/a", "file:///etc/passwd", "a"])
def test_unsafe_addresses_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(DataError, match="not a safe address"):
        fetch(Remote(url, "a"), tmp_path)


def test_a_stalled_server_is_left_and_continued(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT", 0.3)

    def answer(handler: Handler, number: int) -> None:
        if number == 1:
            handler.reply(BODY[:HALF], length=len(BODY))
            time.sleep(1)
        else:
            handler.rest()

    server.answer = answer
    assert fetch(server.file(sha256=SHA256), tmp_path).read_bytes() == BODY
    assert server.ranges == [None, f"bytes={HALF}-"]


def test_a_slow_server_is_waited_for(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "TIMEOUT", 0.5)

    def answer(handler: Handler, number: int) -> None:
        handler.reply(BODY[:HALF], length=len(BODY))
        for start in range(HALF, len(BODY), 92_000):  # 4 pieces, 0.8 s in all
            time.sleep(0.2)
            handler.wfile.write(BODY[start : start + 92_000])

    server.answer = answer
    assert fetch(server.file(), tmp_path).read_bytes() == BODY
    assert server.ranges == [None]
