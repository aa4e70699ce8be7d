from __future__ import annotations

import pytest

from geco.data.encodings import Degree, LaplacianEigenvectors, RandomWalk, Relative
from geco.data.encodings.registry import parse
from geco.errors import UsageError
from geco.names import ENCODINGS


def test_names_are_those_of_the_arrays() -> None:
    assert all(parse(name).name == name.replace("-", "_") for name in ENCODINGS)


def test_sizes() -> None:
    assert parse("lap-pe:3") == LaplacianEigenvectors(3)
    assert parse("rwse:5") == RandomWalk(steps=5)
    assert parse("degree") == Degree()
    assert parse("rel-shortest-path:2") == Relative("shortest-path", rank=2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lap_pe", "did you mean lap-pe"),
        ("zzz", "There are lap-pe"),
        ("rwse:", "such as rwse:8"),
        ("rwse:-1", "rwse:8"),
        ("rwse:0", "at least 1"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(text)
