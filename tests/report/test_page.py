from __future__ import annotations

import re

from geco.report.page import bars, facts, page, table


def test_text_is_never_markup() -> None:
    bad = '<script>x</script>&"'
    whole = page(bad, [(bad, table([[bad], [bad]]) + facts([(bad, bad)]) + bars([(bad, 1)], bad))], bad)
    assert "<script" not in whole
    assert whole.count("&lt;script&gt;") == 10


def test_bars_are_in_proportion_and_few_are_not_none() -> None:
    drawing = bars([("a", 10**6), ("b", 5 * 10**5), ("c", 1), ("d", 0)], "counts")
    widths = [float(width) for width in re.findall(r'<rect[^>]* width="([^"]+)"', drawing)]
    assert widths[1] == widths[0] / 2
    assert widths[2:] == [1, 0]
    assert "1,000,000" in drawing


def test_no_bars_at_all() -> None:
    assert "<rect" not in bars([], "counts")
