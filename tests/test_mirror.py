"""Tests stand where what they test stands, and the documentation names files that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from geco.nn.ops.plan import Algorithm

HOME = Path(__file__).parent.parent
SOURCE, TESTS = HOME / "src" / "geco", HOME / "tests"
# What is about no one module, and why.
SCENARIOS = {
    "browser/test_docs_site.py": "the site of make docs in a browser",
    "browser/test_explain_page.py": "explanations in a browser",
    "browser/test_report_page.py": "the report in a browser",
    "cli/test_first_use.py": "what a new user types, and once went wrong",
    "cli/test_links.py": "import, train, eval and predict in a row",
    "cli/test_messy.py": "import, train and predict in a row",
    "cli/test_own_mistakes.py": "own data that is doubtful, from import to score",
    "nn/test_basic_gnn.py": "what PyG tests of its own networks",
    "nn/test_explainers.py": "PyG's explainers on our layers",
    "nn/test_with_pyg.py": "PyG's other tools on our layers",
    "test_docs.py": "README and docs",
    "test_examples.py": "the examples",
    "test_layers.py": "the package as a whole",
    "test_mirror.py": "the tests and the documentation",
    "test_recipes.py": "CONTRIBUTING.md",
}
WALKS, MOST = 3, 12  # walks of docs/architecture.md, files of each


def has_module(test: Path) -> bool:
    """Tell whether ``a/test_b.py`` or ``a/test_b_aspect.py`` has a module ``a/b.py`` or a package ``a/b`` or ``b``."""
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    folder = SOURCE / test.parent
    found = any((folder / file).exists() for name in names for file in (f"{name}.py", f"_{name}.py", name))
    return found or folder.name == names[0]


def walks() -> list[list[str]]:
    """Return the files that each numbered list of docs/architecture.md names."""
    sections = (HOME / "docs" / "architecture.md").read_text(encoding="utf-8").split("\n## ")[1:]
    lists = ["\n".join(re.findall(r"^\d+\. .*(?:\n   .*)*", section, flags=re.MULTILINE)) for section in sections]
    return [re.findall(r"`([\w/]+\.py)`", steps) for steps in lists if steps]


def test_every_test_stands_where_its_module_stands() -> None:
    files = [path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")]
    lost = [path.as_posix() for path in files if not has_module(path) and path.as_posix() not in SCENARIOS]
    assert not lost, f"{', '.join(sorted(lost))}: name them after a module of src/geco, or list them in SCENARIOS"
    stale = [name for name in SCENARIOS if not (TESTS / name).exists() or has_module(Path(name))]
    assert not stale, f"{', '.join(stale)}: not in SCENARIOS any more"


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md", "README.md"])
def test_files_that_pages_name_are_there(page: str) -> None:
    named = re.findall(r"`([\w./-]+/[\w.-]*)`", (HOME / page).read_text(encoding="utf-8"))
    missing = [name for name in named if not any((base / name).exists() for base in (SOURCE, HOME))]
    assert not [name for name in missing if name not in PLACEHOLDERS]


PLACEHOLDERS = ("data/sources/NAME.py",)


def test_the_map_has_every_algorithm_with_its_file() -> None:
    page = (HOME / "docs" / "architecture.md").read_text(encoding="utf-8")
    words = {*get_args(get_type_hints(Algorithm)["name"])} - {"none"}  # no global block
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*\| `(nn/ops/\w+\.py)`", page, flags=re.MULTILINE))
    assert {*rows} == words


def test_walks_are_short_and_never_step_back() -> None:
    assert len(walks()) == WALKS
    for files in walks():
        assert len(files) == len({*files}) <= MOST
