"""Settings as keywords: each has one, and messages of flags say them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from geco.errors import DataErrors, UsageError
from geco.train.spelling import KINDS, in_python, keywords, table


def test_every_setting_has_a_keyword_of_its_own() -> None:
    settings = [(section, field.name) for section, kind in KINDS.items() for field in dataclasses.fields(kind)]
    settings.remove(("data", "name"))  # the data is what is given
    assert sorted(keywords().values()) == sorted(settings)


def test_numbers_of_numpy_and_tuples_are_plain() -> None:
    found = table({"hidden": np.int64(8), "lr": np.float32(0.5), "encodings": ("rwse:4",)})
    assert found["model"] == {"hidden": 8}
    assert found["optim"] == {"lr": 0.5}
    assert found["data"] == {"encodings": ["rwse:4"]}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("lower --optim.lr", "lower lr="),
        ("--model.filter-gain l1 is for --model.filter paper", "filter_gain= l1 is for filter= paper"),
        ("go on with --resume auto, or choose another --out", "go on with resume=True, or choose another out="),
        ("--model.name is unknown; `geco train --help`", "model= is unknown; `geco train --help`"),
        ("fit: train.epochs must be int", "fit: epochs= must be int"),
        ("two-sided -- as it were", "two-sided -- as it were"),
    ],
)
def test_flags_are_said_as_keywords(said: str, wanted: str) -> None:
    with pytest.raises(UsageError) as error, in_python():
        raise UsageError(said)
    assert str(error.value) == wanted


def test_several_problems_stay_several() -> None:
    with pytest.raises(DataErrors) as error, in_python():
        raise DataErrors(["give --label", "b"])
    assert str(error.value) == "give label=\nb"
