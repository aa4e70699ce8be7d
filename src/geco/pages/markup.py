"""HTML from Python: elements with their attributes escaped, numbers as short as they may be."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from html import escape
from typing import Any

__all__ = ["data", "element", "fixed", "text"]


def text(plain: str) -> str:
    """Return plain text as HTML."""
    return escape(plain, quote=False)


def element(name: str, content: str = "", /, **attributes: str | float | bool | None) -> str:
    """Return an element.

    Args:
        name: of the element.
        content: HTML inside it.
        attributes: their values, escaped here; ``class_`` is class, ``data_x`` data-x; True stands bare, None and False
            are left out.

    Example:
        >>> element("td", text("a < b"), class_="best", data_value=0.5, hidden=False)
        '<td class="best" data-value="0.5">a &lt; b</td>'
        >>> element("line", x1="0%")
        '<line x1="0%"/>'
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    alone = not content and name in ("line", "path", "polyline", "rect", "use")
    return f"<{name}{given}/>" if alone else f"<{name}{given}>{content}</{name}>"


def fixed(value: float, places: int = 1) -> str:
    """Return a number without zeros that say nothing.

    Example:
        >>> fixed(12.04), fixed(12.25), fixed(-0.01)
        ('12', '12.2', '0')
    """
    found = f"{value:.{places}f}".rstrip("0").rstrip(".") if places else f"{value:.0f}"
    return "0" if found == "-0" else found


def data(value: Any) -> str:
    r"""Return facts for the page's script, as JSON that cannot end its element; numbers have five digits, and what is
    not finite is null.

    Example:
        >>> print(data({"name": "</script>", "y": [0.1234567, float("nan")]}))
        <script type="application/json">{"name":"\u003c/script>","y":[0.12346,null]}</script>
    """
    whole = json.dumps(_short(value), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json">{whole}</script>'


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_short(inner) for inner in value]
    return value
