"""Settings from all that may say them; words of the command line are in tests/cli/test_settings.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from geco.errors import UsageError
from geco.train.config import Config
from geco.train.configured import check_seeds, configured, over


def test_a_setting_is_that_of_the_table_else_the_file_else_the_data_sets_own(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[model]\nhidden = 4\nlayers = 7\n")
    own = configured("cora", [], {}, "here")
    found = configured("cora", [str(tmp_path / "c.toml")], {"model": {"hidden": 8}}, "here")
    assert (found.model.hidden, found.model.layers) == (8, 7)
    assert found.optim == own.optim != Config().optim
    assert found.data.name == "cora"


def test_a_shipped_file_comes_first(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("")
    with pytest.raises(UsageError, match=r"would undo .*c.toml; give it first"):
        over(Config(), [str(tmp_path / "c.toml"), "cora"])


def test_seeds_are_different_numbers() -> None:
    check_seeds([3, 1])
    with pytest.raises(UsageError, match="--seeds must be different numbers, at least one; got"):
        check_seeds([])
