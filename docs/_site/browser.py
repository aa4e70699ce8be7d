"""Chromium over its debugging port: any width, light or dark, and what a page says to the console."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-port=0"
)


@contextmanager
def chromium(program: str = "chromium") -> Iterator[str]:
    """Start a browser of its own and give its address; end it afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = [program, *FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as browser:
            assert browser.stderr is not None
            for line in browser.stderr:
                if found := re.search(r"listening on ws://([^/]+)/", line):
                    break
            else:
                raise SystemExit(f"{program} did not start")
            try:
                yield f"http://{found[1]}"
            finally:
                browser.terminate()


def picture(browser: str, page: str, width: int, height: int, *, dark: bool = False) -> tuple[bytes, list[str]]:
    """Return a page as PNG, and what it complained of or fetched from elsewhere.

    Args:
        browser: address from `chromium`.
        page: a URL.
        width: of the window, in CSS pixels.
        height: the same; 0 for all of the page.
        dark: whether the system prefers dark.
    """
    return asyncio.run(_picture(browser, page, width, height, dark))


async def _picture(browser: str, page: str, width: int, height: int, dark: bool) -> tuple[bytes, list[str]]:
    async with aiohttp.ClientSession() as session:
        async with session.put(f"{browser}/json/new?about:blank") as answer:
            tab = await answer.json(content_type=None)
        async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            talk = _Talk(socket)
            for domain in ("Page", "Runtime", "Log", "Network"):
                await talk.ask(f"{domain}.enable")
            size = {"width": width, "height": height or 900, "deviceScaleFactor": 1, "mobile": width < 500}
            await talk.ask("Emulation.setDeviceMetricsOverride", **size)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            await talk.ask("Emulation.setEmulatedMedia", features=[scheme])
            await talk.ask("Page.navigate", url=page)
            await talk.until("Page.loadEventFired")
            await asyncio.sleep(0.5)
            shot = await talk.ask("Page.captureScreenshot", format="png", captureBeyondViewport=height == 0)
            wide = await talk.ask("Runtime.evaluate", expression="document.documentElement.scrollWidth")
        async with session.get(f"{browser}/json/close/{tab['id']}"):
            pass
    if wide["result"]["value"] > width:
        talk.said.append(f"{wide['result']['value']} pixels wide in a window of {width}")
    return base64.b64decode(shot["data"]), talk.said


class _Talk:
    """Questions and answers, and what is heard between them."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket, self.numbers, self.said = socket, itertools.count(1), list[str]()

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer."""
        number = next(self.numbers)
        await self.socket.send_json({"id": number, "method": method, "params": params})
        while True:
            heard = await self._hear()
            if heard.get("id") == number:
                return heard["result"]

    async def until(self, event: str) -> None:
        """Wait for an event."""
        while (await self._hear()).get("method") != event:
            pass

    async def _hear(self) -> dict[str, Any]:
        heard: dict[str, Any] = json.loads((await self.socket.receive()).data)
        method, about = heard.get("method"), heard.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.said.append(about["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.said.append(about["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] == "error":
            self.said.append(str(about["args"]))
        elif method == "Network.requestWillBeSent" and about["request"]["url"].startswith(("http", "ws")):
            self.said.append(f"fetches {about['request']['url']}")
        return heard


def address(path: Path) -> str:
    """Return the URL of a file."""
    return path.resolve().as_uri()
