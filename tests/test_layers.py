"""Rules of the house that a machine can check."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import torch

SOURCE = Path(__file__).parent.parent / "src" / "geco"
BASE = {"geco", "errors", "console", "machine", "meter", "store", "names"}  # of `geco` itself only the version
DATA = {"data", *(f"data.{name}" for name in ("registry", "sources", "user", "fetch", "safe", "embedded", "encodings"))}

# What each package may import besides itself; a package of this table inside another one is a package of its own.
ALLOWED: dict[str, set[str]] = {
    "geco": {"nn", "train"},
    "errors": set(),
    "console": {"errors"},
    "meter": {"console"},
    "machine": set(),
    "store": {"errors"},
    "configs": {"errors", "names"},
    "names": {"errors"},
    "nn": {"names"},
    "data": BASE
    | {"nn", "data.registry", "data.fetch", "data.user", "data.encodings"},  # nn: orders of nodes and batches
    "data.registry": {"errors"},
    "data.safe": {"console", "errors"},
    "data.fetch": BASE | {"data.registry", "data.safe"},
    "data.sources": BASE | {"data", "data.registry", "data.safe"},
    "data.user": BASE | {"data", "data.registry", "data.safe"},
    "data.embedded": BASE | {"data"},
    "data.encodings": BASE | {"data", "nn"},
    "sizing": {"errors"},
    "pages": {"errors", "store"},
    "explain": BASE | {"nn", "data", "pages"},
    "distributed": BASE | {"nn"},
    "train.metrics": {"errors"},
    "train": BASE | DATA | {"distributed", "nn", "pages", "train.metrics", "configs", "explain"},
    "tune": BASE | DATA | {"nn", "pages", "train", "train.metrics", "configs"},
    "report": BASE | DATA | {"nn", "pages", "train", "train.metrics"},
    "studies": BASE
    | DATA
    | {"distributed", "nn", "pages", "train", "train.metrics", "report", "configs", "explain", "tune"},
    "cli": BASE
    | DATA
    | {"distributed", "nn", "pages", "train", "train.metrics", "report", "configs", "studies", "explain", "tune"}
    | {"sizing"},
    "__main__": {"cli"},
}
FILES = sorted(SOURCE.rglob("*.py"))


def module_of(path: Path) -> str:
    """Return a file's dotted name."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def package_of(module: str) -> str:
    """Return the package of the table that a module is in, or nothing."""
    parts = module.split(".")[1:]
    homes = [".".join(parts[:count]) for count in range(len(parts), 0, -1)] or ["geco"]
    return next((home for home in homes if home in ALLOWED), "")


def statements(tree: ast.AST, types: bool) -> Iterator[ast.AST]:
    """Yield everything in a module; without ``types``, what only type checkers see is left out."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not types and isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node = ast.Module(node.orelse, [])
        yield from statements(node, types)


def imports(path: Path, types: bool = True) -> Iterator[tuple[int, str]]:
    """Yield line and name of every module of the package that a file imports, wherever in it."""
    for node in statements(tree_of(path), types):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}: imports are absolute here"
            home = node.module or ""
            names = [f"{home}.{a.name}" if f"{home}.{a.name}" in MODULES else home for a in node.names]
        yield from ((getattr(node, "lineno", 0), name) for name in names if name.split(".")[0] == "geco")


def test_every_module_is_in_a_package_of_the_table() -> None:
    unknown = [str(path.relative_to(SOURCE)) for module, path in MODULES.items() if not package_of(module)]
    assert not unknown, f"{', '.join(unknown)}: list in ALLOWED what may be imported there"


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_import_what_they_may(package: str) -> None:
    wrong = []
    for module, path in MODULES.items():
        if package_of(module) == package:
            for line, name in imports(path):
                if package_of(name) not in {package, *ALLOWED[package]}:
                    wrong.append(f"{path.relative_to(SOURCE)}, line {line}: {package} may not import {name}")
    assert not wrong, "\n".join(wrong)


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {module: {name for _, name in imports(path, types=False)} - {module} for module, path in MODULES.items()}
    cycle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1]
    assert not cycle, " imports ".join(reversed(cycle))


def test_no_pickle_is_read() -> None:
    for path in FILES:
        careful = path.is_relative_to(
            SOURCE / "data" / "safe"
        )  # the only files that may meet a pickle, and never run one
        tree = tree_of(path)
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert careful or not imported & {"pickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal"}, path
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            given = {word.arg: ast.unparse(word.value) for word in call.keywords}
            assert name not in ("pickle.load", "pickle.loads", "pickle.Unpickler", "eval", "exec"), path
            assert name != "torch.load" or (careful and given.get("weights_only") == "True"), path
            assert given.get("allow_pickle", "False") == "False", path


SHOWN = {"Meter", "print_table", "print_line", "show_log"}  # what writes to a terminal, of geco.console
PROGRAMS = ("cli", "studies", "console.py", "meter.py")


def test_libraries_log_and_do_not_print() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in PROGRAMS:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        used |= {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        imported = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in ("geco.console", "geco.meter")
        ]
        assert not {"print", "sys.stdout", "sys.stderr"} & used, path
        assert not SHOWN & {alias.name for node in imported for alias in node.names}, path
        assert not any(name.startswith("console.") for name in used), f"{path}: import from geco.console by name"


def test_public_surface() -> None:
    import geco
    import geco.nn
    from geco.nn.functional import circular_conv
    from geco.nn.reference import surrogate_attention

    assert geco.GECO is geco.nn.GECO
    for name in ("LocalPropagation", "GlobalContext", "GECOConv", "GECOLayer", "GPSLayer"):
        assert issubclass(getattr(geco.nn, name), torch.nn.Module)
    assert callable(circular_conv)
    assert callable(surrogate_attention)
