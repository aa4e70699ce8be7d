"""The site of ``make docs`` in a browser: everybody can use it. ``make docs browser-test``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.looking import SIZES, look, serious

SITE = Path(__file__).parents[2] / "site"
PAGES = ("index", "tutorials/tables", "how-to/choose", "reference/nn", "reference/symbols", "explain")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SITE.is_dir(), reason="needs the site that `make docs` builds")]


@pytest.mark.parametrize("page", PAGES)
def test_everybody_can_read_it(page: str, tmp_path: Path) -> None:
    seen = look(SITE / f"{page}.html", tmp_path)
    assert {size: serious(seen["axe"][size]) for size in SIZES} == {size: [] for size in SIZES}
    assert all(wider <= 0 for wider in seen["overflow"].values()), "nothing is wider than the window"
    assert not [address for address in seen["fetched"] if address.startswith(("http", "ws"))]
