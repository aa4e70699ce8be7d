"""The page of ``geco explain`` in a browser: nothing is fetched, and everybody can use it. ``make browser-test``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from geco.explain.explanation import save
from tests.explain.test_explain import on_path
from tests.explain.test_molecule import about

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZES = [f"{width}-{theme}" for width in (390, 1280) for theme in ("light", "dark")]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a visitor saw; screenshots are kept in $GECO_SCREENSHOTS if that is set."""
    browser, folder = (
        next((path for name in BROWSERS if (path := shutil.which(name))), None),
        tmp_path_factory.mktemp("look"),
    )
    if browser is None or shutil.which("node") is None or not (HERE / "node_modules" / "axe-core").is_dir():
        pytest.skip("needs Chromium, Node and what tests/browser/package.json names; `make browser-test` installs it")
    save([on_path(), about("CC(=O)Oc1ccccc1C(=O)O")], folder / "why.html", "geco explain runs/mine --node f")
    words = [
        "node",
        str(HERE / "look.mjs"),
        browser,
        str(folder / "why.html"),
        os.environ.get("GECO_SCREENSHOTS", str(folder)),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_nothing_goes_wrong_and_nothing_is_fetched(seen: dict[str, Any]) -> None:
    assert seen["errors"] == []
    assert seen["fetched"] == []


@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_serious(size: str, seen: dict[str, Any]) -> None:
    assert [found for found in seen["axe"][size] if found["impact"] in ("serious", "critical")] == []


@pytest.mark.parametrize("size", SIZES)
def test_the_page_is_as_wide_as_the_window(size: str, seen: dict[str, Any]) -> None:
    assert seen["overflow"][size] <= 0
