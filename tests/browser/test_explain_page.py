"""The page of ``geco explain`` in a browser: nothing is fetched, and everybody can use it. ``make browser-test``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from geco.explain.explanation import save
from tests.browser.looking import SIZES, look, serious
from tests.explain.test_explain import on_path
from tests.explain.test_molecule import about

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a visitor saw; screenshots are kept in $GECO_SCREENSHOTS if that is set."""
    folder = tmp_path_factory.mktemp("look")
    save([on_path(), about("CC(=O)Oc1ccccc1C(=O)O")], folder / "why.html", "geco explain runs/mine --node f")
    return look(folder / "why.html", Path(os.environ.get("GECO_SCREENSHOTS", folder)))


def test_nothing_goes_wrong_and_nothing_is_fetched(seen: dict[str, Any]) -> None:
    assert seen["errors"] == []
    assert seen["fetched"] == []


@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_serious(size: str, seen: dict[str, Any]) -> None:
    assert serious(seen["axe"][size]) == []


@pytest.mark.parametrize("size", SIZES)
def test_the_page_is_as_wide_as_the_window(size: str, seen: dict[str, Any]) -> None:
    assert seen["overflow"][size] <= 0
