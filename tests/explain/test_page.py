from __future__ import annotations

from dataclasses import replace

from geco.explain.page import page
from tests.explain.test_explain import on_path


def test_names_are_escaped_and_nothing_is_fetched() -> None:
    found = on_path()
    nasty = replace(found, asked="node <script>", nodes=(replace(found.nodes[0], name="<b>d</b>"), *found.nodes[1:]))
    html = page([nasty], "geco explain runs/mine").html()
    assert "<b>d</b>" not in html
    assert "node <script>" not in html
    assert "&lt;b&gt;d" in html
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_it_has_a_picture_and_the_tables() -> None:
    html = page([on_path()]).html()
    assert html.count("<table") == 3  # nodes, parts, edges
    assert html.count('<svg style="max-width:100%') == 1
