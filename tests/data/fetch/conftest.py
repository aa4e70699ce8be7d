"""A server for the tests of downloads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from geco.data.fetch import download
from tests.data.fetch.server import Server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "WAIT", 0.001)
    monkeypatch.setattr(download, "TIMEOUT", 5.0)
    monkeypatch.delenv("GECO_OFFLINE", raising=False)
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
