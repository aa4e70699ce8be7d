"""Looks at a page in Chromium, in two widths and themes, with axe-core."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZES = [f"{width}-{theme}" for width in (390, 1280) for theme in ("light", "dark")]


def look(page: Path, screenshots: Path) -> dict[str, Any]:
    """Return what a visitor saw; the test is skipped where the tools are not installed."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None or shutil.which("node") is None or not (HERE / "node_modules" / "axe-core").is_dir():
        pytest.skip("needs Chromium, Node and what tests/browser/package.json names; `make browser-test` installs it")
    words = ["node", str(HERE / "look.mjs"), browser, str(page), str(screenshots)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def serious(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what axe calls serious or worse."""
    return [each for each in found if each["impact"] in ("serious", "critical")]
