"""The recipes of CONTRIBUTING.md: an addition touches two places. Each is made in a copy of the package and used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
Edit = tuple[str, str]  # how a line of a file begins and what is put after it; no line if the file is new

TOY_DATA = """
from dataclasses import replace
from geco.data.embedded.synthetic import erdos_renyi

def toy():
    dataset = erdos_renyi(40, degree=3, seed=1)
    return replace(dataset, info=replace(dataset.info, name="toy-data", metric="toy-metric"))
"""
TOY_BODY = """
import torch

class Toy(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, num_layers, dropout, heads, *, toy_scale=1.0):
        super().__init__()
        self.scale, self.linear = toy_scale, torch.nn.Linear(in_channels, hidden_channels)
        assert toy_scale == 3.0, toy_scale

    def forward(self, x, edge_index, graph_id):
        return self.scale * self.linear(x)

    def set_epoch(self, epochs):
        assert epochs == 2
"""
TOY_LOCAL = """
def toy(channels: int, *, heads: int) -> LocalConv:
    assert heads == 4
    return LocalConv(SparseGCNConv(channels, channels), channels, blind=True)
"""
TOY_ENCODING = """
from dataclasses import dataclass
import numpy as np
from geco.data.encodings.base import Encoding

@dataclass(frozen=True)
class Toy(Encoding):
    columns: int = 1
    name = "toy_encoding"

    @property
    def width(self):
        return self.columns

    def compute(self, edge_index, num_nodes, edge_weight=None):
        return np.ones((num_nodes, self.columns), np.float32)

    def work(self, nodes, edges):
        return 1.0 * nodes

    def memory(self, nodes, edges):
        return 8.0 * nodes
"""
RECIPES: dict[str, dict[str, Edit]] = {
    "data set without files": {
        "data/embedded/toy.py": ("", TOY_DATA),
        "data/registry/embedded.py": (
            "NO_FILES = (",
            '    Embedded("toy-data", "node", "class", "toy-metric", "toy:toy"),',
        ),
    },
    "baseline": {
        "nn/toy.py": ("", TOY_BODY),
        "names.py": ("BASELINES = {", '    "toy-body": "geco.nn.toy:Toy",'),
    },
    "local GNN": {
        "nn/gps/local.py": ("Act = str | Callable[..., Any]", TOY_LOCAL),
        "names.py": ("LOCALS = {", '    "toy-local": "geco.nn.gps.local:toy",'),
    },
    "encoding": {
        "data/encodings/toy.py": ("", TOY_ENCODING),
        "names.py": ("ENCODINGS = {", '    "toy-encoding": "geco.data.encodings.toy:Toy",'),
    },
    "metric": {
        "train/metrics/__init__.py": (
            "METRICS: dict[str, Metric] = {",
            '    "toy-metric": Metric("higher", lambda prediction, target: 0.125),',
        ),
    },
    "model setting": {
        "nn/toy.py": ("", TOY_BODY),
        "train/settings.py": ('    """Which network."""', '    toy_scale: float = 1.0\n    """Of the toy."""'),
    },
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where a copy of the package is that has all of the toys."""
    home = tmp_path_factory.mktemp("copy")
    shutil.copytree(HOME / "src" / "geco", home / "geco", ignore=shutil.ignore_patterns("__pycache__"))
    for edits in RECIPES.values():
        for name, (line, text) in edits.items():
            edit(home / "geco" / name, line, text)
    return home


def edit(path: Path, line: str, text: str) -> None:
    """Put a text after a line of a file, or into a new file."""
    lines = path.read_text().splitlines() if line else []
    place = next(i for i, found in enumerate(lines, 1) if found.startswith(line)) if line else 0
    path.write_text("\n".join([*lines[:place], text, *lines[place:]]) + "\n")


def geco(package: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands of the copy, in its folder."""
    environment = {**os.environ, "PYTHONPATH": str(package), "GECO_CACHE": str(package / "cache"), "COLUMNS": "200"}
    code = f"from geco.cli.main import main\nfor command in {commands!r}: main(command.split())"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=package, timeout=300
    )


@pytest.mark.parametrize("kind", RECIPES)
def test_a_recipe_is_two_places_at_most_and_written_down(kind: str) -> None:
    row = next(line for line in (HOME / "CONTRIBUTING.md").read_text().splitlines() if line.startswith(f"| {kind} |"))
    assert len(RECIPES[kind]) <= 2
    assert all(f"`{name}`" in row for name, (line, _) in RECIPES[kind].items() if line)


def test_names_are_listed_and_wrong_ones_refused_with_the_nearest(package: Path) -> None:
    shown = geco(package, "train --help").stdout
    assert all(name in shown for name in ("toy-body", "toy-local", "--model.toy-scale"))
    assert "toy-encoding" in geco(package, "data prepare --help").stdout
    assert "toy-data" in geco(package, "data list").stdout
    (package / "wrong.toml").write_text('[model]\nlocal = "toy-lokal"\n')
    refused = geco(package, "train --config wrong.toml")
    assert (refused.returncode, "did you mean toy-local?" in refused.stderr) == (2, True)
    refused = geco(package, "train --data.encodings toy-encodin:2")
    assert (refused.returncode, "did you mean toy-encoding?" in refused.stderr) == (2, True)


def test_what_was_added_is_trained_with(package: Path) -> None:
    small = "--train.epochs 2 --model.hidden 16 --model.encoding-width 4 --train.threads 1"
    run = f"train toy-data --data.encodings toy-encoding:2 {small} --model.name"
    done = geco(package, f"{run} toy-body --model.toy-scale 3", f"{run} hybrid --model.local toy-local")
    assert done.returncode == 0, done.stderr
    for network in ("toy-body", "hybrid"):
        assert f"toy-data, {network}: test toy-metric 0.1250" in done.stdout
