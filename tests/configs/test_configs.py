"""Every shipped configuration is complete, fits its budget, trains and is scored on data of the exact schema."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from geco.cli.settings import read
from geco.configs import shipped
from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.embedded.python_ast import python_ast
from geco.data.encodings import encode
from geco.data.encodings.registry import parse
from geco.data.load_dataset import load
from geco.data.registry import find
from geco.errors import UsageError
from geco.studies.parameters import BUDGETS, PAPER, blank, markdown, of_the_paper
from geco.train.build import columns
from geco.train.config import Config, read_toml, to_toml
from geco.train.engine import Trainer
from tests.configs.fixtures import write

CONFIGS = {name: read_toml(path) for name, path in of_the_paper().items()}
NODES = {"ogbn-arxiv", "flickr", "reddit", "yelp"}
LRGB = {"pascalvoc-sp", "coco-sp", "peptides-func", "peptides-struct", "pcqm-contact"}
MANY = set(PAPER) - NODES
SMALL = {"peptides-func-small", "ogbg-molhiv-small"}
Datasets = Callable[..., GraphDataset]
DOCS = Path(__file__).parents[2] / "docs" / "configurations.md"
TABLE = Path(__file__).parents[2] / "results" / "parameters.md"


def committed() -> dict[str, list[str]]:
    """Return the rows of the committed table by configuration."""
    rows = [line.strip("| ").split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    return {row[1]: row for row in rows[1:]}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Datasets:
    """Read each data set once, through its reader."""
    home, found = tmp_path_factory.mktemp("data"), {}
    cache = Cache(home / "cache")

    def get(name: str, encodings: tuple[str, ...] = ()) -> GraphDataset:
        if name not in found:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("GECO_CACHE", str(home / "cache"))
                write(name, home / name, patch)
                found[name] = load(name, home, cache, offline=True)
        return encode(found[name], [parse(text) for text in encodings], cache, workers=0) if encodings else found[name]

    return get


def test_there_is_one_of_every_kind() -> None:
    wanted = {*PAPER, *(f"{name}-pure" for name in MANY), *(f"{name}-reassessed" for name in LRGB), *SMALL}
    assert len(PAPER) == 14
    assert set(CONFIGS) == wanted
    files = {path.stem for path in next(iter(of_the_paper().values())).parent.glob("*.toml")}
    assert wanted <= files
    assert set(committed()) == wanted


def stated(name: str) -> dict[str, Any]:
    """Return the values of a shipped file, by dotted name."""
    table = tomllib.loads(shipped()[name].read_text())
    return {f"{part}.{key}": value for part, values in table.items() for key, value in values.items()}


def default(setting: str) -> Any:
    part, _, key = setting.partition(".")
    return Config().to_json()[part][key]


@pytest.mark.parametrize("name", shipped())
def test_a_file_holds_only_what_is_not_the_default(name: str) -> None:
    assert {setting: value for setting, value in stated(name).items() if value == default(setting)} == {}
    assert "data.name" in stated(name)


@pytest.mark.parametrize("name", shipped())
def test_every_value_has_a_source(name: str) -> None:
    head, _, rest = shipped()[name].read_text().partition("\n\n")
    bare = [line for line in rest.splitlines() if line and line[0] != "[" and not re.search(r"\S  # \S", line)]
    assert bare == [] or "python -m geco.studies." in head  # a study chose them all, or says that they are not tuned


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_configuration_is_whole(name: str, tmp_path: Path) -> None:
    config = read_toml(shipped()[name])
    (tmp_path / "whole.toml").write_text(to_toml(config))
    (tmp_path / "short.toml").write_text(to_toml(config, Config()))
    assert read_toml(tmp_path / "whole.toml") == read_toml(tmp_path / "short.toml") == config
    assert tomllib.loads((tmp_path / "short.toml").read_text()) == tomllib.loads(shipped()[name].read_text())
    found = read([config.data.name, "--config", name])  # nothing is left over from the data set's own configuration
    assert all(getattr(found, part) == getattr(config, part) for part in ("data", "model", "optim", "train"))


def test_the_defaults_that_files_leave_out_are_those_of_the_documentation() -> None:
    rows = [line.strip("| ").split(" | ") for line in DOCS.read_text().splitlines() if re.match(r"\| `\w+\.\w+", line)]
    listed = [pair for row in rows for pair in re.findall(r"`(\w+\.\w+) = ([^`]+)`", row[0])]
    assert [(setting, json.loads(value)) for setting, value in listed] == [(s, default(s)) for s, _ in listed]
    assert len(listed) > 20


@pytest.mark.parametrize("name", CONFIGS)
def test_networks_and_departures_of_the_paper(name: str) -> None:
    config = CONFIGS[name]
    data = config.data.name
    assert name.startswith(data)
    pure = name.endswith("-pure") or data in NODES or name == "peptides-func-small"
    assert config.model.name == ("geco" if pure else "hybrid")
    if not name.endswith("-reassessed"):
        none = NODES | {"pascalvoc-sp", "coco-sp", "ogbg-molpcba", "ogbg-code2", "ogbg-ppa"}
        assert bool(config.data.encodings) == (data not in none)
    assert config.model.standardise == (name in ("pascalvoc-sp-reassessed", "coco-sp-reassessed"))
    assert config.train.class_weights == data.endswith("-sp")


@pytest.mark.parametrize("name", PAPER)
def test_counts_are_of_the_true_schema(name: str, datasets: Datasets) -> None:
    read, made = datasets(name), blank(find(name))
    for array in ("node/x", "edge/edge_attr"):
        assert columns(read, array) == columns(made, array)
    for field in ("level", "target", "num_targets", "metric", "categories", "edge_categories"):
        assert getattr(read.info, field) == getattr(made.info, field)
    if read.info.target == "tokens":
        assert len(read.info.names) == len(made.info.names)


def test_code2_is_cut_off_and_ppa_has_one_node_vector(datasets: Datasets) -> None:
    code2, ppa = datasets("ogbg-code2"), datasets("ogbg-ppa")
    assert int(code2.sizes.max()) == 1_000
    assert len(code2.info.names) == 5_002
    assert code2.arrays["graph/y"].shape[1] == 5
    assert code2.info.categories == (98, 10_030, 21)
    assert (ppa.info.categories, columns(ppa, "edge/edge_attr")) == ((1,), 7)


@pytest.mark.parametrize("name", CONFIGS)
def test_two_steps_and_an_evaluation(name: str, datasets: Datasets, monkeypatch: pytest.MonkeyPatch) -> None:
    config = CONFIGS[name]
    monkeypatch.setattr("geco.train.build.FEW", 0)  # the stand-ins have fewer labels than the data sets
    train = replace(config.train, epochs=2, threads=1, device="cpu")
    trainer = Trainer(replace(config, train=train), datasets(config.data.name, config.data.encodings))
    assert trainer.batches.steps == 1  # so two epochs are two steps
    before = [p.detach().clone() for p in trainer.model.head.parameters()]
    result = trainer.fit()
    assert result["epochs"] == len(trainer.state.history) == 2
    assert all(math.isfinite(line[key]) for line in trainer.state.history for key in ("loss", "valid", "test"))
    assert all(not torch.equal(p, old) for p, old in zip(trainer.model.head.parameters(), before, strict=True))
    _assert_size(name, config, trainer.parameters)


def test_the_rehearsal_of_code2(tmp_path: Path) -> None:
    functions = "\n".join(
        f"def get_{word}(x):\n    return x.{word} + {word}(x)" for word in ("name", "size", "first_line")
    )
    for number in range(40):  # the name of a module decides which part it falls into
        (tmp_path / f"module{number}.py").write_text(functions.replace("x", f"x{number}"))
    config = read_toml(shipped()["python-ast"])
    trainer = Trainer(replace(config, train=replace(config.train, epochs=1)), python_ast(tmp_path))
    assert trainer.fit()["metric"] == "token-f1"


def _assert_size(name: str, config: Config, found: int) -> None:
    row = committed()[name]
    sizes = [str(config.model.hidden), str(config.model.layers), ", ".join(config.data.encodings) or "none"]
    assert row[3:7] == [*sizes, f"{found:,}"], "run python -m geco.studies.parameters"
    if config.data.name in BUDGETS and name not in SMALL:
        assert abs(found / BUDGETS[config.data.name][0] - 1) <= 0.05


@pytest.mark.parametrize("name", sorted(MANY))
def test_the_pure_network_is_as_large_as_the_hybrid(name: str) -> None:
    hybrid, pure = (int(committed()[config][6].replace(",", "")) for config in (name, f"{name}-pure"))
    assert abs(pure / hybrid - 1) <= 0.07


def test_markdown_is_what_the_file_holds() -> None:
    rows = [["data set", "configuration", "network", "width", "depth", "encodings", "parameters", "budget"]]
    assert markdown([*rows, *committed().values()]) in TABLE.read_text()


def test_a_configuration_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "peptides-func-pure").mkdir()  # a folder is no configuration
    assert read(["peptides-func"]).model == CONFIGS["peptides-func"].model
    for words in (["--config", "peptides-func-pure"], ["--config=peptides-func-pure"]):
        found = read(["peptides-func", *words])
        assert (found.dataset, found.model.name, found.model.hidden) == ("peptides-func", "geco", 108)
    (tmp_path / "yelp").write_text("[model]\nhidden = 3\n")
    assert read(["peptides-func", "--config", "yelp"]).model.hidden == 3  # a file of that name comes first
    (tmp_path / "mine.toml").write_text("[model]\nhidden = 5\n")
    assert read(["peptides-func", "--config", "mine.toml"]).model.hidden == 5


def test_a_wrong_name_lists_near_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"no configuration is called 'peptide-func-pur' .*peptides-func-pure"):
        read(["peptides-func", "--config", "peptide-func-pur"])
    with pytest.raises(UsageError, match=r"there are .*coco-sp, .*yelp"):
        read(["peptides-func", "--config", "zzzz"])
    with pytest.raises(UsageError, match=r"for that network: `geco train pubmed --model\.name gps-performer`"):
        read(["pubmed", "--config", "pubmed-gps-performer"])
    with pytest.raises(UsageError, match=r"cannot read the configuration none\.toml"):
        read(["peptides-func", "--config", "none.toml"])
