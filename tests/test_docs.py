"""What README and docs show must run."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest
import torch

from tests.docs_blocks import blocks_of, run_page

ROOT = Path(__file__).parent.parent
WRITTEN = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
PAGES = sorted([*WRITTEN, *(ROOT / "docs").rglob("*.ipynb")])
MADE = {"reference/commands.md", "tutorials/notebook.md"}  # by docs/_site/hooks.py

# Why a block is not run. The flags of its `geco` commands are checked all the same.
NOT_RUN = {
    "installs": "installs packages, or is make, git or the shell",
    "downloads": "needs data sets that are downloaded, or an account",
    "your files": "names files and runs of the reader",
    "long": "trains for longer than a test may take",
    "form": "shows the form of a file or a message, and is no code",
}
SLOW = [pytest.mark.slow, pytest.mark.timeout(900)]
LANGUAGES = {"python", "bash", "text", "csv", "toml"}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def params() -> list[object]:
    """The pages, those that say so as slow."""
    slow = {page for page in PAGES if page.read_text(encoding="utf-8").startswith("<!-- slow -->")}
    slow |= {page for page in PAGES if page.suffix == ".ipynb"}
    with_code = [page for page in PAGES if blocks_of(page) and page.name != "README.md"]  # see below
    return [pytest.param(page, id=name_of(page), marks=SLOW * (page in slow)) for page in with_code]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, without the machine's own data and without network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GECO_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("GECO_DATA", raising=False)


@pytest.mark.parametrize("page", params())
def test_blocks_run(page: Path) -> None:
    run_page(page)


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_blocks_are_marked(page: Path) -> None:
    for block in blocks_of(page):
        assert block.lang in LANGUAGES, f"line {block.line}: ```{block.lang} is none of {sorted(LANGUAGES)}"
        assert block.why == "" or block.why in NOT_RUN, f"line {block.line}: {block.why!r} is no reason in NOT_RUN"


def test_every_reason_is_used() -> None:
    assert {block.why for page in WRITTEN for block in blocks_of(page)} - {""} == set(NOT_RUN)


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_files_it_names_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        found = Path(os.path.normpath(page.parent / target))
        assert found.exists() or found.relative_to(ROOT / "docs").as_posix() in MADE, target


def test_blocks_of_the_readme_make_what_they_say() -> None:
    names = run_page(ROOT / "README.md")
    y, scores, probabilities = names["y"], names["scores"], names["probabilities"]
    assert isinstance(y, torch.Tensor)
    assert isinstance(scores, torch.Tensor)
    assert isinstance(probabilities, torch.Tensor)
    assert y.shape == (1000, 64)
    assert scores.shape == (1000, 10)
    assert probabilities.shape == (1000, 2)


def test_code_that_the_symbols_name_exists() -> None:
    text = (ROOT / "docs" / "reference" / "symbols.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)`: `([\w.]+)`", text)
    assert len(named) > 30
    for path, name in named:
        scope: list[ast.stmt] = ast.parse((ROOT / "src" / "geco" / path).read_text(encoding="utf-8")).body
        for part in name.split("."):
            found = [node for node in scope if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == part]
            assert found, f"{path} has no {name}"
            scope = found[0].body
