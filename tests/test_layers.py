"""Rules of the house that a machine can check."""

from __future__ import annotations

import ast
from pathlib import Path

import torch

SOURCE = Path(__file__).parent.parent / "src" / "geco"


def test_nn_imports_nothing_else_of_the_package() -> None:
    for path in (SOURCE / "nn").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert not name.startswith("geco") or name.startswith("geco.nn"), f"{path.name} imports {name}"


READERS = {"recorded.py", "safe.py", "unpickle.py"}  # the only files that may meet a pickle, and never run one


def test_no_pickle_is_read() -> None:
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert path.name in READERS or not imported & {"pickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal"}, path
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            given = {word.arg: ast.unparse(word.value) for word in call.keywords}
            assert name not in ("pickle.load", "pickle.loads", "pickle.Unpickler", "eval", "exec"), path
            assert name != "torch.load" or (path.name in READERS and given.get("weights_only") == "True"), path
            assert given.get("allow_pickle", "False") == "False", path


SHOWN = {"Meter", "print_table", "say", "show_log"}  # what writes to a terminal, of geco.console
PROGRAMS = ("cli", "studies", "console.py")


def test_libraries_log_and_do_not_print() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in PROGRAMS:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        used |= {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "geco.console"]
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
