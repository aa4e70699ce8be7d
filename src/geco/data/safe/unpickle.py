"""Read pickles without running anything they ask for.

A pickle is a program: it names functions and has them called. Here a name must be on the literal list below, and stands
not for the function but for a `Placeholder` of the call. When the file is read, arrays, matrices and tensors are made
in place of them by public constructors that check their input. So nothing of the file's choosing runs, no object is in
a state that its constructor would refuse, and no memory is taken beyond what the file holds.
"""

from __future__ import annotations

import pickle
import struct
import warnings
from collections import OrderedDict, defaultdict
from typing import Any, BinaryIO, ClassVar

from geco.data.safe import placeholders
from geco.data.safe.placeholders import Forbidden, Placeholder

__all__ = ["NUMPY", "load"]

# NumPy's names, of version 1 and 2; they also occur in files written by torch.
NUMPY: dict[str, type[Placeholder]] = {
    "numpy.ndarray": Placeholder,  # an argument of _reconstruct, never made
    "numpy.dtype": placeholders.DType,
    "numpy.core.multiarray._reconstruct": placeholders.Array,
    "numpy._core.multiarray._reconstruct": placeholders.Array,
    "numpy.core.multiarray.scalar": placeholders.Scalar,
    "numpy._core.multiarray.scalar": placeholders.Scalar,
    "numpy.core.numeric._frombuffer": placeholders.Buffer,
    "numpy._core.numeric._frombuffer": placeholders.Buffer,
}
_ALLOWED: dict[str, type] = {
    **NUMPY,
    **{
        f"scipy.sparse.{module}.{form}_{kind}": type(
            f"{form}_{kind}", (placeholders.Sparse,), {"kind": f"{form}_{kind}"}
        )
        for form in ("csr", "csc", "coo")
        for module in (form, f"_{form}")  # before and since SciPy 1.8
        for kind in ("matrix", "array")
    },
    **{f"builtins.{kind.__name__}": kind for kind in placeholders.PLAIN},
    **{f"__builtin__.{kind.__name__}": kind for kind in placeholders.PLAIN},  # of Python 2
    "collections.OrderedDict": OrderedDict,
    "collections.defaultdict": defaultdict,
    "builtins.bytes": placeholders.Empty,
    "__builtin__.bytes": placeholders.Empty,
    "_codecs.encode": placeholders.Encoded,
    "torch._utils._rebuild_tensor_v2": placeholders.Strided,
    "torch.storage._load_from_bytes": placeholders.Storage,
}


class _Unpickler(pickle._Unpickler):
    """Python's own reader in Python, whose memory stays within the file's size, with only the steps that data needs."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)
    for _code in (pickle.PERSID, pickle.BINPERSID, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.INST, pickle.OBJ):
        del dispatch[_code[0]]

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in _ALLOWED:
            raise Forbidden(f"it asks for {module}.{name}")
        return _ALLOWED[f"{module}.{name}"]

    def load_build(self) -> None:
        state = self.stack.pop()  # type: ignore[attr-defined]
        if not isinstance(self.stack[-1], Placeholder):  # type: ignore[attr-defined]
            raise Forbidden("it sets the state of something that has none")
        self.stack[-1].__setstate__(state)  # type: ignore[attr-defined]

    def load_bytearray8(self) -> None:
        (size,) = struct.unpack("<Q", self.read(8))  # type: ignore[attr-defined]
        self.append(self.read(size))  # type: ignore[attr-defined]  # Python's takes the memory before it has the bytes

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8


def load(file: BinaryIO) -> Any:
    """Return what a pickle holds: plain containers, numbers and text, NumPy arrays, SciPy matrices, torch tensors.

    Args:
        file: open for reading; text of Python 2 is taken as Latin-1.

    Example:
        >>> import io, numpy
        >>> load(io.BytesIO(pickle.dumps({"x": numpy.arange(3)})))
        {'x': array([0, 1, 2])}
        >>> load(io.BytesIO(pickle.dumps(print)))
        Traceback (most recent call last):
        geco.data.safe.placeholders.Forbidden: it asks for builtins.print
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TypedStorage is deprecated")
        found = _Unpickler(file, encoding="latin1").load()
        if file.read(1):
            raise ValueError("it goes on after its end")
        return placeholders.build(found)
