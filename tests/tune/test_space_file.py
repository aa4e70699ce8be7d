from __future__ import annotations

import re
from pathlib import Path

import pytest

from geco.errors import UsageError
from geco.train.config import Config, ModelConfig
from geco.tune.space import FAMILIES, Choice, Real, Whole, default_space
from geco.tune.space_file import read_space, space_of, space_toml, with_values

BASE = Config()


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(
        "[optim]\nlr = {low = 0.001, high = 1, log = true}\n"
        "[model]\nlayers = {low = 1, high = 5, step = 2}\ndropout = {low = 0, high = 0.5, step = 0.25}\n"
        "[data]\nencodings = [[], ['degree', 'rwse:4']]\n"
    )
    assert read_space(path, BASE) == {
        "optim.lr": Real(0.001, 1.0, log=True),
        "model.layers": Whole(1, 5, step=2),
        "model.dropout": Real(0.0, 0.5, step=0.25),
        "data.encodings": Choice(((), ("degree", "rwse:4"))),
    }


@pytest.mark.parametrize("name", ["hybrid", "mlp", *FAMILIES])
def test_every_table_can_be_written_and_read_back(name: str, tmp_path: Path) -> None:
    space = default_space(ModelConfig(name=name), "graph")
    (tmp_path / "space.toml").write_text(space_toml(space))
    assert read_space(tmp_path / "space.toml", Config(model=ModelConfig(name=name))) == space


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "holds no setting to try"),
        ("[model]", "holds no setting to try"),
        ("[model", "is not TOML"),
        ("[model]\nhiden = [1]", "unknown setting model.hiden; did you mean model.hidden?"),
        ("[modle]\nhidden = [1]", "unknown setting modle; did you mean model"),
        ("lr = [0.1]", "unknown setting lr; did you mean optim.lr?"),
        ("model = 3", "model must be a table of settings"),
        ("[train]\nepochs = [1]", "train.epochs is the same for all trials"),
        ("[model]\nname = ['gcn']", "model.name is the same for all trials"),
        ("[model]\nhidden = []", "must be a list of different values"),
        ("[model]\nhidden = [8, 8]", "must be a list of different values"),
        ("[model]\nhidden = 8", "must be a list of values, or {low = ..., high = ...}"),
        ("[model]\nhidden = [8, 'x']", "model.hidden must be int, got 'x'"),
        ("[model]\nact = ['rely']", "model.act must be one of relu, gelu, got 'rely' (did you mean relu?)"),
        ("[model]\nact = {low = 1, high = 2}", "is not a number and has no range"),
        ("[model]\nblock_norm = {low = 0, high = 1}", "is not a number and has no range"),
        ("[optim.lr]\nlow = 0.1", "has no high"),
        ("[optim.lr]\nlow = 0.1\nhihg = 1", "unknown bound hihg; did you mean high?"),
        ("[optim.lr]\nlow = 0.1\nhigh = 0.01", "low must be at most high"),
        ("[optim.lr]\nlow = nan\nhigh = 0.01", "low must be at most high and both finite"),
        ("[optim.lr]\nlow = 0\nhigh = 0.1\nlog = true", "log needs low above 0, got 0"),
        ("[optim.lr]\nlow = 0.1\nhigh = 0.2\nlog = 1", "log must be true or false"),
        ("[optim.lr]\nlow = 0.1\nhigh = 0.2\nstep = 0", "step must be above 0, got 0"),
        ("[optim.lr]\nlow = 0.1\nhigh = 0.2\nstep = 0.07", "do not lead from low 0.1 to high 0.2"),
        ("[optim.lr]\nlow = 0.1\nhigh = 0.2\nstep = 0.1\nlog = true", "log and step exclude each other"),
        ("[optim.lr]\nlow = '0.1'\nhigh = 0.2", "low must be a number, got '0.1'"),
        ("[model.hidden]\nlow = 1.5\nhigh = 2", "low must be a whole number, got 1.5"),
        ("[model.dropout]\nlow = 0\nhigh = 1.5", "--model.dropout must be in [0, 1), got 1.5"),
        ("[data]\nencodings = [['lappe']]", "did you mean lap-pe?"),
    ],
)
def test_what_is_wrong_is_one_clear_line(text: str, wanted: str, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(wanted)) as caught:
        read_space(path, BASE)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the search space"):
        read_space(tmp_path / "none.toml", BASE)
    (tmp_path / "large.toml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(UsageError, match="is it the right file"):
        read_space(tmp_path / "large.toml", BASE)


def test_a_value_that_suits_only_some_others_may_stay() -> None:
    both = {"filter": ["mean", "windows"], "filter_start": ["silent", "drawn"]}
    assert set(space_of({"model": both}, BASE, "here")) == {"model.filter", "model.filter_start"}
    with pytest.raises(UsageError, match="filter-start drawn is for"):
        space_of({"model": {"filter_start": ["drawn"]}}, BASE, "here")


def test_values_go_over_a_configuration() -> None:
    config = with_values(BASE, {"data.encodings": ("degree",), "optim.lr": 0.5}, "here")
    assert (config.data.encodings, config.optim.lr, config.model) == (("degree",), 0.5, BASE.model)
