"""Pictures of docs/images, made again: ``make screenshots``; or, with a folder, every page of the site at two widths in
light and dark, to look at: ``python docs/_site/screenshots.py FOLDER``.
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from browser import address, chromium, picture

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
LARGEST = 150_000  # bytes of a picture


def main(words: list[str]) -> None:
    """Take the pictures."""
    if words:
        return look(Path(words[0]))
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        train = "train digits --seeds 0 1 2 --train.epochs 30 --train.threads 1"
        terminal = geco(folder, f"{train} --out runs/geco")
        geco(folder, f"{train} --model.name gcn --out runs/gcn")
        geco(folder, "report runs/geco runs/gcn -o page.html")
        keep("terminal.svg", drawn(f"geco {train} --out runs/geco", terminal).encode())
        keep("report.png", picture(browser, address(Path(folder) / "page.html"), 1000, 1180)[0])
        keep("report-phone.png", picture(browser, address(Path(folder) / "page.html"), 390, 700, dark=True)[0])


def geco(folder: str, words: str) -> str:
    """Run a command in a folder and return what it prints."""
    environment = {**os.environ, "GECO_CACHE": f"{folder}/cache", "COLUMNS": "100"}
    ran = subprocess.run(
        [sys.executable, "-m", "geco", *words.split()], cwd=folder, env=environment, text=True, capture_output=True,
        check=True,
    )  # fmt: skip
    return ran.stdout


def drawn(command: str, text: str) -> str:
    """Return a terminal's text as SVG."""
    lines = [f"$ {command}", *text.rstrip().splitlines()]
    height, width = 18 * len(lines) + 24, 8 * max(map(len, lines)) + 32
    rows = "".join(
        f'<text x="16" y="{18 * number + 26}" xml:space="preserve">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
        f'<title>{html.escape(command)}</title><rect width="100%" height="100%" rx="6" fill="#1b1f2a"/>'
        f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#d8dee9">{rows}</g></svg>\n'
    )


def keep(name: str, content: bytes) -> None:
    """Write a picture that is small enough for a repository."""
    if len(content) > LARGEST:
        raise SystemExit(f"{name} is {len(content):,} bytes, over {LARGEST:,}")
    (IMAGES / name).write_bytes(content)
    print(f"{name}  {len(content):,} bytes")


def look(folder: Path) -> None:
    """Take every page at 390 and 1,280 pixels, light and dark, and print what it complained of."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = sorted(set((ROOT / "site").rglob("*.html")) - {ROOT / "site" / "404.html"})  # that one is for a server
    for theme in ("light", "dark"):
        with chromium() as browser:  # a browser for each: a page remembers its theme
            for page in pages:
                for width in (390, 1280):
                    name = page.relative_to(ROOT / "site").with_suffix("").as_posix().replace("/", "-")
                    shot, said = picture(browser, address(page), width, 900, dark=theme == "dark")
                    (folder / f"{name}-{width}-{theme}.png").write_bytes(shot)
                    print(f"{name}, {width}, {theme}: {'; '.join(said) or 'nothing to say'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
