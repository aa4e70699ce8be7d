"""One HTML page in one file: no scripts, nothing fetched, readable in light and dark, on paper and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["bars", "facts", "page", "table"]

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --faint: #5b6470; --line: #d5dae0; --bar: #2f6fb2; }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181c; --text: #e3e7ec; --faint: #a0a9b4; --line: #3a414a; --bar: #6ea8e6; }
}
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 52rem; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2rem; font-size: 1.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .8rem .25rem 0; text-align: right; }
th { color: var(--faint); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
dt { color: var(--faint); } dd { margin: 0 0 .5rem; overflow-wrap: anywhere; }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--text); font: 13px system-ui, sans-serif; } svg rect { fill: var(--bar); }
footer {
  border-top: 1px solid var(--line); color: var(--faint); font-size: .85rem; margin-top: 3rem; padding-top: .5rem;
}
"""


def page(title: str, sections: Sequence[tuple[str, str]], footer: str = "") -> str:
    """Return a whole page.

    Args:
        title: plain text.
        sections: heading (plain text, may be empty) and content (HTML of the functions below).
        footer: plain text, such as which command made the page.

    Example:
        >>> page("Cora", [("Size", table([["what", "count"], ["nodes", "2,708"]]))]).count("<h2>")
        1
    """
    body = "\n".join((f"<h2>{escape(heading)}</h2>\n" if heading else "") + content for heading, content in sections)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{STYLE}</style>\n</head>\n<body>\n'
        f"<h1>{escape(title)}</h1>\n{body}\n<footer>{escape(footer)}</footer>\n</body>\n</html>\n"
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a table; the first row is its heading.

    Example:
        >>> table([["a<b"], ["1"]])
        '<div class="wide"><table>\n<tr><th>a&lt;b</th></tr>\n<tr><td>1</td></tr>\n</table></div>'
    """
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        lines.append("<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>")
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    r"""Return names with what they stand for, one below the other.

    Example:
        >>> facts([("licence", "MIT")])
        '<dl>\n<dt>licence</dt><dd>MIT</dd>\n</dl>'
    """
    return "<dl>\n" + "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in pairs) + "\n</dl>"


def bars(items: Sequence[tuple[str, float]], label: str) -> str:
    """Return horizontal bars as SVG.

    Args:
        items: name and count of each bar, counts at least 0.
        label: what the bars count, for those who cannot see them.

    Example:
        >>> bars([("1", 3), ("2-3", 1)], "nodes by degree").count("<rect")
        2
    """
    top = max((count for _, count in items), default=0) or 1
    height, left, right = 24, 110, 430  # px: of a bar with its gap, where bars start, length of the longest
    parts = []
    for row, (name, count) in enumerate(items):
        y, length = row * height, right * count / top
        parts.append(f'<text x="{left - 10}" y="{y + 16}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="{left}" y="{y + 3}" width="{max(length, 1 if count else 0):.1f}" height="17"/>')
        parts.append(f'<text x="{left + length + 8:.1f}" y="{y + 16}">{count:,}</text>')
    total, drawing = len(items) * height, "\n".join(parts)
    size = f'viewBox="0 0 660 {total}" width="660" height="{total}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">\n{drawing}\n</svg>'
