"""Rules of the house that a machine can check."""

from __future__ import annotations

import ast
from pathlib import Path

import torch

SOURCE = Path(__file__).parent.parent / "src" / "geco"


def test_nn_imports_nothing_else_of_the_package_but_its_names() -> None:
    for path in (SOURCE / "nn").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                allowed = name.startswith(("geco.nn", "geco.names"))
                assert allowed or not name.startswith("geco"), f"{path.name} imports {name}"


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
