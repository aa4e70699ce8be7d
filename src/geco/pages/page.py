"""A whole page in one file: nothing is fetched, and only the one script runs that stands in it."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from geco.pages.blocks import Block
from geco.pages.frame import symbols
from geco.pages.markup import element, text

__all__ = ["Page"]


class Page:
    """A page: ``Page(title, command).add(Table(...)).add(LineChart(...)).write(path)``.

    Args:
        title: of the page.
        command: which made it.
        about: what else a reader needs to judge it, such as versions and a date: name and text.
        refresh: seconds after which it looks for a newer version of itself; 0 never does.

    Example:
        >>> "<h1>Cora</h1>" in Page("Cora", "geco report runs/cora -o page.html", [("GECO", "0.1.0")]).html()
        True
    """

    def __init__(
        self, title: str, command: str = "", about: Sequence[tuple[str, str]] = (), refresh: float = 0.0
    ) -> None:
        self.title, self.command, self.about, self.refresh = title, command, tuple(about), refresh
        self.blocks: list[Block] = []

    def add(self, *blocks: Block) -> Page:
        """Put blocks at the end and return the page."""
        self.blocks.extend(blocks)
        return self

    def html(self) -> str:
        """Return the page."""
        style, script = (files("geco.pages").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
        known = b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{known}'"
        head = (
            f'<meta charset="utf-8">\n<title>{text(self.title)}</title>\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            f"<style>{style}</style>\n"
        )
        body = "\n".join(block.html() for block in self.blocks)
        refresh = f"{self.refresh:g}" if self.refresh else None
        main = element("main", self._head() + "\n" + body)
        whole = element("body", f"{symbols()}\n{main}\n<script>{script}</script>", data_refresh=refresh)
        return f'<!doctype html>\n<html lang="en">\n<head>\n{head}</head>\n{whole}\n</html>\n'

    def _head(self) -> str:
        """Return title, switches, command and versions."""
        pause = element("button", "Pause updates", type="button", class_="pause") if self.refresh else ""
        theme = element("button", "Theme: system", type="button", class_="theme")
        controls = element("div", pause + theme, class_="controls")
        command = element("pre", element("code", text(self.command)), class_="command", tabindex=0)
        facts = "".join(f"<div><dt>{text(name)}</dt><dd>{text(said)}</dd></div>" for name, said in self.about)
        about = element("dl", facts, class_="about") if facts else ""
        top = element("div", element("h1", text(self.title)) + controls, class_="top")
        return element("header", top + (command if self.command else "") + about)

    def write(self, path: Path) -> None:
        """Write the page in place of what there is; whoever reads meanwhile gets one of the two, whole."""
        from geco.store import write_file

        write_file(path, self.html().encode())
