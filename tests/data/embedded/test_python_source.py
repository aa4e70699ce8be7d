"""Names and syntax trees of Python sources."""

from __future__ import annotations

import pytest

from geco.data.embedded.python_source import parse, subtokens


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("get_value", ["get", "value"]),
        ("getHTTPResponse", ["get", "http", "response"]),
        ("__private", ["private"]),
        ("UTF8Decoder", ["utf8", "decoder"]),
        ("md5", ["md5"]),
        ("assertEQ", ["assert", "eq"]),
        ("isX", ["is", "x"]),
        ("b64_2x", ["b64", "2", "x"]),
        ("_", []),
        ("setUp", ["set", "up"]),
    ],
)
def test_names_are_split(name: str, wanted: list[str]) -> None:
    assert subtokens(name) == wanted


def test_deep_trees_need_no_recursion() -> None:
    module = parse("x = " + " + ".join(["1"] * 900), "deep")
    assert max(module.depth) > 850
    assert len(module.types) == len(module.parent) == len(module.texts)
