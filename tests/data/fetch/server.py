"""A server on this machine that answers as a test wants it to."""

from __future__ import annotations

import hashlib
import http.server
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geco.data.registry.spec import Remote

BODY = bytes(range(256)) * 3000  # 768,000 bytes
SHA256 = hashlib.sha256(BODY).hexdigest()
HALF = 400_000

Answer = Callable[["Handler", int], None]  # how the server answers its n-th request


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.ranges.append(self.headers.get("Range"))
            number = len(self.server.ranges)
        self.server.answer(self, number)

    def log_message(self, *args: Any) -> None:
        pass

    def reply(self, body: bytes, status: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in {"ETag": '"one"', **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def rest(self, body: bytes = BODY, etag: str = '"one"') -> None:
        """Honour a range if it is of this version."""
        asked = self.headers.get("Range")
        if asked is None or self.headers.get("If-Range") != etag:
            return self.reply(body, ETag=etag)
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start >= len(body):
            return self.reply(b"", 416, Content_Range=f"bytes */{len(body)}")
        return self.reply(body[start:], 206, ETag=etag, Content_Range=f"bytes {start}-{len(body) - 1}/{len(body)}")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges: list[str | None] = []  # of each request
        self.lock = threading.Lock()
        self.answer: Answer = lambda handler, number: handler.rest()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # the client may hang up

    def file(self, name: str = "data.bin", **known: Any) -> Remote:
        return Remote(f"http://127.0.0.1:{self.server_port}/{name}", name, **known)


def only(folder: Path) -> list[str]:
    """Names in a folder but for locks."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def hang_up(handler: Handler, body: bytes, **headers: str) -> None:
    """Promise all, send this much, cut the connection."""
    handler.reply(body, length=len(BODY), **headers)
    handler.connection.shutdown(socket.SHUT_RDWR)
