"""Every name stands for something that there is, and settings offer it."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import get_args, get_type_hints

import pytest

from geco.data.registry import EMBEDDED
from geco.names import BASELINES, ENCODINGS, LOCALS, MIXERS
from geco.train.settings import ModelConfig

PLACES = {where for table in (BASELINES, LOCALS, MIXERS, ENCODINGS) for where in table.values()}


@pytest.mark.parametrize(
    "where", sorted({*PLACES, *(f"geco.data.embedded.{data.maker}" for data in EMBEDDED.values())})
)
def test_a_name_stands_for_something(where: str) -> None:
    assert callable(resolve_name(where))


def test_settings_offer_every_name() -> None:
    hints = get_type_hints(ModelConfig)
    assert get_args(hints["name"]) == ("geco", "hybrid", *BASELINES)
    assert get_args(hints["local"]) == (*LOCALS, "none")
    assert get_args(hints["mixer"]) == (*MIXERS, "none")
