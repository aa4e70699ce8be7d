"""The recipes of CONTRIBUTING.md: an addition touches two places. Each is made in a copy of the package and used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

HOME = Path(__file__).parents[1]
Edit = tuple[str, str]  # how a line of a file begins and what is put after it; no line if the file is new

TOY_DATA = """
from dataclasses import replace
from geco.data.embedded.synthetic import erdos_renyi

def toy():
    dataset = erdos_renyi(40, degree=3, seed=1)
    return replace(dataset, info=replace(dataset.info, name="toy-data", metric="toy-metric"))
"""
TOY_READER = """
from dataclasses import replace
from geco.data.embedded.synthetic import erdos_renyi

def read(folder, spec):
    dataset = erdos_renyi(int((folder / "nodes.txt").read_text()), degree=3, seed=1)
    return replace(dataset, info=replace(dataset.info, name=spec.name))
"""
TOY_SPEC = """    Spec(
        "toy-layout", "Toy", "none", "node", "class", 2, "accuracy", "higher", "random", Sizes(1, 40, 120),
        (Layout("toy", ("nodes.txt",)),),
    ),"""
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
TOY_MIXER = """
import torch

class Toy(torch.nn.Linear):
    def __init__(self, channels, *, toy_scale=1.0):
        assert toy_scale == 3.0, toy_scale
        super().__init__(channels, channels)
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
    "data set in a known layout": {
        "data/registry/nodes_small.py": (
            "COMMUNITIES = (",
            '    _community("toy-photo", "Toy", "Toy", "toy.npz", Sizes(1, 30, 60, 4, 3)),',
        ),
    },
    "data set in a layout of its own": {
        "data/sources/toy.py": ("", TOY_READER),
        "data/registry/nodes_small.py": ("COMMUNITIES = (", TOY_SPEC),
    },
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
    "global mixer": {
        "nn/gps/toy.py": ("", TOY_MIXER),
        "names.py": ("MIXERS = {", '    "toy-mixer": "geco.nn.gps.toy:Toy",'),
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
    places = {"PYTHONPATH": package, "GECO_CACHE": package / "cache", "GECO_DATA": package / "raw"}
    environment = {**os.environ, **{name: str(path) for name, path in places.items()}, "COLUMNS": "200"}
    code = f"from geco.cli.main import main\nfor command in {commands!r}: main(command.split())"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=package, timeout=300
    )


@pytest.mark.parametrize("kind", RECIPES)
def test_a_recipe_is_two_places_at_most_and_written_down(kind: str) -> None:
    row = next(line for line in (HOME / "CONTRIBUTING.md").read_text().splitlines() if line.startswith(f"| {kind} |"))
    assert len(RECIPES[kind]) <= 2
    changed = [name for name, (line, _) in RECIPES[kind].items() if line]
    assert all(f"`{name}`" in row or f"`{Path(name).parent}/`" in row for name in changed)


def test_names_are_listed_and_wrong_ones_refused_with_the_nearest(package: Path) -> None:
    shown = geco(package, "train --help").stdout
    assert all(name in shown for name in ("toy-body", "toy-local", "toy-mixer", "--model.toy-scale"))
    assert "toy-encoding" in geco(package, "data prepare --help").stdout
    listed = geco(package, "data list").stdout
    assert all(name in listed for name in ("toy-data", "toy-photo", "toy-layout"))
    (package / "wrong.toml").write_text('[model]\nlocal = "toy-lokal"\n')
    refused = geco(package, "train --config wrong.toml")
    assert (refused.returncode, "did you mean toy-local?" in refused.stderr) == (2, True)
    refused = geco(package, "train --data.encodings toy-encodin:2")
    assert (refused.returncode, "did you mean toy-encoding?" in refused.stderr) == (2, True)


def test_what_was_added_is_trained_with(package: Path) -> None:
    small = "--train.epochs 2 --model.hidden 16 --model.encoding-width 4 --train.threads 1"
    run = f"train toy-data --data.encodings toy-encoding:2 {small} --model.name"
    hybrid = f"{run} hybrid --model.local toy-local --model.mixer toy-mixer --model.toy-scale 3"
    done = geco(package, f"{run} toy-body --model.toy-scale 3", hybrid)
    assert done.returncode == 0, done.stderr
    for network in ("toy-body", "hybrid"):
        assert f"toy-data, {network}: test toy-metric 0.1250" in done.stdout


def test_raw_files_in_a_known_layout_or_one_of_its_own_are_trained_with(package: Path) -> None:
    photo, layout = package / "raw" / "toy-photo", package / "raw" / "toy-layout"
    for folder in (photo, layout):
        folder.mkdir(parents=True)
    (layout / "nodes.txt").write_text("40")
    ring, words = scipy.sparse.eye(30, k=1, format="csr"), scipy.sparse.eye(30, 4, format="csr")
    parts = {
        f"{kind}_{name}": getattr(matrix, name)
        for kind, matrix in (("adj", ring), ("attr", words))
        for name in ("indptr", "indices", "shape", "data")
    }
    np.savez(photo / "toy.npz", **parts, labels=np.arange(30) % 3)
    small = "--train.epochs 1 --model.hidden 8 --train.threads 1 --offline --model.name gcn"
    done = geco(package, f"train toy-photo {small}", f"train toy-layout {small}")
    assert done.returncode == 0, done.stderr
    assert all(f"{name}, gcn: test accuracy" in done.stdout for name in ("toy-photo", "toy-layout"))
