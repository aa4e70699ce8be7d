"""Files to read: valid ones, and ones that would create a marker if anything in them ran."""

from __future__ import annotations

import builtins
import functools
import importlib
import io
import operator
import os
import pickle
import subprocess
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

SOUND = [
    (
        torch.arange(6.0).reshape(2, 3),
        torch.arange(4),
        torch.zeros(0, 2),
        torch.tensor(True),
        torch.ones(4, 3).t()[1:, 1:],
    ),
    {
        "x": np.arange(5),
        2: np.float32(2),
        "text": np.array(["a", "bc"]),
        "big": np.arange(3, dtype=">i4"),
        (1, "k"): None,
    },
    {
        "f": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "empty": np.ones((0, 3)),
        "point": np.array(5),
        "bool": np.ones(2, bool),
    },
    defaultdict(list, {1: [2, 3]}),
    OrderedDict(a={1, 2}, b=frozenset([3])),
    b"bytes",
    1.5,
]


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def same(found: Any, wanted: Any) -> None:
    """Equal in type and value, all the way down."""
    assert type(found) is type(wanted)
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key in wanted:
            same(found[key], wanted[key])
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, torch.Tensor):
        assert found.dtype == wanted.dtype
        assert torch.equal(found, wanted)
    elif sp.issparse(wanted):
        assert found.shape == wanted.shape
        assert (found != wanted).nnz == 0
    elif isinstance(wanted, np.ndarray | np.generic):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    else:
        assert found == wanted


class Call:
    """Pickles as a call."""

    def __init__(self, function: Callable[..., Any], *args: Any, state: Any = None) -> None:
        self.parts = (function, args) if state is None else (function, args, state)

    def __reduce__(self) -> Any:
        return self.parts


def objects(marker: Path) -> dict[str, Any]:
    """Objects that create the marker when they are unpickled by a careless reader."""
    touch = f"touch {marker}"
    system, evil = Call(os.system, touch), Call(subprocess.check_call, ["touch", str(marker)])
    return {
        "system": system,
        "subprocess": evil,
        "eval": Call(eval, f"__import__('os').system({touch!r})"),
        "exec": Call(exec, f"import os; os.system({touch!r})"),
        "getattr": Call(getattr, Call(importlib.import_module, "os"), "system"),
        "import": Call(builtins.__import__, "os"),
        "partial": Call(functools.partial, os.system, touch),
        "attrgetter": Call(operator.attrgetter, "system"),
        "methodcaller": Call(operator.methodcaller, "system", touch),
        "map": Call(list, Call(map, os.system, [touch])),
        "nested in containers": {"x": [(1, {"y": evil})]},
        "as a key": {(1, system): 2},
        "default factory": Call(defaultdict, Call(functools.partial, os.system, touch)),
        "in a state": Call(OrderedDict, state={"x": system}),
        "object array": np.array([system, evil], dtype=object),
        "numpy run": Call(np.testing.rundocs, str(marker)),
        "numpy load": Call(np.load, str(marker), None, True),
        "numpy fromfile": Call(np.fromfile, str(marker)),
        "torch load": Call(torch.load, io.BytesIO(b"")),
        "tensor memory": Call(torch.storage._load_from_bytes, torch_file(system, False)),
        "tensor memory as zip": Call(torch.storage._load_from_bytes, torch_file(evil, True)),
        "tensor of it": Call(torch._utils._rebuild_tensor_v2, system, 0, (1,), (1,), False, OrderedDict()),
        "pickle in pickle": Call(pickle.loads, pickle.dumps(evil)),
    }


def torch_file(value: Any, zipped: bool) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()


def raw(marker: Path) -> dict[str, bytes]:
    """The same by hand, by steps that Python's writer does not use."""
    touch = f"touch {marker}".encode()
    return {
        "inst": b"(S'" + touch + b"'\nios\nsystem\n.",
        "obj": b"(cos\nsystem\nS'" + touch + b"'\no.",
        "posix": b"cposix\nsystem\n(S'" + touch + b"'\ntR.",
        "dotted name": b"\x80\x04\x8c\x05numpy\x8c\x0ef2py.os.system\x93\x8c" + bytes([len(touch)]) + touch + b"\x85R.",
        "dotted attribute": b"\x80\x04\x8c\x0bcollections\x8c\x15OrderedDict.__class__\x93.",
        "extension": b"\x80\x02\x82\x01.",
        "persistent id": b"Pid\n.",
        "state of a class": b"cbuiltins\nlist\n}S'x'\nI1\nsb.",
        "slots of a class": b"cnumpy\ndtype\n(N}S'make'\ncbuiltins\nlist\nstb.",
        "defaults of a function": b"ctorch._utils\n_rebuild_tensor_v2\n(N}S'__defaults__'\n(I1\ntstb.",
        "encoding": b"c_codecs\nencode\n(S'abc'\nS'rot13'\ntR.",
        "bare class": b"cbuiltins\nlist\n.",
        "bare function": b"ctorch.storage\n_load_from_bytes\n.",
    }
