"""The words of `geco train`: read once, in any order, over the configurations they name."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from geco.cli.main import main
from geco.cli.settings import TrainOptions, read
from geco.configs import shipped
from geco.data.dataset import GraphDataset
from geco.errors import UsageError
from geco.train.config import Config, DataConfig, ModelConfig, read_toml, to_toml
from tests.cli.conftest import Run

PHOTO = read_toml(shipped()["amazon-photo"])


def settings(options: TrainOptions) -> Config:
    """Configuration of the first seed."""
    return options.resolved(options.seeds[0])


@pytest.mark.parametrize("words", list(itertools.permutations([("amazon-photo",), ("--offline",), ("--out", "x")])))
def test_the_data_set_is_found_wherever_it_stands(words: tuple[tuple[str, ...], ...]) -> None:
    options = read([word for group in words for word in group])
    assert settings(options) == PHOTO
    assert replace(Config(), data=PHOTO.data) != PHOTO, "its configuration is not the default"
    assert (options.dataset, options.offline, options.out) == ("amazon-photo", True, Path("x"))


@pytest.mark.parametrize(
    "words",
    [
        "--seeds 3 4 --offline amazon-photo",
        "amazon-photo --seeds 3 4",
        "--seeds 3 4 -- amazon-photo",
        "--data.name amazon-photo --seeds 3 4",
        "--seeds 3 4 --data.name=amazon-photo",
        "amazon-photo --seeds 3 4 --data.name amazon-photo",
        "--config amazon-photo --seeds 3 4",
        "--seeds 3 4 --config=amazon-photo",
    ],
)
def test_ways_to_name_a_data_set(words: str) -> None:
    options = read(words.split())
    assert (options.dataset, options.seeds) == ("amazon-photo", (3, 4))
    assert settings(options) == replace(PHOTO, seed=3)


@pytest.mark.parametrize("name", shipped())
def test_a_configuration_by_name_trains_the_data_set_it_is_of(name: str) -> None:
    wanted = read_toml(shipped()[name]).data.name
    options = read(["--config", name])
    assert (options.dataset, options.data.name) == (wanted, wanted)
    assert options == read([wanted, "--config", name])


def test_the_configuration_of_a_run_repeats_it(tmp_path: Path) -> None:
    config = Config(DataConfig("cora", ("rwse:4",)), ModelConfig("gcn", hidden=24, block_norm=True), seed=7)
    (tmp_path / "config.toml").write_text(to_toml(config))
    for words in ([], ["cora"], ["--offline"]):
        options = read([*words, "--config", str(tmp_path / "config.toml")])
        assert options.seeds == (7,)
        assert settings(options) == config


def test_the_configuration_of_an_old_run_means_what_it_meant(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('seed = 3\n[data]\nname = "cora"\n[model]\nhidden = 8\n')
    assert settings(read(["--config", str(file)])).model.targets == "auto"
    (tmp_path / "environment.json").write_text("{}")  # now it is that of a run
    model = settings(read(["--config", str(file)])).model
    assert (model.targets, model.scaling, model.hidden) == ("raw", "none", 8)


def test_flags_before_configurations_before_the_data_sets_own(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[data]\nname = "amazon-photo"\n[model]\nhidden = 3\norder = 3\nheads = 3\n')
    (tmp_path / "b.toml").write_text("[model]\norder = 5\nheads = 5\n")
    files = ["--config", str(tmp_path / "a.toml"), f"--config={tmp_path / 'b.toml'}"]
    wanted = replace(PHOTO, model=replace(PHOTO.model, hidden=3, order=5, heads=7))
    flag = ["--model.heads", "7"]
    for words in ([*flag, *files], [*files, "--model.heads=7"], [*files[:2], *flag, files[2]]):
        assert settings(read(words)) == wanted
    assert settings(read([*files, "pubmed"])).data.name == "pubmed"  # a name is a flag too
    assert settings(read([*files, "--data.name", "pubmed"])).data.name == "pubmed"
    assert settings(read([*files, "pubmed"])).optim == read_toml(shipped()["pubmed"]).optim


def test_switches_turn_on_and_off_whatever_the_configuration_says() -> None:
    assert not read_toml(shipped()["cora"]).model.block_norm
    assert not read(["cora", "--model.no-block-norm"]).model.block_norm
    assert not read(["--model.no-block-norm"]).model.block_norm
    assert read(["cora", "--model.block-norm"]).model.block_norm


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("cora --data.name pubmed", "NAME and --data.name are different data sets, 'cora' and 'pubmed'; leave one out"),
        ("--data.name digits cora", "NAME and --data.name are different data sets, 'cora' and 'digits'; leave one out"),
        ("--config cora-x pubmed", "no configuration is called 'cora-x'"),
        ("--config= pubmed", "no configuration is called ''"),
        ("--config cora --config pubmed", "pubmed is a whole configuration and would undo cora; give it first"),
        ("--offline --model.dropout 2 cora", r"--model\.dropout must be in \[0, 1\), got 2\.0"),
    ],
)
def test_refuses(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(words.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--seeds 0 1 cora", "'cora']; Argument helptext: --seeds S ... One run for each. NAME cannot follow"),
        ("cora pubmed", "Unrecognized options: pubmed"),
        ("cora --config", "Missing value for argument '--config'"),
        ("--data.encodings rwse:4 cora", "no encoding is called 'cora'"),
        ("--offline --modell.hidden 3 cora", "--model.hidden INT"),
        ("cora --seeds", "--seeds must be different numbers, at least one"),
    ],
)
def test_what_could_be_misread_is_refused_in_one_line(
    words: str, message: str, capsys: pytest.CaptureFixture[str], drawn: GraphDataset
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", *words.split()])
    err = capsys.readouterr().err
    assert end.value.code == 2
    assert message in err
    assert err.count("\n") == 1


def test_files_over_a_shipped_configuration(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[model]\nlayers = 9\n")
    config = read_toml(shipped()["coauthor-cs-gcn"])
    options = read(["--config", "coauthor-cs-gcn", "--config", str(tmp_path / "a.toml")])
    assert settings(options) == replace(config, model=replace(config.model, layers=9))


def test_an_empty_name_is_no_name_of_a_data_set() -> None:
    assert read([""]).data.name == ""  # of a variable of the shell that is not set; loading refuses it


def test_training_uses_what_was_read(run: Run, drawn: GraphDataset) -> None:
    out = run("train", "--offline", "--dry-run", "amazon-photo", "--model.layers", "1", "--data.encodings")
    assert 'name = "amazon-photo"' in out
    assert f"hidden = {PHOTO.model.hidden}\n" in out
    assert "layers = 1\n" in out


@pytest.mark.parametrize("words", ["--help amazon-photo", "--offline amazon-photo -h", "-h --config amazon-photo"])
def test_help_shows_what_a_data_set_would_train_with(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", *words.split()])
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert end.value.code == 0
    assert "usage: geco train [-h] [OPTIONS] [NAME]" in shown
    assert "(default: amazon-photo)" in shown
    assert f"--model.hidden INT Width. (default: {PHOTO.model.hidden})" in shown
