"""The graphs of functions equal what a plain recursive walk of the same source finds, as ogbg-code2 defines it."""

from __future__ import annotations

import ast
import sys
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
import torch

from geco.data.dataset import GraphDataset
from geco.data.embedded.python_ast import _encode, _part, python_ast
from geco.data.embedded.python_source import read_modules
from geco.errors import DataError

SOURCE = """
    import os

    @decorate.readFile
    def readFile(path, *, mode="r"):
        '''Read it.'''
        with open(path, mode) as f:
            return [readFile(x, 1) for x in f if x is not None] or self.readFile

    class Box:
        def __init__(self): self.area = 0
        async def get_area2(self): return await self.area
        def _(self): pass
        def outer(self):
            def inner(): return inner
            return lambda: inner(2.5, True)
"""


def named(part: int, count: int = 1) -> list[str]:
    """Return module names that fall into a part."""
    return [name for name in (f"module{i}" for i in range(200)) if _part(name) == part][:count]


def make(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return folder


@pytest.fixture
def dataset(tmp_path: Path) -> GraphDataset:
    return python_ast(make(tmp_path, **{named(0)[0]: SOURCE}))


def words(dataset: GraphDataset, index: int) -> list[str]:
    names = dataset.info.names
    return [names[i] for i in dataset[index].y[0] if i < len(names) - 1]


class Walk:
    """Rows of (type, attribute, depth) and edges parent to child, in the order of a recursive walk."""

    def __init__(self, root: ast.AST, name: str) -> None:
        self.name = name
        self.rows: list[tuple[str, str | None, int]] = []
        self.edges: list[tuple[int, int]] = []
        self.visit(ast.Module([root], []), -1, 0)  # type: ignore[list-item]

    def visit(self, node: ast.AST, parent: int, depth: int) -> None:
        row = len(self.rows)
        values = [getattr(node, field, None) for field in ("name", "arg", "value", "id", "attr")]
        texts = [str(value) for value in values if value is not None and not isinstance(value, ast.AST)]
        text = texts[0] if texts else None
        self.rows.append((type(node).__name__, "MASK" if text == self.name else text, depth))
        if parent >= 0:
            self.edges.append((parent, row))
        for child in ast.iter_child_nodes(node):
            self.visit(child, row, depth + 1)


def test_graphs_are_the_syntax_trees(dataset: GraphDataset) -> None:
    nodes = ast.walk(ast.parse(dedent(SOURCE)))
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    kept = ["readFile", "get_area2", "outer", "inner"]
    assert [words(dataset, i) for i in range(len(dataset))] == [
        ["read", "file"],
        ["get", "area2"],
        ["outer"],
        ["inner"],
    ]
    types: dict[int, str] = {}
    attributes: dict[int, str | None] = {0: None, 2: "MASK"}
    for index, name in enumerate(kept):
        graph, walk = dataset[index], Walk(functions[name], name)
        assert graph.x.shape == (len(walk.rows), 3)
        for (kind, text, depth), row in zip(walk.rows, graph.x.tolist(), strict=True):
            assert types.setdefault(row[0], kind) == kind  # a code for each word, the same in every graph
            assert attributes.setdefault(row[1], text) == text
            assert row[2] == depth
        wanted = {(*edge, 0, 0) for edge in walk.edges} | {(b, a, 0, 1) for a, b in walk.edges}
        tokens = [row for row, (_, text, _) in enumerate(walk.rows) if text is not None]
        following = list(pairwise(tokens))
        wanted |= {(*edge, 1, 0) for edge in following} | {(b, a, 1, 1) for a, b in following}
        found = torch.cat([graph.edge_index, graph.edge_attr.T]).T.tolist()
        assert len(found) == len(wanted)
        assert {tuple(edge) for edge in found} == wanted
    assert len(set(types.values())) == len(types)
    assert len(set(attributes.values())) == len(attributes)
    assert "readFile" not in {a for i, a in attributes.items() if i in dataset[0].x[:, 1]}
    assert (dataset[0].x[:, 1] == 2).sum() == 4  # definition, decorator, call and attribute


def test_info_is_code2s(dataset: GraphDataset) -> None:
    info, x = dataset.info, dataset.arrays["node/x"].long()
    assert (info.level, info.target, info.num_targets, info.metric) == ("graph", "tokens", 5, "token-f1")
    assert info.names[-2:] == ("__UNK__", "__EOS__")
    assert info.edge_categories == (2, 2)
    assert info.categories[2] == 21
    assert all(int(x[:, i].max()) < size for i, size in enumerate(info.categories))
    assert dataset.arrays["graph/y"].max() == len(info.names) - 1


def test_long_and_deep_functions_are_cut(tmp_path: Path) -> None:
    body = "def long_one(x):\n" + "    x = x + 1\n" * 400 + "def deep():\n    return " + "-" * 60 + "1\n"
    dataset = python_ast(make(tmp_path, **{named(0)[0]: body}))
    assert dataset.sizes.tolist() == [1000, 125]
    assert dataset[0].edge_index.max() == 999
    tree = (dataset[0].edge_attr[:, 0] == 0) & (dataset[0].edge_attr[:, 1] == 0)
    assert tree.sum() == 999  # still one tree
    assert dataset[1].x[:, 2].max() == 20


def test_vocabularies_are_of_training_only(tmp_path: Path) -> None:
    learn, valid, test = named(0)[0], named(1)[0], named(2)[0]
    files = {
        learn: "def get_name(known): return known",
        valid: "def get_secret(known): return hidden",
        test: "async def name(known): await known",
    }
    dataset = python_ast(make(tmp_path, **files))
    split = dataset.split()
    graphs = {"learn": dataset[int(split.train)], "valid": dataset[int(split.valid)], "test": dataset[int(split.test)]}
    assert dataset.info.names == ("get", "name", "__UNK__", "__EOS__")
    assert graphs["learn"].y.tolist() == [[0, 1, 3, 3, 3]]
    assert graphs["valid"].y.tolist() == [[0, 2, 3, 3, 3]]
    assert graphs["test"].y.tolist() == [[1, 3, 3, 3, 3]]
    assert 1 not in graphs["learn"].x[:, 1]
    assert (graphs["valid"].x[:, 1] == 1).sum() == 1  # hidden
    assert (graphs["test"].x[:, 0] == 0).sum() == 3  # AsyncFunctionDef, Expr and Await
    assert dataset.info.categories == (len(graphs["learn"].x[:, 0].unique()) + 1, 4, 21)


def test_frequent_words_come_first_and_the_rest_is_unknown() -> None:
    known = {"__NONE__": 0, "rare": 1, "b": 2, "a": 3, "often": 4, "unseen": 5}
    column = np.array([0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 3, 4, 4, 4, 5])
    codes, size = _encode(known, [column], np.arange(15) < 14, ["__NONE__", "__UNK__"], limit=5)
    assert size == 5
    assert dict(zip(column.tolist(), codes.tolist(), strict=True)) == {0: 0, 4: 2, 3: 3, 2: 4, 1: 1, 5: 1}


def test_long_names_are_cut_to_five_places(tmp_path: Path) -> None:
    dataset = python_ast(make(tmp_path, **{named(0)[0]: "def a_b_c_d_e_f(): pass"}))
    assert words(dataset, 0) == ["a", "b", "c", "d", "e"]


def test_copies_are_dropped(tmp_path: Path) -> None:
    one, two = named(0, 2)
    text = "def entry(self): return info(name='{}')\n"
    assert len(python_ast(make(tmp_path, **{one: text.format("a"), two: text.format("b")}))) == 1  # but for a constant
    assert len(python_ast(make(tmp_path, **{two: "def entry(self): return facts(name='a')"}))) == 2
    assert len(python_ast(make(tmp_path, **{two: text.format("b").replace("entry", "other")}))) == 2


def test_which_files_are_read(tmp_path: Path) -> None:
    files = (
        "a",
        "package.__init__",
        "package.b",
        "test.c",
        "package.tests.d",
        "site-packages.e",
        "idlelib.idle_test.f",
    )
    make(
        tmp_path,
        **dict.fromkeys(files, "def f(): pass"),
        broken="def f(:",
        latin="# coding: latin-1\ndef f(): return 'x'",
    )
    (tmp_path / "nulls.py").write_bytes(b"def f(): pass\0")
    (tmp_path / "bytes.py").write_bytes("# coding: latin-1\ndef f(): return 'é'".encode("latin-1"))
    (tmp_path / "notes.txt").write_text("def f(): pass")
    assert [module.name for module in read_modules(tmp_path)] == ["a", "bytes", "latin", "package", "package.b"]


def test_nothing_is_run_and_nothing_said(tmp_path: Path) -> None:
    """Also no warning of the old escape sequence: warnings are errors here."""
    trap = tmp_path / "trap"
    text = f"open({str(trap)!r}, 'w')\ndef f(x=open({str(trap)!r}, 'w')): return '\\d'"
    before = set(sys.modules)
    assert len(python_ast(make(tmp_path, **{named(0)[0]: text}))) == 1
    assert not trap.exists()
    assert named(0)[0] not in set(sys.modules) - before


def test_folder_without_functions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no Python functions to train on; give a folder of \.py files"):
        python_ast(tmp_path)


def test_parts_are_about_eight_one_one() -> None:
    counts = np.bincount([_part(f"package{i}.module") for i in range(5000)], minlength=3)
    assert np.abs(counts / 5000 - [0.8, 0.1, 0.1]).max() < 0.02
    assert [_part(name) for name in ("ast", "os", "json.decoder", "email.message")] == [0, 1, 0, 2]  # always


@pytest.mark.slow
def test_standard_library() -> None:
    dataset = python_ast()
    split = dataset.split()
    shares = torch.tensor([len(split.train), len(split.valid), len(split.test)]) / len(dataset)
    assert len(dataset) > 10_000
    assert shares.sum() == 1
    assert (shares - torch.tensor([0.8, 0.1, 0.1])).abs().max() < 0.05
    assert dataset.info.categories[1] == 10_030
    assert len(dataset.info.names) <= 5_002
    assert dataset.sizes.max() <= 1000
    assert {"get", "set", "read", "close"} <= set(dataset.info.names[:20])
