"""The report in a browser: what people press does what it says, and everybody can use it. ``make browser-test``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from geco.report.folders import find
from geco.report.runs import runs_page
from tests.made_runs import VALUES, made_run

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZES = [f"{width}-{theme}" for width in (390, 1280) for theme in ("light", "dark")]

pytestmark = pytest.mark.slow


def _browser() -> str:
    """Return the browser, or skip with what is missing."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium, such as of the package chromium")
    if shutil.which("node") is None or not (HERE / "node_modules" / "axe-core").is_dir():
        pytest.skip("needs Node and what tests/browser/package.json names; `make browser-test` installs it")
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a visitor saw; screenshots are kept in $GECO_SCREENSHOTS if that is set."""
    browser, folder = _browser(), tmp_path_factory.mktemp("visit")
    for name, level in (("gcn", 0.7), ("gat", 0.9), ("geco", 0.8)):
        for seed in (0, 1):
            made_run(folder / "runs" / name / f"seed-{seed}", seed=seed, epochs=40, model=name, level=level)
    made_run(folder / "runs" / "homes" / "seed-0", epochs=9, info=VALUES, level=2.0, finished=False)
    (folder / "runs" / "odd" / "seed-0").mkdir(parents=True)
    runs_page(find([folder / "runs"]), "geco report runs -o page.html").write(folder / "page.html")
    shots = os.environ.get("GECO_SCREENSHOTS", str(folder))
    words = ["node", str(HERE / "visit.mjs"), browser, str(folder / "page.html"), shots]
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


def test_a_heading_sorts_the_table(seen: dict[str, Any]) -> None:
    before, down, up = seen["sort"]
    assert before["said"] == "none"
    assert (down["said"], down["order"]) == ("descending", ["gat", "geco", "gcn", "a guess"])
    assert (up["said"], up["order"]) == ("ascending", ["a guess", "gcn", "geco", "gat"])


def test_a_run_is_hidden(seen: dict[str, Any]) -> None:
    hide = seen["hide"]
    assert (hide["before"] - hide["after"], hide["pressed"]) == (1, "false")
    assert hide["faded"] == 2, "its rows fade in the tables of scores and of differences"


def test_pointing_shows_values(seen: dict[str, Any]) -> None:
    lines = seen["hover"].splitlines()
    assert lines[0].startswith("epoch ")
    assert "gat" not in seen["hover"], "it is hidden"
    assert "geco" in seen["hover"]


def test_keys_read_values_aloud(seen: dict[str, Any]) -> None:
    assert seen["heard"].startswith("epoch 40; ")
    assert seen["values"] == 40


def test_tabs_follow_the_arrow_keys(seen: dict[str, Any]) -> None:
    assert seen["tab"] == "Curve: test"


def test_the_theme_follows_the_system_until_it_is_chosen(seen: dict[str, Any]) -> None:
    light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 26)"
    assert seen["themes"] == [["Theme: system", light], ["Theme: light", light], ["Theme: dark", dark]]


def test_choices_outlive_a_reload(seen: dict[str, Any]) -> None:
    assert seen["after"] == {
        "theme": "rgb(20, 23, 26)", "order": seen["sort"][2]["order"], "pressed": seen["after"]["pressed"],
        "tab": "Curve: test",
    }  # fmt: skip
    assert seen["after"]["pressed"] > 0


def test_it_prints_on_white_paper_without_buttons(seen: dict[str, Any]) -> None:
    assert seen["print"]["start"] == "%PDF-"
    assert 1 <= seen["print"]["pages"] <= 8
    assert (seen["print"]["back"], seen["print"]["controls"]) == ("rgb(255, 255, 255)", False)


def test_without_scripts_all_is_shown(seen: dict[str, Any]) -> None:
    assert seen["plain"] == {"charts": 14, "tabs": 0}
