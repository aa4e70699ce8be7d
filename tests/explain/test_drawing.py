from __future__ import annotations

import importlib.util
from xml.etree import ElementTree

import pytest

from geco.errors import UsageError
from geco.explain.drawing import Dot, Drawing, Line, Words, shade

DRAWING = Drawing(
    "a <drawing>", [Line((0, 0), (80, 0), dashed=True)], [Dot((0, 0), 5, "#fff", "a & b"), Dot((80, 0), 5, "#000")],
    [Words((0, 20), "<b>")], ["a caption that is longer than the drawing is wide, so that it gets wider"],
)  # fmt: skip


def test_words_are_escaped() -> None:
    root = ElementTree.fromstring(DRAWING.svg())
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "<b>"
    titles = [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["a <drawing>", "a & b", ""] or titles == ["a <drawing>", "a & b", None]


def test_everything_is_inside() -> None:
    left, top, width, height = DRAWING.box
    assert left < -5
    assert left + width > 85
    assert width > 6 * len(DRAWING.caption[0])
    for words in (*DRAWING.words, *DRAWING.captions):
        assert top < words.at[1] < top + height


def test_shades_grow_with_strength_and_differ_by_sign() -> None:
    assert shade(-1, 1) != shade(1, 1)
    assert shade(-1, 0) == shade(1, 0)
    assert int(shade(-1, 0.2)[5:], 16) > int(shade(-1, 0.9)[5:], 16)


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs Matplotlib")
def test_png_is_drawn() -> None:
    assert DRAWING.png().startswith(b"\x89PNG")


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is not None, reason="Matplotlib is there")
def test_png_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="Matplotlib"):
        DRAWING.png()
